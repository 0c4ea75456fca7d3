/** Our entries in the `hooks` of a settings file: what they are, whether they are there, and how to take them out. */
import type { Node } from 'jsonc-parser';
import type { JsonValue } from '../../crypto/canonical.ts';
import { hookEvents, type HarnessName } from './harness.ts';
import { isOurCommand } from './harness-files.ts';
import { parseSettings, valueOf, type HookGroups, type SettingsFault } from './json-insert.ts';
import { hookCommand, hookTimeoutSeconds } from './launcher.ts';

/**
 * One group per event, without a matcher: matchers differ between harnesses and versions, and one that does not match
 * fails silently. What is to be done is decided inside.
 */
export function hookGroups(harness: HarnessName, launcher: string): HookGroups {
  return new Map(
    hookEvents.map((event): [string, JsonValue] => [
      event,
      { hooks: [{ type: 'command', command: hookCommand(launcher, harness, event), timeout: hookTimeoutSeconds }] },
    ]),
  );
}

export type GroupsState = 'installed' | 'not installed' | 'altered';

/** How our groups stand in a settings file. */
export function groupsState(root: Node, groups: HookGroups): GroupsState {
  const hooks = valueOf(root, 'hooks');
  const ours = ourPlaces(root).length;
  const exact = [...groups].filter(([event, group]) => {
    const list = hooks === undefined ? undefined : valueOf(hooks, event);
    return (list?.children ?? []).some((child) => JSON.stringify(valueOfNode(child)) === JSON.stringify(group));
  });
  if (ours === 0) return 'not installed';
  return exact.length === groups.size && ours === groups.size ? 'installed' : 'altered';
}

/**
 * The text without any of our entries, however they were changed; what else stands there is left alone. A `hooks` that is
 * empty then goes too where it was ours.
 */
export function withoutOurGroups(
  text: string,
  { comments, madeHooks }: { readonly comments: boolean; readonly madeHooks: boolean },
): string | SettingsFault {
  let left = text;
  for (;;) {
    const root = parseSettings(left, comments);
    if ('fault' in root) return root;
    const [place] = ourPlaces(root);
    if (place !== undefined) left = cutOut(left, outermost(place));
    else return madeHooks ? withoutEmptyHooks(left, root) : left;
  }
}

function withoutEmptyHooks(text: string, root: Node): string {
  const hooks = valueOf(root, 'hooks');
  const isEmpty = hooks?.type === 'object' && (hooks.children ?? []).length === 0;
  return isEmpty && hooks.parent !== undefined ? cutOut(text, hooks.parent) : text;
}

/** Our handlers. */
function ourPlaces(root: Node): readonly Node[] {
  const lists = (valueOf(root, 'hooks')?.children ?? []).map(({ children }) => children?.[1]);
  return lists.flatMap((list) => (list?.children ?? []).flatMap(handlersOf)).filter(isOurs);
}

function isOurs(handler: Node): boolean {
  const command: unknown = handler.type === 'object' ? valueOf(handler, 'command')?.value : undefined;
  return typeof command === 'string' && isOurCommand(command);
}

function handlersOf(group: Node): readonly Node[] {
  return group.type === 'object' ? (valueOf(group, 'hooks')?.children ?? []) : [];
}

/** The outermost thing that holds nothing but this handler: itself, its group, or the member of its event. */
function outermost(handler: Node): Node {
  const group = handler.parent?.parent?.parent;
  if (group === undefined || handlersOf(group).length > 1) return handler;
  const list = group.parent;
  if (list?.parent === undefined || (list.children ?? []).length > 1) return group;
  return list.parent;
}

/** Cuts out an element or member, and one of the commas around it. */
function cutOut(text: string, node: Node): string {
  const siblings = node.parent?.children ?? [];
  const at = siblings.indexOf(node);
  const [before, after] = [siblings[at - 1], siblings[at + 1]];
  const end = node.offset + node.length;
  if (before !== undefined) return text.slice(0, before.offset + before.length) + text.slice(end);
  return text.slice(0, node.offset) + text.slice(after?.offset ?? end);
}

function valueOfNode(node: Node): JsonValue {
  if (node.type === 'array') return (node.children ?? []).map(valueOfNode);
  if (node.type !== 'object') return node.value as JsonValue;
  return Object.fromEntries(
    (node.children ?? []).map(({ children: [key, value] = [] }) => [
      String(key?.value),
      value === undefined ? null : valueOfNode(value),
    ]),
  );
}
