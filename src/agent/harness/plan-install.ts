/** What installing or uninstalling would change, worked out before anything is touched. */
import { OperatingError } from '../../store/errors.ts';
import { harnessFiles, type Environment, type HarnessFiles, type InstallScope } from './harness-files.ts';
import { groupsState, hookGroups, withoutOurGroups, type GroupsState } from './hook-groups.ts';
import type { Install, InstalledFile } from './install-record.ts';
import {
  applyInsertions,
  insertHookGroups,
  parseSettings,
  removeInsertions,
  removePieces,
  type HookGroups,
} from './json-insert.ts';
import { blockIn, blockInsertion, instructionsBlock, withoutBlock } from './marked-block.ts';
import { readTextFile } from './settings-file.ts';

export interface PlannedFile extends Omit<InstalledFile, 'folders'> {
  readonly before: string | undefined;
  /** Undefined: the file is removed. Equal to `before`: nothing is done. */
  readonly after: string | undefined;
}

export interface Plan {
  readonly files: readonly PlannedFile[];
  /** What is left alone, and why. */
  readonly notes: readonly string[];
}

export interface InstallOptions {
  readonly scope: InstallScope;
  readonly env: Environment;
  readonly launcher: string;
  /** Text of SKILL.md. */
  readonly skill: string;
  /** False leaves the instructions file alone. */
  readonly block: boolean;
  /** What an earlier install at this place has recorded. */
  readonly known: Install | undefined;
}

/** Plans an install over whatever is there. Throws `FILE_UNSAFE` for a settings file that cannot be read as JSON. */
export function planInstall(options: InstallOptions): Plan {
  const files = harnessFiles(options.scope, options.env);
  const notes: string[] = [];
  const planned = [
    planSettings(files, options),
    planSkill(files, options, notes),
    ...(options.block ? [planBlock(files, options)] : []),
  ];
  return { files: planned.flatMap((one) => one ?? []), notes };
}

function knownFile({ known }: Pick<InstallOptions, 'known'>, file: string): InstalledFile | undefined {
  return known?.files.find((one) => one.file === file);
}

function planSettings({ settings: file, comments }: HarnessFiles, options: InstallOptions): PlannedFile {
  const { scope, launcher } = options;
  const groups = hookGroups(scope.harness, launcher);
  const before = readTextFile(file);
  const known = knownFile(options, file);
  const created = known?.created ?? before === undefined;
  if (before === undefined || before.trim() === '')
    return planFresh({ file, created, before, bare: before ?? '', groups });
  const root = parseSettings(before, comments);
  if ('fault' in root) throw broken(file, root.fault);
  const state = groupsState(root, groups);
  if (state === 'installed') {
    return { file, kind: 'settings', created, insertions: known?.insertions ?? [], before, after: before };
  }
  const bare = state === 'altered' ? settingsWithout(before, comments, known) : before;
  if (bare.trim() === '') return planFresh({ file, created, before, bare, groups });
  const bareRoot = parseSettings(bare, comments);
  if ('fault' in bareRoot) throw broken(file, bareRoot.fault);
  const insertions = insertHookGroups(bare, bareRoot, groups);
  if ('fault' in insertions) throw broken(file, insertions.fault);
  return { file, kind: 'settings', created, insertions, before, after: applyInsertions(bare, insertions) };
}

/** Settings out of nothing. */
function planFresh(plan: {
  readonly file: string;
  readonly created: boolean;
  readonly before: string | undefined;
  readonly bare: string;
  readonly groups: HookGroups;
}): PlannedFile {
  const { file, created, before, bare, groups } = plan;
  const hooks = Object.fromEntries([...groups].map(([event, group]) => [event, [group]]));
  const insertions = [{ at: 0, text: `${JSON.stringify({ hooks }, null, 2)}\n` }];
  return { file, kind: 'settings', created, insertions, before, after: applyInsertions(bare, insertions) };
}

function broken(file: string, fault: string): OperatingError {
  return new OperatingError('FILE_UNSAFE', `${file} cannot be changed: ${fault}; it was left as it is`, {
    hint: 'mend it first: a harness ignores settings that it cannot read',
  });
}

/** Exactly what was put in where that is still there, else everything that is ours by its command. */
function settingsWithout(text: string, comments: boolean, known: InstalledFile | undefined): string {
  const insertions = known?.insertions ?? [];
  const exact =
    insertions.length === 0 ? undefined : (removeInsertions(text, insertions) ?? removePieces(text, insertions));
  if (exact !== undefined && (exact.trim() === '' || isClean(exact, comments))) return exact;
  const madeHooks = insertions.some(({ text: piece }) => piece.includes('"hooks": {'));
  const left = withoutOurGroups(text, { comments, madeHooks });
  if (typeof left === 'string') return left;
  throw broken('the settings', left.fault);
}

