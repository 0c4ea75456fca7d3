/**
 * What was seen before, so that an old manifest is not taken for a new one: of each host the newest statement, and how
 * large the trust set was. Clocks have no part in it. Pure. Source: docs/format.md, section 9.
 */
import { manifestProblem, type ManifestProblem } from './manifest.ts';
import type { Charter, CharterHost } from './trust/charter.ts';
import type { Statement, ViewHead } from './view-line.ts';

/** The newest statement of a host that was accepted. */
export type FloorStatement = Pick<Statement, 'heads' | 'root' | 'rules' | 'trust'>;

export interface ManifestFloor {
  readonly mesh: string;
  /** The largest trust set that was seen: its hash, and how many ops it holds. */
  readonly trust: { readonly hash: string; readonly ops: number };
  readonly hosts: ReadonlyMap<string, FloorStatement>;
}

/** The trust set that is here now. */
export interface TrustNow {
  readonly hash: string;
  readonly ops: number;
  readonly charter: Pick<Charter, 'hosts'>;
}

/** Why a statement, signed under the trust set of now, falls behind what was seen; empty: it does not. Pure. */
export function judgeFloor(
  { host, ...line }: Statement & { readonly host: string },
  floor: ManifestFloor | undefined,
  now: TrustNow,
): ManifestProblem[] {
  if (floor === undefined || floor.mesh !== line.mesh) return [];
  const { trust } = floor;
  if (now.hash !== trust.hash && now.ops < trust.ops)
    return [older(`the trust set here has ${now.ops} ops, and ${trust.ops} were seen here before`)];
  const seen = floor.hosts.get(host);
  if (seen === undefined) return [];
  const behind = [...seen.heads].flatMap(([log, head]) => {
    const said = line.heads.get(log);
    if (!isBehind(said, head) || (seen.trust !== line.trust && isCut(now.charter.hosts.get(log), head))) return [];
    const is = said === undefined ? 'names no line' : `names line ${said.seq}`;
    const was = said?.seq === head.seq ? 'another line of that number' : `line ${head.seq}`;
    return [older(`it ${is} of log ${log}, and ${host} named ${was} before`)];
  });
  return behind.length > 0 ? behind : rootProblem({ ...line, host }, seen);
}

/** The floor once this statement was accepted under the trust set of now; the same object where it says nothing new. Pure. */
export function raiseFloor(
  floor: ManifestFloor | undefined,
  { host, mesh, heads, root, rules, trust }: Statement & { readonly host: string },
  now: TrustNow,
): ManifestFloor {
  const kept = floor?.mesh === mesh ? floor : undefined;
  const seen = kept?.hosts.get(host);
  const isSeen = seen?.trust === trust && seen.rules === rules && seen.root === root && sameHeads(seen.heads, heads);
  if (kept !== undefined && isSeen && kept.trust.hash === now.hash) return kept;
  // A host that has left the mesh signs nothing any more.
  const hosts = new Map([...(kept?.hosts ?? [])].filter(([name]) => now.charter.hosts.has(name)));
  hosts.set(host, { heads, root, rules, trust });
  return { mesh, trust: { hash: now.hash, ops: Math.max(now.ops, kept?.trust.ops ?? 0) }, hosts };
}

function isBehind(said: ViewHead | undefined, { seq, link }: ViewHead): boolean {
  return said === undefined || said.seq < seq || (said.seq === seq && said.link !== link);
}

/** True when a signer, or a proved fork, has cut the log below that line: it ends earlier now, for everybody. */
function isCut(host: CharterHost | undefined, { seq }: ViewHead): boolean {
  if (host === undefined) return true;
  return (host.end !== null && host.end < seq) || host.pins.some((pin) => pin.seq < seq);
}

/** Equal input and rules give one root: who says another one is at fault, or was changed. */
function rootProblem(line: Statement & { readonly host: string }, seen: FloorStatement): ManifestProblem[] {
  const isSame = line.trust === seen.trust && line.rules === seen.rules && sameHeads(line.heads, seen.heads);
  if (!isSame || line.root === seen.root) return [];
  const detail = `${line.host} says root ${line.root.slice(0, 12)} of heads of which it said ${seen.root.slice(0, 12)} before`;
  return [manifestProblem('MANIFEST_ROOT', detail)];
}

function sameHeads(left: Statement['heads'], right: Statement['heads']): boolean {
  if (left.size !== right.size) return false;
  return [...left].every(([log, { seq, link }]) => right.get(log)?.seq === seq && right.get(log)?.link === link);
}

function older(detail: string): ManifestProblem {
  return manifestProblem('MANIFEST_OLDER', detail);
}
