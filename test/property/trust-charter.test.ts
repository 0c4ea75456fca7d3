import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import { classAddBody } from '../../src/core/trust/build.ts';
import type { TrustOp } from '../../src/core/trust/op.ts';
import { previewOp } from '../../src/core/trust/preview.ts';
import { mayGrant } from '../../src/core/trust/scope.ts';
import { addOps, emptyTrustSet, maximalOps, trustHash, type TrustSet } from '../../src/core/trust/set.ts';
import { must, stampOf } from '../lib/trust-ops.ts';
import { people, playAttack, playSteps, steps, type History, type Step } from '../lib/trust-histories.ts';
import { oracleCharter, type OracleCharter } from '../oracle/charter.ts';

const seed = Number(process.env['TRUST_SEED'] ?? 20_260_727);
/** TRUST_RUNS and TRUST_SEED make another search; the defaults are what every run of the suite does. */
const numRuns = Number(process.env['TRUST_RUNS'] ?? 5_000);
/** Two histories for one in the first test: fewer are enough. */
const attackRuns = Math.ceil(numRuns * 0.4);
const timeout = 60 * numRuns + 60_000;

/** The real charter in the terms of the oracle. */
function inOracleTerms(set: TrustSet): OracleCharter {
  const charter = charterOf(set);
  const items: Record<string, unknown> = {};
  for (const { name, sign, ssh, address } of charter.hosts.values()) {
    items[`host:${name}`] = { sign: sign.text, ssh: ssh.text, address };
  }
  for (const { name, key, scopes } of charter.signers.values()) items[`signer:${name}`] = { key: key.text, scopes };
  for (const [name, { revise, claims }] of charter.classes) {
    items[`class:${name}`] = { revise: revise ?? undefined, claims: claims ?? undefined };
  }
  for (const [name, { includes }] of charter.audiences) items[`audience:${name}`] = { includes };
  for (const [key, { value }] of charter.policy) items[`policy:${key}`] = { value };
  const alarms = charter.conflicts.map(({ kind, item }) => `${kind} ${item}`).toSorted(byText);
  return { valid: [...set.held.keys()].toSorted(byText), items, alarms, trustHash: trustHash(set) };
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

function liveApprovers(charter: Charter): readonly { signer: string; key: string }[] {
  return [...charter.signers.values()]
    .filter(({ scopes }) => scopes.includes('charter'))
    .map(({ name, key }) => ({ signer: name, key: key.fingerprint }));
}

describe('trust set: random hostile histories', () => {
  test(
    'any order, any split, with repeats = the naive charter; every live signer can act',
    () => {
      const seen = { valid: 0, alarms: new Set<string>(), dropped: new Set<string>() };
      fc.assert(
        fc.property(steps, fc.nat(5_000), (plan, salt) => {
          const history = playSteps(plan);
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
          for (const by of liveApprovers(charterOf(history.set))) {
            const place = { mesh: history.mesh, by, prev: maximalOps(history.set) };
            const fields = { name: 'new-class', description: '', revise: 'mesh', claims: 'fact' } as const;
            expect(previewOp(history.set, must(classAddBody({ ...place, ...fields }, stampOf(99))))).toEqual({
              ok: true,
              value: true,
            });
          }
          seen.valid += expected.valid.length;
          for (const alarm of expected.alarms) seen.alarms.add(alarm.replace(/:.*/, ''));
          for (const { code } of again.dropped) seen.dropped.add(code);
        }),
        { seed, numRuns },
      );
      // The histories must reach what they are for.
      expect(seen.valid).toBeGreaterThan(numRuns * 3);
      expect([...seen.alarms].toSorted(byText)).toEqual([
        'CHARTER_FORK class',
        'CHARTER_FORK host',
        'CHARTER_FORK signer',
        'KEY_REUSED host',
        'KEY_REUSED signer',
        'OP_UNSUPPORTED class-drop',
        'OP_UNSUPPORTED host-rename',
      ]);
      expect([...seen.dropped].toSorted(byText)).toEqual([
        'BAD_SIGNATURE',
        'FOREIGN_MESH',
        'NAME_TAKEN',
        'NOT_A_SIGNER',
        'OUT_OF_SCOPE',
        'SCOPE_NOT_HELD',
      ]);
    },
    timeout,
  );

  test(
    'an approver and its puppets, anywhere in the past, never change a signer that a senior added, and grant only what they have',
    () => {
      let attacks = 0;
      fc.assert(
        fc.property(steps, steps, fc.nat(20), (plan, attackPlan, pick) => {
          const history = playSteps([...twoJuniors, ...plan]);
          const before = charterOf(history.set);
          const juniors = people.filter(
            ({ name, key }) =>
              (before.signers.get(name)?.rank ?? 0) > 0 && before.signers.get(name)?.key.text === key.text,
          );
          const attacker = juniors[pick % juniors.length];
          const rank = attacker === undefined ? 0 : (before.signers.get(attacker.name)?.rank ?? 0);
          if (attacker === undefined) return;
          const attack = playAttack(history, attacker, attackPlan.slice(0, 6));
          const { set, added } = addOps(history.set, attack);
          const after = charterOf(set);
          attacks += added.length;
          for (const [name, signer] of before.signers) {
            // Added by somebody who ranks before the attacker: same key, same scopes, same op.
            if (signer.rank <= rank) expect(after.signers.get(name)).toEqual(signer);
          }
          const scopes = before.signers.get(attacker.name)?.scopes ?? [];
          const puppet = after.signers.get('puppet')?.scopes ?? [];
          expect(puppet.filter((scope) => !mayGrant(scopes, scope))).toEqual([]);
        }),
        { seed, numRuns: attackRuns },
      );
      expect(attacks).toBeGreaterThan(attackRuns);
    },
    timeout,
  );
});
