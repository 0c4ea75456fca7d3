/**
 * Random histories of a trust set, with the attacks that need no revocation: strangers, forged and respelled approvals,
 * impostors, ops of another mesh, a second genesis, missing ancestors, grants beyond one's scopes, names taken twice,
 * keys used twice, back-dated parents, ops of kinds that this version refuses.
 */
import fc from 'fast-check';
import { charterOf } from '../../src/core/trust/charter.ts';
import { finishTrustOp, trustNamespace, trustOpMessage, type TrustOp } from '../../src/core/trust/op.ts';
import { addOps, emptyTrustSet, maximalOps, type TrustSet } from '../../src/core/trust/set.ts';
import {
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  must,
  otherOp,
  signerAdd,
  sshsigOf,
  testKey,
  testSigner,
  type TestPlace,
  type TestSigner,
} from './trust-ops.ts';

/** craig, three people, a second key under dana's name, erin's name with dana's key, and somebody nobody knows. */
export const people: readonly TestSigner[] = [
  craig,
  testSigner('dana', 2),
  testSigner('erin', 3),
  testSigner('mallory', 4),
  testSigner('dana', 5),
  testSigner('erin', 2),
  testSigner('stranger', 6),
];
const grants: readonly (readonly string[])[] = [
  ['*', 'charter'],
  ['*', 'charter'],
  ['*', 'charter', 'purge'],
  ['charter', 'note/*'],
  ['charter', 'note/a*'],
  ['*'],
];
const revises = ['mesh', 'host'] as const;

type Fault = 'none' | 'other-fingerprint' | 'other-key' | 'other-namespace' | 'foreign-mesh' | 'squat' | 'respelled';
type Kind = 'signer-add' | 'host-add' | 'class-add' | 'host-rename' | 'class-drop' | 'genesis';

export interface Step {
  readonly kind: Kind;
  /** Somebody who is a signer when the step is made, or anybody. */
  readonly by: number;
  readonly byAnybody: boolean;
  readonly prev: 'heads' | 'missing' | readonly [number, number];
  readonly name: number;
  readonly key: number;
  readonly say: number;
  readonly fault: Fault;
}

export interface History {
  readonly mesh: string;
  /** Ops in the order they were made. A broken copy may come before the op whose id it shares. */
  readonly ops: readonly TrustOp[];
  /** What a host holds that got them in that order. */
  readonly set: TrustSet;
}

/** One step; small numbers come first, so that a failure shrinks to honest steps. */
const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.oneof(
    { weight: 9, arbitrary: fc.constant<Kind>('signer-add') },
    { weight: 7, arbitrary: fc.constant<Kind>('host-add') },
    { weight: 4, arbitrary: fc.constant<Kind>('class-add') },
    { weight: 2, arbitrary: fc.constantFrom<Kind>('host-rename', 'class-drop', 'genesis') },
  ),
  by: fc.nat(20),
  byAnybody: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  prev: fc.oneof(
    { weight: 9, arbitrary: fc.constant('heads' as const) },
    { weight: 10, arbitrary: fc.tuple(fc.nat(20), fc.nat(20)) },
    { weight: 1, arbitrary: fc.constant('missing' as const) },
  ),
  name: fc.nat(6),
  key: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(9) }),
  say: fc.nat(5),
  fault: fc.oneof(
    { weight: 20, arbitrary: fc.constant<Fault>('none') },
    {
      weight: 4,
      arbitrary: fc.constantFrom<Fault>(
        'other-fingerprint',
        'other-key',
        'other-namespace',
        'foreign-mesh',
        'squat',
        'respelled',
      ),
    },
  ),
});

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(step, { minLength: 1, maxLength: 13, size: 'max' });

/** Few classes: the naive charter looks at every item of every view. */
const classes = { note: { description: '', revise: 'mesh', claims: 'fact' }, decision: { description: '' } } as const;
const genesis = genesisOf(craig, { classes, policy: { 'index.lines': 90 } });
const elsewhere = genesisOf(craig, { name: 'elsewhere' });

/** Makes and signs the ops of a history. The same steps give the same ops. */
export function playSteps(plan: readonly Step[]): History {
  const ops: TrustOp[] = [genesis];
  let { set } = addOps(emptyTrustSet(genesis.id), ops);
  for (const [index, one] of plan.entries()) {
    const made = makeOps(one, {
      mesh: genesis.id,
      by: approverFor(one, set),
      prev: prevOf(one, ops, set),
      nonce: index,
    });
    ops.push(...made);
    ({ set } = addOps(set, made));
  }
  return { mesh: genesis.id, ops, set };
}

