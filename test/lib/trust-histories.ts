/**
 * Random histories of a trust set with every op, and the attacks on it: strangers, forged and respelled approvals,
 * impostors, ops of another mesh, a second genesis, missing ancestors, grants beyond one's scopes, names taken twice,
 * keys used twice, back-dated parents, revocations up and down the ranks, two changes of one item that do not know of
 * each other, pins on two branches, fork-proofs with and without the key, ops of a later version.
 */
import fc from 'fast-check';
import type { Kind as EventKind } from '../../src/core/event.ts';
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import {
  finishTrustOp,
  trustNamespace,
  trustOpMessage,
  type ApprovedOp,
  type TrustOp,
} from '../../src/core/trust/op.ts';
import { addOps, emptyTrustSet, maximalOps, type TrustSet } from '../../src/core/trust/set.ts';
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
  policySet,
  purge,
  signerAdd,
  signerRevoke,
  skeletonAbout,
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
type Kind =
  | 'signer-add'
  | 'signer-revoke'
  | 'host-add'
  | 'host-rekey'
  | 'host-revoke'
  | 'class-add'
  | 'audience-add'
  | 'policy-set'
  | 'delegate'
  | 'purge'
  | 'fork-proof'
  | 'host-rename'
  | 'class-drop'
  | 'genesis';

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
    { weight: 6, arbitrary: fc.constant<Kind>('signer-revoke') },
    { weight: 5, arbitrary: fc.constant<Kind>('host-add') },
    { weight: 6, arbitrary: fc.constant<Kind>('host-rekey') },
    { weight: 2, arbitrary: fc.constantFrom<Kind>('host-revoke', 'delegate', 'fork-proof') },
    { weight: 3, arbitrary: fc.constantFrom<Kind>('class-add', 'audience-add', 'policy-set', 'purge') },
    { weight: 1, arbitrary: fc.constantFrom<Kind>('host-rename', 'class-drop', 'genesis') },
  ),
  by: fc.nat(20),
  byAnybody: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
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
      charter: charterOf(set),
      ops,
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
  // A host key is another thing to steal.
  const steps = plan.filter(({ kind }) => kind !== 'fork-proof');
  for (const [index, one] of steps.entries()) {
    const world = { charter: charterOf(set), ops };
    const place = { mesh: history.mesh, by: attacker, prev: prevOf(one, ops, set), nonce: 1_000 + index, ...world };
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
  const known = charterOf(set).signers;
  const signers = people.filter(({ name, key }) => known.get(name)?.key.text === key.text);
  const [live, revoked] = (['active', 'revoked'] as const).map((status) =>
    signers.filter(({ name }) => known.get(name)?.status === status),
  );
  if (!one.byAnybody) return pickOf(live, one.by) ?? craig;
  return (one.say < 4 ? pickOf(revoked, one.by) : undefined) ?? personOf(one.by);
}

function pickOf<T>(list: readonly T[] | undefined, index: number): T | undefined {
  return list === undefined ? undefined : list[index % list.length];
}

function personOf(index: number): TestSigner {
  return people[index % people.length] ?? craig;
}

function prevOf({ prev }: Step, ops: readonly TrustOp[], set: TrustSet): readonly string[] {
  if (prev === 'heads') return maximalOps(set);
  if (prev === 'missing') return [`${'0'.repeat(63)}1`];
  // Mostly of ops that are held: what names an op that was dropped only waits.
  const held = prev[0] % 8 === 7 ? ops.map(({ id }) => id) : [...set.held.keys()];
  const ids = prev.map((pick) => held[pick % held.length] ?? genesis.id);
  return [...new Set(ids)].toSorted((a, b) => (a < b ? -1 : 1));
}

/** What the maker of an op can see besides. */
interface WorldPlace extends TestPlace {
  readonly charter: Charter;
  readonly ops: readonly TrustOp[];
}

