import { describe, expect, test } from 'vitest';
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
