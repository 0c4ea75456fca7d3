/**
 * Attacks without any signer's key: every unsigned operation, on any hosts at once, delegated ones included but outside
 * of what was delegated; approvals that are junk, stolen from other events, of another mesh or namespace, out of scope, or
 * by a signer whose key was stolen after the revocation; bodies of others, and signed bodies appended again.
 */
import { eventId, type Body } from '../../src/core/event.ts';
import type { Carriage, CharterInput } from './fold-builders.ts';
import { hosts, pick, randomBody, subjects, type Random, type Step } from './fold-histories.ts';

/** 1 to 6 lines behind the history, in logs of one, two or all hosts. */
export function randomAuthorityAttack(
  random: Random,
  { charter, steps }: { readonly charter: CharterInput; readonly steps: readonly Step[] },
): readonly Step[] {
  const attackers = hosts.filter(() => random() < 0.5);
  const about = pick(random, subjects);
  const known = steps.map(({ body }) => body);
  const attack: Step[] = [];
  for (let left = 1 + Math.floor(random() * 6); left > 0; left -= 1) {
    const log = attackers.length === 0 ? pick(random, hosts) : pick(random, attackers);
    const again = random() < 0.3 ? pick(random, [...steps, ...attack]) : undefined;
    const body = again?.body ?? randomBody(random, authorOf(random, log), known, random() < 0.85 ? about : undefined);
    known.push(body);
    const carriage = again !== undefined && random() < 0.4 ? copied(again) : junk(random, { body, charter, steps });
    attack.push({ log, body, carriage });
  }
  return attack;
}

/** Mostly its own word; now and then it puts words into the mouth of another host. */
function authorOf(random: Random, log: string): string {
  return random() < 0.8 ? log : pick(random, hosts);
}

/** A line as it stood, with whatever approval it had: good there means good for this event alone. */
function copied({ body, carriage }: Step): Carriage {
  const { sign, sshsig = 'good', fault } = carriage;
  if (sign === undefined) return fault === undefined ? {} : { fault };
  return { sign, sshsig: sshsig === 'good' ? `for ${eventId(body)}` : sshsig };
}

/** Half of the lines come without any approval. The others have one that is worth nothing beside this body. */
function junk(
  random: Random,
  { body, charter, steps }: { readonly body: Body; readonly charter: CharterInput; readonly steps: readonly Step[] },
): Carriage {
  if (random() < 0.5) return {};
  const stolen = steps.find((step) => step.carriage.sign !== undefined && eventId(step.body) !== eventId(body));
  const worthless: Carriage[] = [
    { sign: 'craig', sshsig: 'bad' },
    { sign: 'craig', sshsig: 'in namespace memd-trust' },
    { sign: 'craig', sshsig: 'for another mesh' },
    { sign: 'mallory' },
    { fault: 'FIELD_VALUE' },
    { fault: 'UNKNOWN_VERSION' },
  ];
  if (stolen !== undefined) worthless.push(copied(stolen), copied(stolen));
  if (!body.subject.startsWith('note/two')) worthless.push({ sign: 'bob' });
  // The key of a revoked signer in the wrong hands: its approvals now stand behind every mark.
  for (const name of Object.keys(charter.revoked ?? {})) worthless.push({ sign: name }, { sign: name }, { sign: name });
  return pick(random, worthless);
}