/** Ops that one person and their puppet append, anywhere in the past of a history. */
export function playAttack(history: History, attacker: TestSigner, plan: readonly Step[]): readonly TrustOp[] {
  const puppet = testSigner('puppet', 7);
  const ops: TrustOp[] = [...history.ops];
  let { set } = history;
  const attack: TrustOp[] = [];
  for (const [index, one] of plan.entries()) {
    const place = { mesh: history.mesh, by: attacker, prev: prevOf(one, ops, set), nonce: 1_000 + index };
    const made =
      one.by % 4 === 0
        ? [signerAdd(place, puppet, grants[one.say % grants.length] ?? ['*'])]
        : makeOps({ ...one, fault: 'none' }, { ...place, by: one.by % 4 === 1 ? puppet : attacker });
    ops.push(...made);
    attack.push(...made);
    ({ set } = addOps(set, made));
  }
  return attack;
}

function approverFor(one: Step, set: TrustSet): TestSigner {
  const live = charterOf(set).signers;
  const signers = people.filter(({ name, key }) => live.get(name)?.key.text === key.text);
  return one.byAnybody ? personOf(one.by) : (signers[one.by % signers.length] ?? craig);
}

function personOf(index: number): TestSigner {
  return people[index % people.length] ?? craig;
}

function prevOf({ prev }: Step, ops: readonly TrustOp[], set: TrustSet): readonly string[] {
  if (prev === 'heads') return maximalOps(set);
  if (prev === 'missing') return [`${'0'.repeat(63)}1`];
  const ids = prev.map((pick) => (ops[pick % ops.length] as TrustOp).id);
  return [...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1));
}

function makeOps(one: Step, place: TestPlace): readonly TrustOp[] {
  switch (one.fault) {
    case 'none':
      return [makeOp(one, place)];
    case 'foreign-mesh':
      return [makeOp(one, { ...place, mesh: elsewhere.id })];
    case 'other-fingerprint': {
      const named = makeOp(one, { ...place, by: { name: place.by.name, key: testKey(6) } });
      return [reapprove(named, (message) => sshsigOf(place.by.key, message, trustNamespace))];
    }
    case 'other-key':
      return [reapprove(makeOp(one, place), (message) => sshsigOf(testKey(6), message, trustNamespace))];
    case 'other-namespace':
      return [reapprove(makeOp(one, place), (message) => sshsigOf(place.by.key, message, 'memd-event'))];
    case 'squat': {
      const real = makeOp(one, place);
      return [reapprove(real, (message) => sshsigOf(testKey(6), message, trustNamespace)), real];
    }
    case 'respelled': {
      const real = makeOp(one, place);
      return [real, reapprove(real, (message) => sshsigOf(place.by.key, ` ${message}`, trustNamespace))];
    }
  }
}

function makeOp(one: Step, place: TestPlace): TrustOp {
  const claims = one.say % 2 === 0 ? 'fact' : 'rule';
  switch (one.kind) {
    case 'signer-add': {
      const person = personOf(one.name);
      const key = one.key === 0 ? person.key : testKey(one.key < 7 ? one.key : one.key + 3);
      return signerAdd(place, { name: person.name, key }, grants[one.say % grants.length] ?? ['*']);
    }
    case 'host-add': {
      const number = one.name % 3;
      const name = ['alpha', 'beta', 'gamma'][number] ?? 'beta';
      return hostAdd(place, name, one.key < 7 ? 10 + ((number + one.key) % 4) : one.key - 6);
    }
    case 'class-add':
      return classAdd(place, one.name % 2 === 0 ? 'tool' : 'note', {
        claims,
        revise: revises[one.key % 2] ?? 'mesh',
        description: `${one.say}`,
      });
    case 'genesis':
      return genesisOf(place.by, { name: 'other' });
    default:
      return otherOp(place, one.kind, { name: 'beta' });
  }
}

/** The same body under another approval: the same id. */
function reapprove(op: TrustOp, sign: (message: string) => string): TrustOp {
  const { signer, key } = op.body.by;
  const sshsig = sign(trustOpMessage(op.body));
  return must(finishTrustOp(op.body as never, { ...approverOf({ name: signer, key: testKey(1) }), key, sshsig }));
}
