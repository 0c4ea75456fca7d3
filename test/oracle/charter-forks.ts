/** T4 of the second charter. */
import { createHash, createPublicKey, verify } from 'node:crypto';
import type { HostItem } from './charter-items.ts';
import { sayings, sha256, type OracleOp } from './charter-ops.ts';

interface Header {
  readonly seq: number;
}

export interface OracleFork {
  readonly id: string;
  readonly body: {
    readonly mesh: string;
    readonly host: string;
    readonly prev: readonly [string];
    readonly lines: readonly { readonly header: Header; readonly sig: string }[];
  };
  /** Set by `validForks`: the sign key and the seq. */
  readonly key: string;
  readonly seq: number;
}

export const isForkProof = (text: string): boolean => text.includes('"op":"fork-proof"');

export function readOracleFork(text: string): OracleFork {
  const { body } = JSON.parse(text) as Pick<OracleFork, 'body'>;
  return { id: sha256(text.slice('{"body":'.length, -1)), body, key: '', seq: body.lines[0]?.header.seq ?? 0 };
}

/** T4.1. */
export function validForks(
  meshId: string,
  valid: ReadonlyMap<string, OracleOp>,
  forks: readonly OracleFork[],
): OracleFork[] {
  return forks.flatMap((fork) => {
    const source = valid.get(fork.body.prev[0]);
    const said = source === undefined ? undefined : sayings(source)[`host:${fork.body.host}`];
    if (fork.body.mesh !== meshId || said === undefined || !('sign' in said)) return [];
    const pin = said['pin'] as { seq: number } | undefined;
    const key = said['sign'] as string;
    const isSigned = fork.body.lines.every(({ header, sig }) => {
      const link = createHash('sha256')
        .update(`memd-link-v1\n${JSON.stringify(header)}`)
        .digest('hex');
      return verify(null, Buffer.from(`memd-line-v1\n${link}`), publicKey(key), Buffer.from(sig, 'base64'));
    });
    return (pin === undefined || pin.seq < fork.seq) && isSigned ? [{ ...fork, key }] : [];
  });
}

/** T4.3: seq of the lowest unsettled one of a host. */
export function forksOf(host: HostItem, item: string, forks: readonly OracleFork[]): number | null {
  const unsettled = forks.filter(({ body, key, seq }) => {
    const isInForce = host.spans.some(([sign, from, upto]) => sign === key && from <= seq && seq <= (upto ?? seq));
    return `host:${body.host}` === item && host.end === null && isInForce && host.pins.every(([pin]) => pin < seq);
  });
  return unsettled.length === 0 ? null : Math.min(...unsettled.map(({ seq }) => seq));
}

function publicKey(text: string): ReturnType<typeof createPublicKey> {
  const blob = Buffer.from(text.split(' ')[1] as string, 'base64');
  return createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: blob.subarray(-32).toString('base64url') },
    format: 'jwk',
  });
}
