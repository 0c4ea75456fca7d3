import { describe, expect, test } from 'vitest';
import { createRandom, type Random } from '../../../lib/random.ts';
import { canonicalJson, type JsonValue } from '../../../../src/crypto/canonical.ts';
import type { Auth, Body } from '../../../../src/core/event.ts';
import { eventId } from '../../../../src/core/event.ts';
import { createFold, eventView, foldLines } from '../../../../src/core/fold/fold.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import { addOps, emptyTrustSet, trustHash } from '../../../../src/core/trust/set.ts';
import { fakeLine } from '../../../lib/fold-builders.ts';
import { approveEvent, craig, genesisOf, sshsigOf, testSigner } from '../../../lib/trust-ops.ts';

const mallory = testSigner('craig', 66);
const genesis = genesisOf(craig);
const { set } = addOps(emptyTrustSet(genesis.id), [genesis]);

const body: Body = {
  mesh: set.meshId,
  host: 'alpha',
  session: 's',
  at: '2026-07-27T12:00:00.000Z',
  nonce: '0'.repeat(32),
  kind: 'assert',
  subject: 'note/one',
  value: 'v1',
  home: 'file:a',
};
const message = canonicalJson(body as unknown as JsonValue);

function verdictOf(auth: Auth): unknown {
  const fold = createFold(charterOf(set), trustHash(set));
  foldLines(fold, [fakeLine({ log: 'beta', seq: 1 }, body, { auth })]);
  return eventView(fold, eventId(body));
}

describe('R1 with real SSHSIGs and a real charter', () => {
  test('a good approval signs the event in the log of any host', () => {
    expect(verdictOf(approveEvent(craig, message))).toMatchObject({
      level: 'signed',
      status: 'served',
      signers: ['craig'],
    });
  });

  test('an approval of another body is forged', () => {
    expect(verdictOf(approveEvent(craig, message.replace('v1', 'v2')))).toMatchObject({
      status: 'held',
      reason: 'FORGED',
    });
  });

  test('an approval in another namespace is forged', () => {
    const auth = { ...approveEvent(craig, message), sshsig: sshsigOf(craig.key, message, 'memd-trust') };
    expect(verdictOf(auth)).toMatchObject({ status: 'held', reason: 'FORGED' });
  });

  test('an approval by another key under the name of a signer is forged, whatever fingerprint it names', () => {
    const auth = approveEvent(mallory, message);
    expect(verdictOf(auth)).toMatchObject({ status: 'held', reason: 'FORGED' });
    expect(verdictOf({ ...auth, key: craig.key.public.fingerprint })).toMatchObject({
      status: 'held',
      reason: 'FORGED',
    });
  });

  test('an approval by nobody we know is unverifiable', () => {
    expect(verdictOf(approveEvent(testSigner('dana', 4), message))).toMatchObject({
      status: 'held',
      reason: 'UNVERIFIABLE',
    });
  });
});

/** One approval that is worth nothing beside `of`, made with real keys or out of a real one. */
function worthless(random: Random, of: string, real: Auth): Auth {
  const blob = Buffer.from(real.sshsig, 'base64');
  const changed = Buffer.from(blob);
  const at = random.below(changed.length);
  changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
  return random.pick([
    approveEvent(craig, of.replace('note/one', 'note/two')),
    approveEvent(craig, of.replace(set.meshId, 'f'.repeat(64))),
    approveEvent(craig, `${of}\n`),
    { ...real, sshsig: sshsigOf(craig.key, of, 'memd-trust') },
    { ...real, sshsig: sshsigOf(craig.key, of, 'memd-handoff') },
    { ...approveEvent(mallory, of), key: real.key },
    { ...real, key: mallory.key.public.fingerprint },
    { ...real, signer: 'mallory' },
    { ...real, sshsig: changed.toString('base64') },
    { ...real, sshsig: blob.subarray(0, blob.length - 1 - random.below(8)).toString('base64') },
    { ...real, sshsig: Buffer.concat([blob, Buffer.from([random.below(256)])]).toString('base64') },
  ]);
}

test('whatever real keys and real approvals are put together, what craig signed stays served and nothing else is signed', () => {
  const truth = approveEvent(craig, message);
  for (let seed = 1; seed <= 60; seed += 1) {
    const random = createRandom(seed);
    const fold = createFold(charterOf(set), trustHash(set));
    const seqs = { alpha: 0, beta: 0 };
    const say = (log: 'alpha' | 'beta', said: Body, auth?: Auth): string => {
      seqs[log] += 1;
      foldLines(fold, [fakeLine({ log, seq: seqs[log] }, said, auth === undefined ? {} : { auth })]);
      return eventId(said);
    };
    const signed = say('alpha', body, truth);
    const attacks = Array.from({ length: 8 }, (_, i) => {
      const nonce = `${seed * 100 + i}`.padStart(32, '0');
      const other = { ...body, host: 'beta', nonce, value: random.pick(['v1', 'v2']), supersedes: [signed] };
      const said: Body = random.next() < 0.3 ? body : other;
      const text = canonicalJson(said as unknown as JsonValue);
      return say('beta', said, random.next() < 0.2 && said !== body ? undefined : worthless(random, text, truth));
    });
    expect(eventView(fold, signed), `seed ${seed}`).toMatchObject({ status: 'served', level: 'signed' });
    for (const id of attacks.filter((one) => one !== signed)) {
      expect(eventView(fold, id)?.level, `seed ${seed}`).toBe('unsigned');
      expect(['held', 'parked'], `seed ${seed}`).toContain(eventView(fold, id)?.status);
    }
  }
});
