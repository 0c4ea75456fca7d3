import { describe, expect, test } from 'vitest';
import { approvalsOf, checkOpsAhead, createApprovalChecks } from '../../../../src/daemon/beliefs/approval-checks.ts';
import { createFold, foldLines, readState } from '../../../../src/core/fold/fold.ts';
import type { VerifiedLine } from '../../../../src/core/log.ts';
import { finishTrustOp } from '../../../../src/core/trust/op.ts';
import { charterOf } from '../../../../src/core/trust/charter.ts';
import { addOps, emptyTrustSet, trustHash } from '../../../../src/core/trust/set.ts';
import { verifySshsig, verifySshsigLater, type Approval } from '../../../../src/crypto/sshsig.ts';
import { softKeys } from '../../../lib/other-keys.ts';
import {
  approveEvent,
  approverOf,
  classAdd,
  craig,
  genesisOf,
  must,
  signerAdd,
  testSigner,
} from '../../../lib/trust-ops.ts';

const namespace = 'memd-event';
const good = softKeys.map((key): Approval => {
  return { sshsig: key.sign('m', namespace), namespace, message: 'm', key: key.public };
});
const bad = good.map((approval): Approval => ({ ...approval, message: 'n' }));

/** Counts what is really verified, and lets a test hold the answers back. */
function counting(): { readonly later: typeof verifySshsigLater; readonly asked: Approval[]; release: () => void } {
  const asked: Approval[] = [];
  const held: (() => void)[] = [];
  return {
    asked,
    later(approval) {
      asked.push(approval);
      return new Promise((resolve) => held.push(() => resolve(verifySshsigLater(approval))));
    },
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
  };
}

describe('approvals verified ahead', () => {
  test('have the verdict that they have otherwise, good and bad, of every family of keys', async () => {
    const checks = createApprovalChecks();
    checks.begin([...good, ...bad]);
    await checks.settled();
    for (const approval of [...good, ...bad]) expect(checks.verify(approval)).toEqual(verifySshsig(approval));
    expect(good.every((approval) => checks.verify(approval).ok)).toBe(true);
  });

  test('nothing verified for one message, key, namespace or signature answers for another', async () => {
    const [first, second] = good as [Approval, Approval];
    const checks = createApprovalChecks();
    checks.begin(good);
    await checks.settled();
    const others: readonly Approval[] = [
      { ...first, message: 'mm' },
      { ...first, namespace: 'memd-trust' },
      { ...first, key: second.key },
      { ...first, sshsig: second.sshsig },
      { ...first, sshsig: `${first.sshsig}m`, message: '' },
      { ...first, sshsig: first.sshsig.slice(0, -1), message: `${first.sshsig.at(-1)}m` },
    ];
    for (const other of others) expect(checks.verify(other)).toEqual(verifySshsig(other));
    expect(others.some((other) => checks.verify(other).ok)).toBe(false);
  });

  test('one asked for while it is under way is worked out at once; the same is not begun twice', async () => {
    const { later, asked, release } = counting();
    const checks = createApprovalChecks({ later });
    checks.begin([...good, ...good]);
    expect(asked.length).toBe(good.length);
    expect(good.every((approval) => checks.verify(approval).ok)).toBe(true);
    release();
    await checks.settled();
  });

  test('the bound holds: what is beyond it is verified when it is asked for', async () => {
    const { later, asked, release } = counting();
    const checks = createApprovalChecks({ later, verdictsMax: 3 });
    checks.begin(good);
    release();
    await checks.settled();
    expect(asked.length).toBe(3);
    expect(good.every((approval) => checks.verify(approval).ok)).toBe(true);
  });

  test('few are under way at a time, and many settle all the same', async () => {
    let underWay = 0;
    let most = 0;
    const checks = createApprovalChecks({
      async later() {
        most = Math.max(most, (underWay += 1));
        await Promise.resolve();
        underWay -= 1;
        return { ok: true, value: true };
      },
    });
    const [first] = good as [Approval];
    const many = Array.from({ length: 5_000 }, (_, number): Approval => ({ ...first, message: `${number}` }));
    checks.begin(many.slice(0, 2_500));
    checks.begin(many.slice(2_500));
    await checks.settled();
    expect(most).toBeLessThanOrEqual(1_024);
    expect(many.every((approval) => checks.verify(approval).ok)).toBe(true);
  });

  test('a verifier that fails settles, and the approval is verified where it is judged', async () => {
    const checks = createApprovalChecks({ later: () => Promise.reject(new Error('no threads')) });
    checks.begin(good);
    await checks.settled();
    expect(good.every((approval) => checks.verify(approval).ok)).toBe(true);
  });

  test('nothing is left after everything was asked for, or forgotten', async () => {
    const { later, asked, release } = counting();
    const checks = createApprovalChecks({ later, verdictsMax: good.length });
    for (let round = 0; round < 3; round += 1) {
      checks.begin(good);
      release();
      await checks.settled();
      if (round === 1) checks.forget();
      else for (const approval of good) checks.verify(approval);
    }
    expect(asked.length).toBe(3 * good.length);
    await checks.settled();
  });
});