function makeOps(one: Step, place: WorldPlace): readonly TrustOp[] {
  if (one.kind === 'fork-proof') return makeForkProof(one, place);
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

function makeOp(one: Step, place: WorldPlace): ApprovedOp {
  switch (one.kind) {
    case 'signer-add': {
      const person = personOf(one.name);
      const key = one.key === 0 ? person.key : testKey(one.key < 7 ? one.key : one.key + 3);
      return signerAdd(place, { name: person.name, key }, grants[one.say % grants.length] ?? ['*']);
    }
    case 'signer-revoke':
      return signerRevoke(place, known(one, place.charter.signers) ?? personOf(one.name).name, {
        alpha: pinOf(one, place.mesh),
      });
    case 'host-add':
    case 'host-rekey':
    case 'host-revoke':
    case 'delegate':
      return makeHostOp(one, place);
    case 'genesis':
      return genesisOf(place.by, { name: 'other' });
    case 'host-rename':
    case 'class-drop':
      return otherOp(place, one.kind, { name: 'beta' });
    default:
      return makeItemOp(one, place);
  }
}

const hostNames = ['alpha', 'beta', 'gamma'] as const;
const lent: readonly EventKind[] = ['assert', 'retract'];
const subjects = ['*', 'note/*', 'note/a*', 'tool/b'] as const;

function hostNameOf({ name }: Step): string {
  return hostNames[name % 3] ?? 'beta';
}

/** Low seqs, so that pins meet; now and then on another branch. */
function pinOf({ say, key }: Step, mesh: string): ReturnType<typeof pinAt> {
  return pinAt(mesh, say * 2, key === 2 ? 'side' : 'main');
}

/** The name of something that exists, most of the time. */
function known({ name, key }: Step, items: ReadonlyMap<string, unknown>): string | undefined {
  return key < 8 ? pickOf([...items.keys()], name) : undefined;
}

function makeHostOp(one: Step, place: WorldPlace): ApprovedOp {
  const name = (one.kind === 'host-add' ? undefined : known(one, place.charter.hosts)) ?? hostNameOf(one);
  const number = one.name % 3;
  switch (one.kind) {
    case 'host-rekey': {
      // Its own key, one that two rekeys may give, or one of somebody else.
      const key = one.key === 0 ? 100 + place.nonce : one.key < 6 ? 20 + number : 10 + ((number + one.key) % 4);
      return hostRekey(place, { name, key, pin: pinOf(one, place.mesh) });
    }
    case 'host-revoke':
      return hostRevoke(place, name, pinOf(one, place.mesh));
    case 'delegate': {
      const key = one.key < 7 ? (place.charter.hosts.get(name)?.sign.text ?? testKey(10).text) : testKey(10).text;
      const bounds = { from: 1 + one.say, upto: 20 + one.say };
      return delegation(place, { host: name, key, subjects: [subjects[one.say % 4] ?? '*'], kinds: lent, ...bounds });
    }
    default:
      return hostAdd(place, name, one.key < 7 ? 10 + ((number + one.key) % 4) : one.key - 6);
  }
}

function makeItemOp(one: Step, place: WorldPlace): ApprovedOp {
  const claims = one.say % 2 === 0 ? 'fact' : 'rule';
  switch (one.kind) {
    case 'audience-add':
      return audienceAdd(
        place,
        one.name % 3 === 2 ? 'guests' : 'operator',
        [['guests'], [], ['strangers']][one.say % 3] ?? [],
      );
    case 'policy-set':
      return policySet(place, one.name % 2 === 0 ? 'index.lines' : 'notify.order', one.say);
    case 'purge': {
      const targets = ['note/a', 'tool/b', 'note/a1'].map((subject, at) => skeletonAbout(subject, `${one.say + at}`));
      return purge(place, { targets: targets.slice(0, 1 + (one.key % 3)), reason: 'secret' });
    }
    default:
      return classAdd(place, one.name % 2 === 0 ? 'tool' : 'note', {
        claims,
        revise: revises[one.key % 2] ?? 'mesh',
        description: `${one.say}`,
      });
  }
}

/** By whoever has the key that some op gave a host, or by somebody who has not. */
function makeForkProof(one: Step, { mesh, ops, nonce }: WorldPlace): readonly TrustOp[] {
  const { say, by: pick, fault } = one;
  return proveFork(fault === 'foreign-mesh' ? elsewhere.id : mesh, ops, {
    pick,
    seq: 1 + say * 2,
    salt: nonce,
    ...(one.key === 1 ? { host: hostNameOf(one) } : {}),
    ...(fault === 'other-key' ? { key: 6 } : {}),
  });
}

interface Theft {
  readonly pick: number;
  readonly seq: number;
  readonly salt: number;
  readonly host?: string;
  readonly key?: number;
}

/** A fork-proof by whoever holds one of the host keys that a history ever knew. */
export function playForkProof({ mesh, ops }: History, theft: Theft): readonly TrustOp[] {
  return proveFork(mesh, ops, theft);
}

function proveFork(mesh: string, ops: readonly TrustOp[], theft: Theft): readonly TrustOp[] {
  const sources = ops.filter(({ body }) => ['genesis', 'host-add', 'host-rekey'].includes(body.op));
  const source = sources[theft.pick % sources.length];
  if (source === undefined) return [];
  const body = source.body as unknown as { host?: { name: string; sign: string }; name: string; sign: string };
  const { name, sign } = body.host ?? body;
  const own = Array.from({ length: 200 }, (_, number) => number).find((number) => testKey(number).text === sign);
  const { host = name, key = own ?? 6, seq, salt } = theft;
  return [forkProof(mesh, { host, key, source: source.id, seq, salt })];
}

/** The same body under another approval: the same id. */
function reapprove(op: ApprovedOp, sign: (message: string) => string): TrustOp {
  const { signer, key } = op.body.by;
  const sshsig = sign(trustOpMessage(op.body));
  return must(finishTrustOp(op.body as never, { ...approverOf({ name: signer, key: testKey(1) }), key, sshsig }));
}
