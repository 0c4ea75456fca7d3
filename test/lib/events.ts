/** Small well-formed events, lines and logs for tests. Deterministic: every random part is counted. */
import { makeBody, type Body, type BodyInput } from '../../src/core/event.ts';
import { buildLine, type Line } from '../../src/core/line.ts';
import { publicKeyOf, signEd25519, signingKeyFromSeed, type SigningKey } from '../../src/crypto/ed25519.ts';

export const mesh: string = 'ab'.repeat(32);
export const hostKey: SigningKey = signingKeyFromSeed(new Uint8Array(32).fill(1));
export const hostRaw: Uint8Array = publicKeyOf(hostKey);

/** A body by host alpha; `count` makes its nonce. */
export function bodyOf(input: BodyInput, count = 0): Body {
  const nonce = count.toString(16).padStart(32, '0');
  const stamp = { mesh, host: 'alpha', session: 'test', at: '2026-01-02T03:04:05.678Z', nonce };
  const body = makeBody(input, stamp);
  if (!body.ok) throw new Error(body.detail);
  return body.value;
}

/** Lines of a log of alpha, signed by `keyAt(seq)`; the host key when it answers nothing. */
export function logOf(
  bodies: readonly Body[],
  keyAt: (seq: number) => SigningKey | undefined = () => hostKey,
): readonly Line[] {
  const lines: Line[] = [];
  for (const [index, body] of bodies.entries()) {
    const place = { log: 'alpha', seq: index + 1, prev: lines.at(-1)?.link ?? mesh };
    lines.push(
      buildLine({ body, auth: null, ...place }, (message) => signEd25519(keyAt(index + 1) ?? hostKey, message)),
    );
  }
  return lines;
}

/** `count` different lessons. */
export function lessons(count: number): readonly Body[] {
  return Array.from({ length: count }, (_, index) =>
    bodyOf({ kind: 'lesson', subject: `lesson/rule-${index}`, content: `rule "${index}"\nand more` }, index),
  );
}
