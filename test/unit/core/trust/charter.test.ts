import { describe, expect, test } from 'vitest';
import { defaultClasses } from '../../../../src/core/trust/build.ts';
import { approvalVerdict, audienceClosure, charterOf, type Charter } from '../../../../src/core/trust/charter.ts';
import type { TrustOp } from '../../../../src/core/trust/op.ts';
import { addOps, emptyTrustSet } from '../../../../src/core/trust/set.ts';
import { p256 } from '../../../lib/other-keys.ts';
import {
  approveEvent,
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  otherOp,
  placesIn,
  signerAdd,
  sshsigOf,
  testKey,
  testSigner,
  type TestSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const erin = testSigner('erin', 3);
const everything = ['*', 'charter'];

/** The charter of these ops, all of which must be valid. */
function charter(...ops: readonly TrustOp[]): Charter {
  const { set, added, dropped } = addOps(emptyTrustSet(mesh), [genesis, ...ops]);
  expect(dropped).toEqual([]);
  expect(added).toHaveLength(new Set(ops.map(({ id }) => id)).size + 1);
  return charterOf(set);
}

function alarms(from: Charter): readonly string[] {
  return from.conflicts.map(({ kind, item }) => `${kind} ${item}`);
}

/** Two nonces such that the op of the first has the lower id. */
function ordered(make: (nonce: number) => TrustOp, than: TrustOp, lower: boolean): TrustOp {
  for (let nonce = 100; ; nonce += 1) {
    const op = make(nonce);
    if (op.id < than.id === lower) return op;
  }
}

describe('charter: a new mesh', () => {
  test('holds the founder, its host from seq 1, the default classes and the audience operator', () => {
    const { name, hosts, signers, classes, audiences, policy, conflicts } = charter();
    expect(name).toBe('lab');
    expect([...hosts.keys()]).toEqual(['alpha']);
    expect(hosts.get('alpha')).toMatchObject({ status: 'active', address: '', op: mesh, by: approverOf(craig) });
    expect(hosts.get('alpha')?.spans).toEqual([
      { key: testKey(10).public.raw32, from: 1, upto: null, op: hosts.get('alpha')?.op },
    ]);
    expect(hosts.get('alpha')?.ssh.text).toBe(testKey(1010).text);
    expect(signers.get('craig')).toMatchObject({ rank: 0, scopes: ['*', 'charter', 'purge'] });
    expect([...classes.keys()]).toEqual(Object.keys(defaultClasses).toSorted((a, b) => (a < b ? -1 : 1)));
    expect(classes.get('policy')).toMatchObject({ revise: 'host', claims: 'fact' });
    expect(classes.get('lesson')).toMatchObject({ revise: 'mesh', claims: 'rule' });
    expect(classes.get('decision')).toMatchObject({ revise: null, claims: null });
    expect([...audiences.keys()]).toEqual(['operator']);
    expect(policy.size).toBe(0);
    expect(conflicts).toEqual([]);
  });

  test('policy and audiences come from the genesis', () => {
    const own = genesisOf(craig, {
      policy: { 'index.bytes': 9_000, notifier: 'beta' },
      audiences: { operator: { includes: ['agents'] }, agents: { includes: [] } },
    });
    const { policy, audiences } = charterOf(addOps(emptyTrustSet(own.id), [own]).set);
    expect(policy.get('index.bytes')?.value).toBe(9_000);
    expect(policy.get('notifier')?.value).toBe('beta');
    expect(audiences.get('operator')?.includes).toEqual(['agents']);
  });
});

describe('charter: ranks', () => {
  test('a signer ranks one after the most senior of those who added it', () => {
    const one = signerAdd(at(craig, [genesis]), dana, everything);
    const two = signerAdd(at(dana, [one]), erin, everything);
    const { signers } = charter(one, two);
    expect([...signers.values()].map(({ name, rank }) => [name, rank])).toEqual([
      ['craig', 0],
      ['dana', 1],
      ['erin', 2],
    ]);
    const also = signerAdd(at(craig, [genesis], 2), erin, everything);
    expect(charter(one, two, also).signers.get('erin')?.rank).toBe(1);
  });
});

describe('charter: ties of rank', () => {
  /** Which of two hosts with one key is held when these two approve them side by side. */
  function winner(
    first: TestSigner,
    second: TestSigner,
    prev: readonly TrustOp[],
    secondHasLowerId: boolean,
  ): readonly string[] {
    const beta = hostAdd(at(first, prev), 'beta', 11);
    const gamma = ordered((nonce) => hostAdd(at(second, prev, nonce), 'gamma', 11), beta, secondHasLowerId);
    return [...charter(...prev, beta, gamma).hosts.keys()];
  }
  const mallory = testSigner('mallory', 4);
  const addDana = signerAdd(at(craig, [genesis]), dana, everything);

  test('of two signers with one rank number, the lower id of their adds ranks first, whatever they approve', () => {
    const addLater = ordered((nonce) => signerAdd(at(craig, [genesis], nonce), mallory, everything), addDana, false);
    const addEarlier = ordered((nonce) => signerAdd(at(craig, [genesis], nonce), mallory, everything), addDana, true);
    for (const lower of [true, false]) {
      expect(winner(dana, mallory, [addDana, addLater], lower)).toEqual(['alpha', 'beta']);
      expect(winner(dana, mallory, [addDana, addEarlier], lower)).toEqual(['alpha', 'gamma']);
    }
  });

  test('of several equal adds of one signer the lowest id counts', () => {
    const addMallory = ordered((nonce) => signerAdd(at(craig, [genesis], nonce), mallory, everything), addDana, true);
    const again = ordered((nonce) => signerAdd(at(craig, [genesis], nonce), dana, everything), addMallory, true);
    expect(winner(dana, mallory, [addDana, addMallory], true)).toEqual(['alpha', 'gamma']);
    expect(winner(dana, mallory, [addDana, again, addMallory], true)).toEqual(['alpha', 'beta']);
  });

  test('a second key under a senior name has the rank of whoever added it, not that of the name', () => {
    const impostor = testSigner('dana', 5);
    const addMallory = ordered((nonce) => signerAdd(at(craig, [genesis], nonce), mallory, everything), addDana, false);
    const addImpostor = signerAdd(at(mallory, [addMallory]), impostor, everything);
    const gamma = hostAdd(at(impostor, [addImpostor]), 'gamma', 11);
    const beta = hostAdd(at(mallory, [addImpostor]), 'beta', 11);
    expect([...charter(addDana, addMallory, addImpostor, beta, gamma).hosts.keys()]).toEqual(['alpha', 'beta']);
  });
});

describe('charter: items', () => {
  test('a later op of the item is its value', () => {
    const first = classAdd(at(craig, [genesis]), 'tool');
    const second = classAdd(at(craig, [first]), 'tool', { claims: 'rule', description: 'later' });
    const { classes, conflicts } = charter(first, second);
    expect(classes.get('tool')).toMatchObject({ claims: 'rule', description: 'later', op: second.id });
    expect(conflicts).toEqual([]);
  });

  test('equal ops side by side are one, descriptions aside, and the lowest id speaks', () => {
    const one = classAdd(at(craig, [genesis], 1), 'tool', { description: 'one' });
    const two = classAdd(at(craig, [genesis], 2), 'tool', { description: 'two' });
    const { classes, conflicts } = charter(one, two);
    expect(classes.get('tool')?.op).toBe(one.id < two.id ? one.id : two.id);
    expect(conflicts).toEqual([]);
  });

  //  genesis ── note(fact) ─┬─ note(rule)
  //                         └─ note(host)     the item stays note(fact), everything else goes on
  test('ops that differ side by side leave the item as it was, with an alarm, and touch nothing else', () => {
    const base = classAdd(at(craig, [genesis]), 'tool');
    const rule = classAdd(at(craig, [base], 2), 'tool', { claims: 'rule' });
    const host = classAdd(at(craig, [base], 3), 'tool', { revise: 'host' });
    const beta = hostAdd(at(craig, [rule, host]), 'beta', 11);
    const forked = charter(base, rule, host, beta);
    expect(forked.classes.get('tool')).toMatchObject({ op: base.id });
    expect(alarms(forked)).toEqual(['CHARTER_FORK class:tool']);
    expect(forked.conflicts[0]?.ops).toEqual([rule.id, host.id].toSorted((a, b) => (a < b ? -1 : 1)));
    expect(forked.hosts.has('beta')).toBe(true);
    const end = classAdd(at(craig, [rule, host]), 'tool', { claims: 'rule' });
    const resolved = charter(base, rule, host, beta, end);
    expect(resolved.classes.get('tool')).toMatchObject({ op: end.id });
    expect(resolved.conflicts).toEqual([]);
  });

  test('an op that descends from one side only does not end a fork', () => {
    const rule = classAdd(at(craig, [genesis], 2), 'tool', { claims: 'rule' });
    const host = classAdd(at(craig, [genesis], 3), 'tool', { revise: 'host' });
    const half = classAdd(at(craig, [rule], 4), 'tool');
    const forked = charter(rule, host, half);
    expect(forked.classes.has('tool')).toBe(false);
    expect(alarms(forked)).toEqual(['CHARTER_FORK class:tool']);
  });

  test('a host added twice side by side with different keys is held until one op ends it', () => {
    const one = hostAdd(at(craig, [genesis], 1), 'beta', 11);
    const two = hostAdd(at(craig, [genesis], 2), 'beta', 12);
    const forked = charter(one, two);
    expect(forked.hosts.has('beta')).toBe(false);
    expect(alarms(forked)).toEqual(['CHARTER_FORK host:beta']);
    const end = hostAdd(at(craig, [one, two]), 'beta', 12);
    const resolved = charter(one, two, end);
    expect(resolved.hosts.get('beta')?.sign.text).toBe(testKey(12).text);
    expect(resolved.conflicts).toEqual([]);
  });
});

describe('charter: a junior cannot unseat a senior', () => {
  const addDana = signerAdd(at(craig, [genesis]), dana, everything);
  const mallory = testSigner('mallory', 4);
  const addMallory = signerAdd(at(craig, [genesis]), mallory, everything);
  const squat = signerAdd(at(mallory, [addMallory]), testSigner('dana', 5), everything);

  test('by adding the name again beside it: the senior value stays, with an alarm', () => {
    const { signers, conflicts } = charter(addDana, addMallory, squat);
    expect(signers.get('dana')?.key.text).toBe(dana.key.text);
    expect(conflicts.map(({ kind, item }) => `${kind} ${item}`)).toEqual(['CHARTER_FORK signer:dana']);
  });

  test('by ending the fork that it made', () => {
    const end = signerAdd(at(mallory, [addDana, squat]), testSigner('dana', 5), everything);
    const after = charter(addDana, addMallory, squat, end);
    expect(after.signers.get('dana')?.key.text).toBe(dana.key.text);
    expect(alarms(after)).toEqual(['CHARTER_FORK signer:dana']);
  });

  test('the senior ends it', () => {
    const end = signerAdd(at(craig, [addDana, squat]), dana, everything);
    const after = charter(addDana, addMallory, squat, end);
    expect(after.signers.get('dana')?.key.text).toBe(dana.key.text);
    expect(after.conflicts).toEqual([]);
  });

  test('two adds by one signer are a fork that holds the name', () => {
    const forked = charter(addDana, signerAdd(at(craig, [genesis], 9), testSigner('dana', 5), everything));
    expect(forked.signers.has('dana')).toBe(false);
    expect(alarms(forked)).toEqual(['CHARTER_FORK signer:dana']);
  });
});

describe('charter: a key belongs to one item', () => {
  test('a later op cannot take a key away, whatever its id', () => {
    for (const lower of [true, false]) {
      const thief = ordered((nonce) => hostAdd(at(craig, [genesis], nonce), 'evil', 10), genesis, lower);
      const after = charter(thief);
      expect(after.hosts.has('alpha')).toBe(true);
      expect(after.hosts.has('evil')).toBe(false);
      expect(alarms(after)).toEqual(['KEY_REUSED host:evil']);
      expect(after.conflicts[0]?.detail).toBe('a key of host:evil belongs to host:alpha');
    }
  });

  test('side by side and by one signer, the lower id has it', () => {
    const beta = hostAdd(at(craig, [genesis]), 'beta', 11);
    for (const lower of [true, false]) {
      const gamma = ordered((nonce) => hostAdd(at(craig, [genesis], nonce), 'gamma', 11), beta, lower);
      const after = charter(beta, gamma);
      expect([...after.hosts.keys()]).toEqual(['alpha', lower ? 'gamma' : 'beta']);
      expect(alarms(after)).toEqual([`KEY_REUSED host:${lower ? 'beta' : 'gamma'}`]);
    }
  });

  test('whoever approves it ranks first has it, also later', () => {
    const add = signerAdd(at(craig, [genesis]), dana, everything);
    const juniors = hostAdd(at(dana, [add]), 'beta', 11);
    const seniors = hostAdd(at(craig, [juniors]), 'gamma', 11);
    expect([...charter(add, juniors, seniors).hosts.keys()]).toEqual(['alpha', 'gamma']);
  });

  test('between a signer and a host, and between sign and ssh keys, it is one key all the same', () => {
    const signer = signerAdd(at(craig, [genesis]), testSigner('erin', 10), ['*']);
    expect(charter(signer).signers.has('erin')).toBe(false);
    const ssh = hostAdd(at(craig, [genesis]), 'beta', 1_010);
    expect(alarms(charter(ssh))).toEqual(['KEY_REUSED host:beta']);
  });

  test('a held signer approves nothing', () => {
    const held = testSigner('erin', 10);
    const add = signerAdd(at(craig, [genesis]), held, everything);
    const result = addOps(emptyTrustSet(mesh), [genesis, add, hostAdd(at(held, [add]), 'beta', 11)]);
    expect(result.dropped.map(({ code }) => code)).toEqual(['NOT_A_SIGNER']);
  });
});

describe('charter: approvals of events', () => {
  const message = '{"subject":"note/a"}';
  const add = signerAdd(at(craig, [genesis]), dana, ['note/*']);
  const from = charter(add);
  const about = { message, namespace: 'memd-event', subject: 'note/a' };
  const approval = approveEvent(dana, message);

  test('stands for a subject in scope', () => {
    expect(approvalVerdict(from, approval, about)).toBe('ok');
    expect(approvalVerdict(from, approveEvent(craig, message), about)).toBe('ok');
  });

  test('is out of scope elsewhere, unknown for an unknown name', () => {
    expect(approvalVerdict(from, approval, { ...about, subject: 'policy/a' })).toBe('out-of-scope');
    expect(approvalVerdict(from, approveEvent(erin, message), about)).toBe('unknown');
  });

  test('is judged by the key of a signer whose key is of another type', () => {
    const gus = otherOp(at(craig, [genesis]), 'signer-add', { name: 'gus', key: p256.text, scopes: ['*'] });
    const held = charterOf(addOps(emptyTrustSet(mesh), [genesis, gus]).set);
    const key = p256.public.fingerprint;
    const sshsig = p256.sign(message, 'memd-event');
    expect(approvalVerdict(held, { signer: 'gus', key, sshsig }, about)).toBe('ok');
    expect(approvalVerdict(held, { signer: 'gus', key, sshsig: approval.sshsig }, about)).toBe('forged');
  });

  test('is forged under another key, over other words, in another namespace', () => {
    expect(approvalVerdict(from, approveEvent(testSigner('dana', 3), message), about)).toBe('forged');
    expect(approvalVerdict(from, { ...approval, sshsig: approveEvent(erin, message).sshsig }, about)).toBe('forged');
    expect(approvalVerdict(from, approval, { ...about, message: `${message} ` })).toBe('forged');
    const moved = { ...approval, sshsig: sshsigOf(dana.key, message, 'memd-trust') };
    expect(approvalVerdict(from, moved, about)).toBe('forged');
    expect(approvalVerdict(from, { ...approval, sshsig: '' }, about)).toBe('forged');
  });
});

describe('charter: audiences', () => {
  const audiences = {
    operator: { includes: ['agents'] },
    agents: { includes: ['guests', 'nowhere'] },
    guests: { includes: ['operator'] },
    press: { includes: [] },
  };
  const own = genesisOf(craig, { audiences });
  const from = charterOf(addOps(emptyTrustSet(own.id), [own]).set);

  test('circles end, undeclared names add nothing', () => {
    expect([...audienceClosure(from, 'operator')]).toEqual(['operator', 'agents', 'guests']);
    expect(audienceClosure(from, 'guests')).toEqual(new Set(['operator', 'agents', 'guests']));
    expect(audienceClosure(from, 'press')).toEqual(new Set(['press']));
    expect(audienceClosure(from, 'nowhere')).toEqual(new Set());
  });
});
