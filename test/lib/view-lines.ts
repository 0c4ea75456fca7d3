/** View lines of a made-up host, chained and signed. */
import { signEd25519, signingKeyFromSeed, type SigningKey } from '../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { buildViewLine, viewLineHash, type ViewLine, type ViewLineParts } from '../../src/core/view-line.ts';

export const viewMesh: string = '0'.repeat(64);

/** A key that belongs to a host's name. */
export function viewKey(host: string): SigningKey {
  return signingKeyFromSeed(Buffer.from(sha256Hex(host), 'hex'));
}

/** The line after `before`, a minute later, with what is given changed. */
export function nextViewLine(
  host: string,
  before: ViewLine | null,
  changes: Partial<ViewLineParts> = {},
  key: SigningKey = viewKey(host),
): ViewLine {
  const n = (before?.n ?? 0) + 1;
  const link = sha256Hex(`link ${n}`);
  const parts: ViewLineParts = {
    at: new Date(Date.UTC(2026, 6, 27, 10, n)).toISOString(),
    heads: new Map([[host, { seq: n, link }]]),
    host,
    mesh: viewMesh,
    n,
    prev: before === null ? viewMesh : viewLineHash(before),
    root: sha256Hex(`root ${n}`),
    rules: 1,
    trust: sha256Hex('trust'),
    views: new Map([['operator', sha256Hex('views')]]),
    ...changes,
  };
  return buildViewLine(parts, (message) => signEd25519(key, message));
}

/** So many lines from the first on. */
export function viewLines(host: string, count: number): ViewLine[] {
  const lines: ViewLine[] = [];
  for (let made = 0; made < count; made += 1) lines.push(nextViewLine(host, lines.at(-1) ?? null));
  return lines;
}
