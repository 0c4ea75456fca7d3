/**
 * `manifest-floor.json`: what `memctl verify --manifest` has accepted, so that nothing older is accepted later. It needs no
 * lock: every writer only raises it, and one that is lost is a weaker check, never a wrong one.
 */
import fs from 'node:fs';
import { isId, isSlug } from '../../core/id.ts';
import type { FloorStatement, ManifestFloor } from '../../core/manifest-floor.ts';
import { parsePlainJson } from '../../crypto/plain-json.ts';
import { realDisk, replaceFile, type Disk } from '../disk.ts';
import { diskError, systemCode } from '../errors.ts';
import type { Home } from '../home/home.ts';

/** A statement of each of 200 hosts about 200 logs each, with room. */
const bytesMax = 16 * 1_024 * 1_024;

/** What the file says; `damaged`: it cannot be read, so nothing is known of before. Errors: `DISK_FAILED`. */
export function readManifestFloor(home: Pick<Home, 'manifestFloor'>): ManifestFloor | 'damaged' | undefined {
  try {
    const status = fs.statSync(home.manifestFloor);
    // A pipe would be waited for.
    if (!status.isFile() || status.size > bytesMax) return 'damaged';
    return floorIn(fs.readFileSync(home.manifestFloor, 'utf8')) ?? 'damaged';
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw diskError(error, 'read', home.manifestFloor);
  }
}

/** Replaces the file, durable on return. Errors: `DISK_FAILED`, `DISK_FULL`. */
export async function writeManifestFloor(
  home: Pick<Home, 'manifestFloor'>,
  { mesh, trust, hosts }: ManifestFloor,
  disk: Disk = realDisk,
): Promise<void> {
  const said = [...hosts].map(([host, { heads, ...rest }]) => [host, { ...rest, heads: Object.fromEntries(heads) }]);
  const text = JSON.stringify({ v: 1, mesh, trust, hosts: Object.fromEntries(said) as unknown });
  await replaceFile(disk, { file: home.manifestFloor, data: Buffer.from(`${text}\n`) });
}

type Raw = Readonly<Record<string, unknown>>;

function floorIn(text: string): ManifestFloor | undefined {
  const read = parsePlainJson(text);
  if (!read.ok || !isRaw(read.value)) return undefined;
  const { v, mesh, trust, hosts } = read.value;
  if (v !== 1 || !isId(mesh) || !isRaw(trust) || !isRaw(hosts)) return undefined;
  const { hash, ops } = trust;
  if (!isId(hash) || !isCount(ops)) return undefined;
  const said = Object.entries(hosts).map(([host, one]) => [host, isSlug(host) ? statementIn(one) : undefined] as const);
  const whole = said.filter((entry): entry is [string, FloorStatement] => entry[1] !== undefined);
  return whole.length < said.length ? undefined : { mesh, trust: { hash, ops }, hosts: new Map(whole) };
}

function statementIn(value: unknown): FloorStatement | undefined {
  if (!isRaw(value) || !isRaw(value['heads'])) return undefined;
  const { root, rules, trust } = value;
  if (!isId(root) || !isCount(rules) || !isId(trust)) return undefined;
  const heads = Object.entries(value['heads']).flatMap(([log, head]) => {
    const { seq, link } = isRaw(head) ? head : {};
    return isSlug(log) && isCount(seq) && isId(link) ? [[log, { seq, link }] as const] : [];
  });
  const isWhole = heads.length === Object.keys(value['heads']).length;
  return isWhole ? { heads: new Map(heads), root, rules, trust } : undefined;
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