/** Still JSON, and none of ours in it. */
function isClean(text: string, comments: boolean): boolean {
  const root = parseSettings(text, comments);
  return !('fault' in root) && groupsState(root, new Map()) === 'not installed';
}

function planSkill({ skill: file }: HarnessFiles, options: InstallOptions, notes: string[]): PlannedFile | undefined {
  const before = readTextFile(file);
  const known = knownFile(options, file);
  const written = known?.insertions[0]?.text;
  if (before !== undefined && before !== options.skill && before !== written) {
    notes.push(`${file} is somebody else's or was edited: left as it is`);
    return undefined;
  }
  const insertions = [{ at: 0, text: options.skill }];
  return {
    file,
    kind: 'skill',
    created: known?.created ?? before === undefined,
    insertions,
    before,
    after: options.skill,
  };
}

function planBlock({ instructions: file }: HarnessFiles, options: InstallOptions): PlannedFile {
  const before = readTextFile(file);
  const text = before ?? '';
  const known = knownFile(options, file);
  const created = known?.created ?? before === undefined;
  if (blockIn(text)?.replaceAll('\r\n', '\n') === instructionsBlock) {
    return { file, kind: 'instructions', created, insertions: known?.insertions ?? [], before, after: text };
  }
  const bare = instructionsWithout(text, known) ?? text;
  const insertion = blockInsertion(bare);
  return {
    file,
    kind: 'instructions',
    created,
    insertions: [insertion],
    before,
    after: applyInsertions(bare, [insertion]),
  };
}

function instructionsWithout(text: string, known: InstalledFile | undefined): string | undefined {
  const insertions = known?.insertions ?? [];
  const exact =
    insertions.length === 0 ? undefined : (removeInsertions(text, insertions) ?? removePieces(text, insertions));
  return exact ?? withoutBlock(text);
}

/** Plans taking everything out again. What was changed since by somebody else stays. */
export function planUninstall(options: Omit<InstallOptions, 'skill' | 'block'>): Plan {
  const files = harnessFiles(options.scope, options.env);
  const notes: string[] = [];
  const planned = [
    removeSettings(files, options),
    removeSkill(files, options, notes),
    removeBlock(files.instructions, options),
  ];
  return { files: planned.flatMap((one) => one ?? []), notes };
}

type Removal = Pick<InstallOptions, 'known'>;

function removeSettings({ settings: file, comments }: HarnessFiles, options: Removal): PlannedFile | undefined {
  const before = readTextFile(file);
  if (before === undefined || before.trim() === '') return undefined;
  const root = parseSettings(before, comments);
  if ('fault' in root) throw broken(file, root.fault);
  if (isClean(before, comments)) return undefined;
  const known = knownFile(options, file);
  return removed({ file, kind: 'settings', before, known, left: settingsWithout(before, comments, known) });
}

function removeSkill(files: HarnessFiles, options: Removal, notes: string[]): PlannedFile | undefined {
  const { skill: file } = files;
  const before = readTextFile(file);
  const known = knownFile(options, file);
  if (before === undefined || known === undefined) return undefined;
  if (before === known.insertions[0]?.text) return removed({ file, kind: 'skill', before, known, left: '' });
  notes.push(`${file} was edited: left as it is`);
  return undefined;
}

function removeBlock(file: string, options: Removal): PlannedFile | undefined {
  const before = readTextFile(file);
  if (before === undefined || blockIn(before) === undefined) return undefined;
  const known = knownFile(options, file);
  const left = instructionsWithout(before, known);
  return left === undefined ? undefined : removed({ file, kind: 'instructions', before, known, left });
}

/** A file that was made for us goes; one that was there, empty or not, stays. */
function removed(what: {
  readonly file: string;
  readonly kind: PlannedFile['kind'];
  readonly before: string;
  readonly known: InstalledFile | undefined;
  readonly left: string;
}): PlannedFile {
  const { file, kind, before, known, left } = what;
  const created = known?.created ?? false;
  return { file, kind, created, insertions: [], before, after: created && left === '' ? undefined : left };
}

/** How the settings stand, for a status: also when they cannot be read. */
export function settingsState(
  options: Omit<InstallOptions, 'skill' | 'block'>,
): GroupsState | { readonly fault: string } {
  const { settings, comments } = harnessFiles(options.scope, options.env);
  const text = readTextFile(settings);
  if (text === undefined || text.trim() === '') return 'not installed';
  const root = parseSettings(text, comments);
  if ('fault' in root) return root;
  return groupsState(root, hookGroups(options.scope.harness, options.launcher));
}
