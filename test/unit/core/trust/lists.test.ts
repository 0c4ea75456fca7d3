import { describe, expect, test } from 'vitest';
import { trustVoidMax } from '../../../../src/core/limits.ts';
import { policySetBody, purgeBody } from '../../../../src/core/trust/build.ts';
import { audienceClosure, charterOf, type Charter } from '../../../../src/core/trust/charter.ts';
import { finishTrustOp, type DelegateFields, type TrustOp } from '../../../../src/core/trust/op.ts';
import { ok } from '../../../../src/crypto/result.ts';
import { previewOp } from '../../../../src/core/trust/preview.ts';
import {
  addOps,
  emptyTrustSet,
  maximalOps,
  trustHash,
  type Added,
  type TrustSet,
} from '../../../../src/core/trust/set.ts';
import {
  approverOf,
  audienceAdd,
  classAdd,
  craig,
  delegation,
  forkProof,
  genesisOf,
  hostAdd,
  hostRekey,
  hostRevoke,
  must,
  otherOp,
  pinAt,
  placesIn,
  policySet,
  purge,
  signerAdd,
  signerRevoke,
  skeletonAbout,
  stampOf,
  testKey,
  testSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const addBeta = hostAdd(at(craig, [genesis]), 'beta', 11);

function setOf(...ops: readonly TrustOp[]): TrustSet {
  return addOps(emptyTrustSet(mesh), [genesis, addBeta, ...ops]).set;
}

function charter(...ops: readonly TrustOp[]): Charter {
  return charterOf(setOf(...ops));
}

function codeOf({ dropped }: Added): string | undefined {
  return dropped[0]?.code;
}

const lent: DelegateFields = {
  host: 'beta',
  key: testKey(11).text,
  subjects: ['ssh-route/*'],
  kinds: ['assert', 'retract'],
  from: 10,
  upto: 209,
};

describe('trust: delegations', () => {
  test('a delegation names host, key, subjects, kinds and lines, and who approved it', () => {
    const lend = delegation(at(craig, [addBeta]), lent);
    const [one] = charter(lend).delegations;
    expect(one).toMatchObject({ op: lend.id, by: approverOf(craig), ...lent, key: { text: lent.key } });
  });

  test('nobody lends what it lacks, to a key that is not the host’s, or to no host', () => {
    const limited = signerAdd(at(craig, [addBeta]), dana, ['charter', 'note/*']);
    const set = setOf(limited);
    const by = at(dana, [limited], 2);
    expect(codeOf(addOps(set, [delegation(by, lent)]))).toBe('SCOPE_NOT_HELD');
    expect(addOps(set, [delegation(by, { ...lent, subjects: ['note/a*'] })]).dropped).toEqual([]);
    expect(codeOf(addOps(set, [delegation(at(craig, [limited]), { ...lent, key: testKey(10).text })]))).toBe(
      'KEY_NOT_CURRENT',
    );
    expect(codeOf(addOps(set, [delegation(at(craig, [limited]), { ...lent, host: 'gamma' })]))).toBe('NO_SUCH_ITEM');
    const gone = hostRevoke(at(craig, [limited], 3), 'beta', pinAt(mesh, 4));
    expect(codeOf(addOps(addOps(set, [gone]).set, [delegation(at(craig, [gone]), lent)]))).toBe('NO_SUCH_ITEM');
  });

  test('a rekey ends it by the spans, it stays listed; it falls with its approver’s word', () => {
    const addDana = signerAdd(at(craig, [addBeta]), dana, ['*', 'charter']);
    const lend = delegation(at(dana, [addDana], 2), lent);
    const change = hostRekey(at(craig, [lend], 3), { name: 'beta', key: 20, pin: pinAt(mesh, 50) });
    const { delegations, hosts } = charter(addDana, lend, change);
    expect(delegations).toHaveLength(1);
    expect(hosts.get('beta')?.spans[0]).toMatchObject({ from: 1, upto: 50 });
    const before = hostRekey(at(craig, [lend], 4), { name: 'beta', key: 20, pin: pinAt(mesh, 0) });
    expect(charter(addDana, lend, before).delegations).toEqual([]);
    expect(charter(addDana, lend, signerRevoke(at(craig, [addDana], 5), 'dana')).delegations).toEqual([]);
    expect(charter(addDana, lend, signerRevoke(at(craig, [lend], 5), 'dana')).delegations).toHaveLength(1);
  });
});

describe('trust: purges', () => {
  const [one, two] = [skeletonAbout('note/a', 'one'), skeletonAbout('tool/b', 'two')];

  test('a purge gives the skeleton of its targets and a reason', () => {
    const op = purge(at(craig, [genesis]), { targets: [one, two], reason: 'secret' });
    const { purges } = charter(op);
    expect([...purges.keys()]).toEqual([one.id, two.id].toSorted());
    expect(purges.get(one.id)).toEqual({
      op: op.id,
      by: approverOf(craig),
      reason: 'secret',
      target: one,
    });
  });

  test('it is of effect only by who may speak of every subject, whatever subject the skeleton names', () => {
    const addDana = signerAdd(at(craig, [genesis]), dana, ['charter', 'note/*', 'purge']);
    const elsewhere = { ...two, subject: 'note/b' };
    const op = purge(at(dana, [addDana], 2), { targets: [one, elsewhere], reason: 'secret' });
    expect(charter(addDana, op).purges.size).toBe(0);
    const addAll = signerAdd(at(craig, [genesis]), dana, ['*', 'purge']);
    const theirs = purge(at(dana, [addAll], 2), { targets: [one], reason: 'secret' });
    expect([...charter(addAll, theirs).purges.keys()]).toEqual([one.id]);
  });

  test('it needs the scope purge, and one without effect is refused before it is signed', () => {
    const addDana = signerAdd(at(craig, [genesis]), dana, ['charter', 'note/*', 'purge']);
    const plain = signerAdd(at(craig, [genesis]), dana, ['*', 'charter']);
    const refused = addOps(setOf(plain), [purge(at(dana, [plain], 2), { targets: [one], reason: 'secret' })]);
    expect(codeOf(refused)).toBe('OUT_OF_SCOPE');
    const body = { mesh, by: approverOf(dana), prev: [addDana.id], targets: [one, two], reason: 'secret' };
    expect(previewOp(setOf(addDana), must(purgeBody(body, stampOf(3))))).toMatchObject({
      ok: false,
      code: 'NO_EFFECT',
    });
  });

  test('of two about one event the lower op id gives the skeleton; a void one is none', () => {
    const left = purge(at(craig, [genesis], 2), { targets: [one], reason: 'secret' });
    const right = purge(at(craig, [genesis], 3), { targets: [{ ...one, subject: 'note/other' }], reason: 'error' });
    const [lower] = [left.id, right.id].toSorted();
    expect(charter(left, right).purges.get(one.id)?.op).toBe(lower);
    const addDana = signerAdd(at(craig, [genesis]), dana, ['*', 'charter', 'purge']);
    const theirs = purge(at(dana, [addDana], 4), { targets: [two], reason: 'secret' });
    expect(charter(addDana, theirs, signerRevoke(at(craig, [addDana], 5), 'dana')).purges.size).toBe(0);
  });
});

describe('trust: audiences and policy', () => {
  test('an audience is declared, changed by a later op, and held where two ops disagree', () => {
    const declare = audienceAdd(at(craig, [genesis]), 'guests', []);
    const change = audienceAdd(at(craig, [declare], 2), 'operator', ['guests']);
    const now = charter(declare, change);
    expect([...audienceClosure(now, 'operator')]).toEqual(['operator', 'guests']);
    expect(now.audiences.get('operator')).toMatchObject({ op: change.id, by: approverOf(craig) });
    const other = audienceAdd(at(craig, [declare], 3), 'operator', ['strangers']);
    const forked = charter(declare, change, other);
    expect(forked.audiences.get('operator')).toMatchObject({ op: genesis.id, includes: [] });
    expect(forked.conflicts).toMatchObject([{ kind: 'CHARTER_FORK', item: 'audience:operator' }]);
  });

  test('a policy is set and set again; two offline changes of one key touch no other', () => {
    const first = policySet(at(craig, [genesis]), 'index.lines', 80);
    const left = policySet(at(craig, [first], 2), 'index.lines', 90);
    const right = policySet(at(craig, [first], 3), 'index.lines', 100);
    const other = policySet(at(craig, [first], 4), 'index.bytes', 9_000);
    expect(charter(first, left).policy.get('index.lines')?.value).toBe(90);
    const forked = charter(first, left, right, other);
    expect(forked.policy.get('index.lines')?.value).toBe(80);
    expect(forked.policy.get('index.bytes')?.value).toBe(9_000);
    expect(forked.conflicts).toHaveLength(1);
    const settled = policySet(at(craig, [left, right], 5), 'index.lines', 100);
    expect(charter(first, left, right, settled)).toMatchObject({ conflicts: [] });
  });
});

describe('trust: bounds', () => {
  const addDana = signerAdd(at(craig, [addBeta]), dana, ['*', 'charter']);
  const revoke = signerRevoke(at(craig, [addDana]), 'dana');
  const base = setOf(addDana, revoke);
  const addMany = (count: number, from = 0): readonly TrustOp[] =>
    Array.from({ length: count }, (_, at_) => policySet(at(dana, [addDana], 1_000 + from + at_), 'index.lines', at_));

  test('of a revoked signer the lowest void ops are kept, in whatever order and number they come', () => {
    const many = addMany(trustVoidMax + 40);
    const lowest = many
      .map(({ id }) => id)
      .toSorted()
      .slice(0, trustVoidMax);
    const whole = addOps(base, many);
    expect([...whole.set.held.keys()].filter((id) => !base.held.has(id)).toSorted()).toEqual(lowest);
    expect(whole.dropped).toHaveLength(40);
    expect(new Set(whole.dropped.map(({ code }) => code))).toEqual(new Set(['VOID_FULL']));
    expect(whole.added.toSorted()).toEqual(lowest);
    let slowly = base;
    for (const op of many.toReversed()) slowly = addOps(slowly, [op]).set;
    expect(trustHash(slowly)).toBe(trustHash(whole.set));
    expect(charterOf(slowly)).toEqual(charterOf(base));
    expect(addOps(setOf(addDana, ...many), [revoke]).set.held.size).toBe(whole.set.held.size);
  });

  test('what rests on a void op that is not kept goes with it: fork-proofs, and ops of a later version', () => {
    const hosts = Array.from({ length: trustVoidMax + 20 }, (_, index) =>
      hostAdd(at(dana, [addDana], 4_000 + index), 'puppet', 60 + index),
    );
    let set = base;
    // Each one is lower than those before it, so each is kept for a while.
    for (const [index, { op, key }] of hosts
      .map((op, at_) => ({ op, key: 60 + at_ }))
      .toSorted((left, right) => (left.op.id < right.op.id ? 1 : -1))
      .entries()) {
      const proof = forkProof(mesh, { host: 'puppet', key, source: op.id, seq: 3 });
      const later = otherOp(at(dana, [op], 5_000 + index), 'host-rename', { name: 'beta' });
      ({ set } = addOps(set, [op, proof, later]));
    }
    expect([...set.forks.keys()].every((source) => set.held.has(source))).toBe(true);
    expect(set.forks.size).toBe(trustVoidMax);
    expect([...set.unsupported.values()].every(({ body }) => body.prev.every((id) => set.held.has(id)))).toBe(true);
  });

  test('what a void puppet approves is charged to whoever added it', () => {
    const puppet = testSigner('puppet', 7);
    const addPuppet = signerAdd(at(dana, [addDana], 3), puppet, ['*', 'charter']);
    const theirs = Array.from({ length: trustVoidMax + 9 }, (_, index) =>
      policySet(at(puppet, [addPuppet], 2_000 + index), 'index.lines', index),
    );
    const { set } = addOps(base, [addPuppet, ...theirs]);
    expect(set.held.size - base.held.size).toBe(trustVoidMax);
    expect(maximalOps(set)).toEqual(maximalOps(base));
  });

  test('void ops that a counted op knows of stay, and leave the room to others', () => {
    const known = addMany(10, 500);
    const honest = classAdd(at(craig, [...known], 4), 'tool', {});
    const all = addOps(setOf(addDana, ...known, honest), [revoke, ...addMany(trustVoidMax + 5)]);
    expect(all.set.held.has(honest.id)).toBe(true);
    expect(known.every(({ id }) => all.set.held.has(id))).toBe(true);
    expect(all.dropped).toHaveLength(5);
    expect(charterOf(all.set).classes.has('tool')).toBe(true);
  });

  test('ops of a later version by a revoked signer raise no alarm and take the same room', () => {
    const later = Array.from({ length: trustVoidMax + 3 }, (_, index) =>
      otherOp(at(dana, [addDana], 3_000 + index), 'host-rename', { name: 'beta' }),
    );
    const { set, unsupported, dropped } = addOps(base, later);
    expect([unsupported, charterOf(set).conflicts]).toEqual([[], []]);
    expect([set.unsupported.size, dropped.length]).toEqual([trustVoidMax, 3]);
  });

  test('a charter of 2 000 ops takes milliseconds, and a new op beside them too', () => {
    // What signatures cost is measured elsewhere.
    const trusting = (ops: readonly TrustOp[], set: TrustSet): Added => addOps(set, ops, '', () => ok(true));
    const say = (prev: readonly string[], index: number): TrustOp => {
      const by = approverOf(index % 7 === 0 ? dana : craig);
      const body = must(policySetBody({ mesh, by, prev, key: `k.${index % 50}`, value: index }, stampOf(index)));
      return must(finishTrustOp(body, { ...by, sshsig: 'AAAA' }));
    };
    const ops: TrustOp[] = [];
    for (let index = 0, head = addDana.id; index < 2_000; index += 1) {
      const op = say([head], index);
      ops.push(op);
      if (index % 10 === 9) head = op.id;
    }
    const { set } = trusting(ops, setOf(addDana));
    expect(set.held.size).toBe(2_003);
    const took = (work: () => unknown): number => {
      const times = Array.from({ length: 5 }, () => {
        const start = process.hrtime.bigint();
        work();
        return Number(process.hrtime.bigint() - start) / 1e6;
      });
      return Math.min(...times);
    };
    // Ten times what a busy machine needs: a walk that asks every op about every other takes seconds.
    expect(took(() => charterOf(set))).toBeLessThan(500);
    expect(took(() => trusting([say(maximalOps(set), 5_000)], set))).toBeLessThan(500);
  });
});
