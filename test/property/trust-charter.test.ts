import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import { classAddBody } from '../../src/core/trust/build.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { previewOp } from '../../src/core/trust/preview.ts';
import { mayGrant } from '../../src/core/trust/scope.ts';
import { addOps, emptyTrustSet, evaluationOf, maximalOps, trustHash, type TrustSet } from '../../src/core/trust/set.ts';
import { opNotes } from '../../src/core/trust/history.ts';
import { principalOf, type Principal } from '../../src/core/trust/register.ts';
import { compareRanks } from '../../src/core/trust/standing.ts';
import { ed25519PublicText } from '../../src/crypto/ssh-key.ts';
import { classAdd, must, signerAdd, stampOf, testKey, testSigner } from '../lib/trust-ops.ts';
import {
  people,
  playAttack,
  playForkProof,
  playSteps,
  steps,
  type History,
  type Step,
} from '../lib/trust-histories.ts';
import { oracleCharter, type OracleCharter } from '../oracle/charter.ts';

const seed = Number(process.env['TRUST_SEED'] ?? 20_260_727);
/** TRUST_RUNS and TRUST_SEED make another search; the defaults are what every run of the suite does. */
const numRuns = Number(process.env['TRUST_RUNS'] ?? 1_500);
/** Two histories for one in the first test: fewer are enough. */
const attackRuns = Math.ceil(numRuns * 0.4);
const timeout = 60 * numRuns + 60_000;

/** The real charter in the terms of the oracle. */
function inOracleTerms(set: TrustSet): OracleCharter {
  const charter = charterOf(set);
  const items: Record<string, unknown> = {};
  for (const host of charter.hosts.values()) {
    const { name, sign, ssh, address, status, end, fork } = host;
    const spans = host.spans.map(({ key, from, upto }) => [ed25519PublicText(key), from, upto]);
    const pins = host.pins.map(({ seq, link }) => [seq, link]);
    items[`host:${name}`] = { sign: sign.text, ssh: ssh.text, address, status, spans, pins, end, fork };
  }
  for (const { name, key, scopes, revocations } of charter.signers.values()) {
    items[`signer:${name}`] = { key: key.text, scopes, revocations: revocations.map(({ op }) => op) };
  }
  for (const [name, { revise, claims }] of charter.classes) {
    items[`class:${name}`] = { revise: revise ?? undefined, claims: claims ?? undefined };
  }
  for (const [name, { includes }] of charter.audiences) items[`audience:${name}`] = { includes };
  for (const [key, { value }] of charter.policy) items[`policy:${key}`] = { value };
  return {
    valid: [...set.held.keys()].toSorted(byText),
    counted: opNotes(set)
      .flatMap(({ id, counts }) => (counts ? [id] : []))
      .toSorted(byText),
    items,
    delegations: charter.delegations.map(({ op }) => op),
    purges: Object.fromEntries([...charter.purges].map(([id, { op }]) => [id, op])),
    alarms: charter.conflicts.map(({ kind, item }) => `${kind} ${item}`).toSorted(byText),
    trustHash: trustHash(set),
  };
}

function byText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** Some order of the ops that depends on the salt only. */
function shuffled(ops: readonly TrustOp[], salt: number): readonly TrustOp[] {
  const keyed = ops.map((op, index) => ({ op, key: ((index + 1) * (2 * salt + 1) * 7_919) % 10_007 }));
  return keyed.toSorted((left, right) => left.key - right.key).map(({ op }) => op);
}

/** Two parts of a shuffle, overlapping, each as one call: what two peers bring. */
function inTwoParts({ mesh, ops }: History, salt: number): TrustSet {
  const order = shuffled(ops, salt);
  const cut = salt % (order.length + 1);
  const first = addOps(emptyTrustSet(mesh), order.slice(0, cut + 1), 'beta').set;
  return addOps(first, order.slice(cut), 'gamma').set;
}

/** craig adds dana, then mallory. */
const twoJuniors: readonly Step[] = [1, 3].map((name) => ({
  kind: 'signer-add',
  by: 0,
  byAnybody: false,
  prev: 'heads',
  name,
  key: 0,
  say: 0,
  fault: 'none',
}));