describe('approvals of lines', () => {
  const genesis = genesisOf();
  const { set } = addOps(emptyTrustSet(genesis.id), [genesis]);
  const charter = charterOf(set);
  const body = { kind: 'pin', subject: 'note/one' };
  const line = (auth: unknown, of: unknown = body): VerifiedLine => ({ auth, body: of }) as unknown as VerifiedLine;
  const message = '{"kind":"pin","subject":"note/one"}';

  test('are those in the name and by the key of a signer, over a body that can be read', () => {
    const right = approveEvent(craig, message);
    const lines = [
      line(right),
      line(null),
      line(right, null),
      line(approveEvent(testSigner('mallory', 4), message)),
      line({ ...right, key: testSigner('mallory', 4).key.public.fingerprint }),
    ];
    const found = [...approvalsOf(charter, lines)];
    expect(found).toEqual([{ sshsig: right.sshsig, namespace, message, key: craig.key.public }]);
    expect(verifySshsig(found[0] as Approval).ok).toBe(true);
  });

  test('a fold over the ports of these checks is made and empty like any other', () => {
    const fold = createFold(charter, trustHash(set), createApprovalChecks().ports);
    foldLines(fold, []);
    expect(readState(fold).root).toBe(readState(createFold(charter, trustHash(set))).root);
  });
});

describe('trust ops judged with verdicts from before', () => {
  test('the set is the same, with ops that no signer approved among them', async () => {
    const genesis = genesisOf();
    const ops = [genesis];
    for (let nonce = 1; nonce < 80; nonce += 1) {
      const prev = [ops.at(-1)?.id ?? ''];
      ops.push(classAdd({ mesh: genesis.id, by: craig, prev, nonce }, `c${nonce}`));
    }
    const place = { mesh: genesis.id, prev: [genesis.id] };
    const dana = testSigner('dana', 2);
    const added = signerAdd({ ...place, by: craig, nonce: 100 }, dana, ['*', 'charter']);
    const hers = classAdd({ mesh: genesis.id, by: dana, prev: [added.id], nonce: 101 }, 'hers');
    const stranger = classAdd({ ...place, by: testSigner('mallory', 4), nonce: 102 }, 'strange');
    const forged = must(finishTrustOp(ops[3]?.body as never, { ...approverOf(craig), sshsig: 'AAAA' }));
    const all = [forged, ...ops, hers, stranger, added];
    const verify = await checkOpsAhead(all);
    expect(verify).not.toBe(verifySshsig);
    const ahead = addOps(emptyTrustSet(genesis.id), all, '', verify);
    const plain = addOps(emptyTrustSet(genesis.id), all);
    expect(ahead).toEqual(plain);
    expect(ahead.added.length).toBe(ops.length + 2);
    expect(ahead.dropped.map(({ code }) => code).toSorted()).toEqual(['BAD_SIGNATURE', 'NOT_A_SIGNER']);
  });

  test('few ops are verified as they are judged', async () => {
    expect(await checkOpsAhead([genesisOf()])).toBe(verifySshsig);
  });
});
