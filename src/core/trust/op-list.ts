/** Every op of a trust set and what became of it, for people to read. Source: docs/fold.md T1. */
import { canonicalJson, type JsonObject } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { assert } from '../../crypto/result.ts';
import { evaluate } from './items.ts';
import { checkTrustBody, type TrustBody } from './op.ts';
import { admit, ancestryOf, registerOf, wholeView, type Register } from './register.ts';
import type { TrustSet } from './set.ts';
import { counts } from './standing.ts';

/** Ids of the valid ops that count now. Pure. */
export function countedOpIds(set: TrustSet): ReadonlySet<string> {
  return countedIn(registerOf(set.held.values()), set.meshId);
}

/**
 * Ids of the ops that count now and would not once a signer approved this body, sorted as they were admitted. `prev` of
 * the body must be held. Pure.
 */
export function fallenBy(set: TrustSet, body: TrustBody): readonly string[] {
  const before = countedOpIds(set);
  const register = registerOf(set.held.values());
  const ancestors = ancestryOf(register, body.prev);
  assert(typeof ancestors !== 'string', 'a draft names ops that are held');
  const checked = checkTrustBody(body as unknown as JsonObject);
  assert(checked.ok && checked.value.unsupported === null, 'a body made by a builder passes its checks');
  const text = canonicalJson(body as unknown as JsonObject);
  const auth = { key: body.by.key, signer: body.by.signer, sshsig: '' };
  const { keys } = checked.value;
  admit(register, { id: sha256Hex(text), auth, body, text, keys, unsupported: null }, ancestors);
  const after = countedIn(register, set.meshId);
  return [...before].filter((id) => !after.has(id));
}

function countedIn(register: Register, meshId: string): ReadonlySet<string> {
  const founder = register.byId.get(meshId);
  if (founder === undefined) return new Set();
  const { standing } = evaluate(register, wholeView, founder);
  return new Set([...register.byId.values()].filter((held) => counts(standing, held)).map(({ op }) => op.id));
}