/** The same with what one of its signers, revoked or not, appends anywhere in the past. */
function withAttack(history: History, plan: readonly Step[], pick: number): History {
  const { signers } = charterOf(history.set);
  const known = people.filter(({ name, key }) => signers.get(name)?.key.text === key.text);
  const attacker = known[pick % known.length];
  if (attacker === undefined) return history;
  const attack = playAttack(history, attacker, plan);
  return { ...history, ops: [...history.ops, ...attack], set: addOps(history.set, attack).set };
}

/** Of dana or mallory, by herself or by whoever is there. */
function revocation(pick: number): Step {
  const name = pick % 2 === 0 ? 1 : 3;
  return {
    kind: 'signer-revoke',
    by: pick % 3 === 0 ? name : 0,
    byAnybody: true,
    prev: 'heads',
    name,
    key: 0,
    say: pick % 6,
    fault: 'none',
  };
}

function liveApprovers(charter: Charter): readonly { signer: string; key: string }[] {
  return [...charter.signers.values()]
    .filter(({ scopes, status }) => scopes.includes('charter') && status === 'active')
    .map(({ name, key }) => ({ signer: name, key: key.fingerprint }));
}

/** Everything that the charter says, as one text. */
function charterText(set: TrustSet): string {
  return JSON.stringify(charterOf(set), (_, value: unknown) => (value instanceof Map ? [...value] : value));
}

function isEarlierOrSelf(set: TrustSet, left: Principal, right: Principal): boolean {
  const ranks = evaluationOf(set)?.standing.ranks;
  const [first, second] = [ranks?.get(left), ranks?.get(right)];
  return left === right || (first !== undefined && second !== undefined && compareRanks(first, second) < 0);
}

/** True iff the signer of the first name ranks before that of the second. */
function ranksBefore(set: TrustSet, left: string, right: string): boolean {
  const { signers } = charterOf(set);
  const [first, second] = [left, right].map((signer) =>
    principalOf({ signer, key: signers.get(signer)?.key.fingerprint ?? '' }),
  );
  return left !== right && isEarlierOrSelf(set, first ?? '', second ?? '');
}

describe('trust set: random hostile histories', () => {
  test(
    'any order, any split, with repeats = the naive charter; every live signer can act, and there is one',
    () => {
      const seen = { valid: 0, void: 0, alarms: new Set<string>(), dropped: new Set<string>() };
      const reached = { delegations: 0, purges: 0, revoked: 0, hostsRevoked: 0, pins: 0, forked: 0 };
      fc.assert(
        fc.property(steps, steps, fc.nat(5_000), (plan, attackPlan, salt) => {
          const honest = playSteps(salt % 3 === 0 ? plan : [...twoJuniors, ...plan, revocation(salt)]);
          const history = salt % 2 === 0 ? honest : withAttack(honest, attackPlan.slice(0, 5), salt);
          const expected = inOracleTerms(history.set);
          expect(expected).toEqual(
            oracleCharter(
              history.mesh,
              history.ops.map(({ text }) => text),
            ),
          );
          const other = inTwoParts(history, salt);
          expect(inOracleTerms(other)).toEqual(expected);
          const again = addOps(other, history.ops);
          expect(again.added).toEqual([]);
          expect(inOracleTerms(again.set)).toEqual(expected);
          expect(charterText(again.set)).toBe(charterText(history.set));
          const charter = charterOf(history.set);
          const live = liveApprovers(charter);
          for (const { name, key, revocations } of charter.signers.values()) {
            const own = principalOf({ signer: name, key: key.fingerprint });
            for (const { by } of revocations) expect(isEarlierOrSelf(history.set, principalOf(by), own)).toBe(true);
          }
          for (const by of live) {
            const place = { mesh: history.mesh, by, prev: maximalOps(history.set) };
            const fields = { name: 'new-class', description: '', revise: 'mesh', claims: 'fact' } as const;
            expect(previewOp(history.set, must(classAddBody({ ...place, ...fields }, stampOf(99))))).toEqual({
              ok: true,
              value: true,
            });
          }
          seen.valid += expected.valid.length;
          seen.void += expected.valid.length - expected.counted.length;
          for (const alarm of expected.alarms) seen.alarms.add(alarm.replace(/:.*/, ''));
          for (const { code } of again.dropped) seen.dropped.add(code);
          reached.delegations += charter.delegations.length;
          reached.purges += charter.purges.size;
          reached.revoked += [...charter.signers.values()].filter(({ status }) => status === 'revoked').length;
          reached.hostsRevoked += [...charter.hosts.values()].filter(({ status }) => status === 'revoked').length;
          reached.pins += [...charter.hosts.values()].filter(({ pins }) => pins.length > 1).length;
          reached.forked += [...charter.hosts.values()].filter(({ status }) => status === 'forked').length;
        }),
        { seed, numRuns },
      );
      // The histories must reach what they are for; a short search cannot.
      if (numRuns < 1_500) return;
      expect(seen.valid).toBeGreaterThan(numRuns * 3);
      expect(seen.void).toBeGreaterThan(numRuns / 20);
      expect(Object.entries(reached).filter(([, count]) => count < numRuns / 100)).toEqual([]);
      expect([...seen.alarms].toSorted(byText)).toEqual([
        'CHARTER_FORK audience',
        'CHARTER_FORK class',
        'CHARTER_FORK host',
        'CHARTER_FORK policy',
        'CHARTER_FORK signer',
        'KEY_REUSED host',
        'KEY_REUSED signer',
        'LOG_FORKED host',
        'OP_UNSUPPORTED class-drop',
        'OP_UNSUPPORTED host-rename',
      ]);
      expect([...seen.dropped].toSorted(byText)).toEqual([
        'BAD_SIGNATURE',
        'FOREIGN_MESH',
        'KEY_NOT_CURRENT',
        'KEY_USED',
        'LAST_SIGNER',
        'NAME_TAKEN',
        'NOT_A_SIGNER',
        'NO_SUCH_ITEM',
        'OUTRANKED',
        'OUT_OF_SCOPE',
        'PIN_BELOW',
        'SCOPE_NOT_HELD',
      ]);
    },
    timeout,
  );

  test(
    'an approver and its puppets, anywhere in the past, never change a signer who ranks before it, and grant only what they have',
    () => {
      let attacks = 0;
      fc.assert(
        fc.property(steps, steps, fc.nat(20), (plan, attackPlan, pick) => {
          const history = playSteps([...twoJuniors, ...plan]);
          const before = charterOf(history.set);
          const juniors = people.filter(({ name, key }) => {
            const signer = before.signers.get(name);
            return signer !== undefined && signer.rank > 0 && signer.key.text === key.text;
          });
          const attacker = juniors[pick % juniors.length];
          if (attacker === undefined) return;
          const attack = playAttack(history, attacker, attackPlan.slice(0, 6));
          const { set, added } = addOps(history.set, attack);
          const after = charterOf(set);
          attacks += added.length;
          for (const [name, signer] of before.signers) {
            if (ranksBefore(history.set, name, attacker.name)) expect(after.signers.get(name)).toEqual(signer);
          }
          const scopes = before.signers.get(attacker.name)?.scopes ?? [];
          const puppet = after.signers.get('puppet')?.scopes ?? [];
          expect(puppet.filter((scope) => !mayGrant(scopes, scope))).toEqual([]);
        }),
        { seed, numRuns: attackRuns },
      );
      expect(attacks).toBeGreaterThan(attackRuns / 2);
    },
    timeout,
  );

  test(
    'whoever was revoked by somebody senior changes nothing any more; who revoked itself gains nothing',
    () => {
      const seen = { bySenior: 0, byItself: 0, attacks: 0 };
      fc.assert(
        fc.property(steps, steps, fc.nat(20), (plan, attackPlan, pick) => {
          const history = playSteps([...twoJuniors, ...plan, revocation(pick)]);
          const before = charterOf(history.set);
          const revoked = people.filter(({ name, key }) => {
            const signer = before.signers.get(name);
            return signer?.status === 'revoked' && signer.key.text === key.text && signer.rank > 0;
          });
          const attacker = revoked[pick % revoked.length];
          if (attacker === undefined) return;
          const { revocations } = before.signers.get(attacker.name) ?? { revocations: [] };
          const isBySenior = revocations.some(({ by }) => by.signer !== attacker.name);
          const attack = playAttack(history, attacker, attackPlan.slice(0, 6)).filter(
            (op) => !knows(history.set, op, revocations),
          );
          const { set, added } = addOps(history.set, attack);
          seen.attacks += added.length;
          const after = charterOf(set);
          expect(after.signers.has('puppet')).toBe(false);
          expect(after.signers.get(attacker.name)?.status ?? 'gone').not.toBe('active');
          if (isBySenior) {
            seen.bySenior += 1;
            expect(charterText(set)).toBe(charterText(history.set));
          } else {
            seen.byItself += 1;
            for (const name of after.hosts.keys())
              expect(before.hosts.has(name) || !hasOp(attack, after, name)).toBe(true);
          }
        }),
        { seed, numRuns: attackRuns },
      );
      expect(seen.bySenior).toBeGreaterThan(attackRuns / 20);
      expect(seen.byItself).toBeGreaterThan(attackRuns / 50);
      expect(seen.attacks).toBeGreaterThan(attackRuns / 20);
    },
    timeout,
  );

  test(
    'whoever holds host keys and no signer key can cut logs, and change nothing else',
    () => {
      let proofs = 0;
      fc.assert(
        fc.property(
          steps,
          fc.array(fc.record({ pick: fc.nat(20), seq: fc.nat(12) }), { maxLength: 6 }),
          (plan, forks) => {
            const history = playSteps(plan);
            const attack = forks.flatMap(({ pick, seq }, index) =>
              playForkProof(history, { pick, seq: seq + 1, salt: 2_000 + index }),
            );
            const thief = { name: 'alpha', key: testKey(10) };
            const place = { mesh: history.mesh, by: thief, prev: maximalOps(history.set), nonce: 3_000 };
            const junk = [signerAdd(place, testSigner('evil', 60), ['*']), classAdd(place, 'note', { claims: 'rule' })];
            const { set } = addOps(history.set, [...attack, ...junk]);
            proofs += attack.length;
            const [before, after] = [charterOf(history.set), charterOf(set)];
            const cut = [...after.hosts.values()].filter(({ fork }) => fork !== null);
            for (const { name, fork, end } of cut) {
              expect(end).toBeLessThan(fork ?? 0);
              const old = before.hosts.get(name);
              expect(old?.pins.every(({ seq }) => seq < (fork ?? 0))).toBe(true);
              expect(after.hosts.get(name)).toEqual({ ...old, status: 'forked', fork, end });
            }
            const rest = (charter: Charter): unknown => ({
              ...charter,
              hosts: [...charter.hosts.values()].filter(({ name }) => !cut.some((host) => host.name === name)),
              conflicts: charter.conflicts.filter(({ kind }) => kind !== 'LOG_FORKED'),
            });
            expect(rest(after)).toEqual(rest(before));
          },
        ),
        { seed, numRuns: attackRuns },
      );
      expect(proofs).toBeGreaterThan(attackRuns);
    },
    timeout,
  );
});

/** True iff the op knows one of these revocations: then it is no op of the past. */
function knows(set: TrustSet, op: TrustOp, revocations: readonly { readonly op: string }[]): boolean {
  const ids = new Set(revocations.map((one) => one.op));
  const queue = [...op.body.prev];
  for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
    if (ids.has(id)) return true;
    queue.push(...(set.held.get(id)?.op.body.prev ?? []));
  }
  return false;
}

/** True iff one of these ops is what a host of the charter comes from. */
function hasOp(ops: readonly TrustOp[], charter: Charter, host: string): boolean {
  return ops.some(({ id }) => id === charter.hosts.get(host)?.op);
}
