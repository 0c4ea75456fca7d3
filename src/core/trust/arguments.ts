/** T1.2: whether what an op says is valid, as its ancestors see it. Source: docs/fold.md T1. */
import { ok, refuse, type Result } from '../../crypto/result.ts';
import { lastPin, signKeyOf } from './host-log.ts';
import { charterSigners, countedOps, itemState, type Evaluation } from './items.ts';
import type { DelegateBody, HostRekeyBody, SignerAddBody, SignerFields, SignerRevokeBody, TrustBody } from './op.ts';
import { principalOf } from './register.ts';
import { mayGrant } from './scope.ts';
import { compareRanks, nameOf } from './standing.ts';
import type { InvalidCode } from './validity.ts';

type Verdict = Result<true, InvalidCode>;

/** Verdict on the arguments of an op by this signer. Pure. */
export function judgeArguments(evaluation: Evaluation, body: TrustBody, signer: SignerFields): Verdict {
  switch (body.op) {
    case 'signer-add':
      return judgeSignerAdd(evaluation, body, signer);
    case 'host-add':
      return judgeName(evaluation, `host:${body.name}`);
    case 'host-rekey':
      return judgeRekey(evaluation, body);
    case 'host-revoke':
      return countedOps(evaluation, `host:${body.name}`).length > 0 ? ok(true) : noSuchItem(`host ${body.name}`);
    case 'signer-revoke':
      return judgeSignerRevoke(evaluation, body);
    case 'delegate':
      return judgeDelegate(evaluation, body, signer);
    default:
      return ok(true);
  }
}

function judgeSignerAdd(evaluation: Evaluation, body: SignerAddBody, signer: SignerFields): Verdict {
  const granted = judgeGrants(body.scopes, signer);
  return granted.ok ? judgeName(evaluation, `signer:${body.name}`) : granted;
}

function judgeGrants(wanted: readonly string[], signer: SignerFields): Verdict {
  const beyond = wanted.find((scope) => !mayGrant(signer.scopes, scope));
  return beyond === undefined ? ok(true) : refuse('SCOPE_NOT_HELD', `${signer.name} cannot grant ${beyond}`);
}

/**
 * A name is used once; the only second op about it is one that ends a fork. Adding a host again takes its pins away, so
 * that ends a fork only where there is no value to keep: elsewhere a rekey does it.
 */
function judgeName(evaluation: Evaluation, item: string): Verdict {
  if (countedOps(evaluation, item).length === 0) return ok(true);
  const { conflicts, chain } = itemState(evaluation, item);
  const isForked = conflicts.some(({ kind }) => kind === 'CHARTER_FORK');
  if (isForked && (chain.length === 0 || !item.startsWith('host:'))) return ok(true);
  return refuse('NAME_TAKEN', `${item} exists already, and names are used once`);
}

function judgeRekey(evaluation: Evaluation, { name, sign, pin }: HostRekeyBody): Verdict {
  const item = `host:${name}`;
  const { chain, revokes } = itemState(evaluation, item);
  if (chain.length === 0 || revokes.length > 0) return noSuchItem(`active host ${name}`);
  // Lines of a losing branch under the same key would prove a fork again behind the pin that settled it.
  if (countedOps(evaluation, item).some((held) => signKeyOf(held)?.text === sign)) {
    return refuse('KEY_USED', `${name} has had this sign key before`);
  }
  const last = lastPin(chain);
  const isBelow = last !== null && (pin.seq < last.seq || (pin.seq === last.seq && pin.link !== last.link));
  return isBelow ? refuse('PIN_BELOW', `the log of ${name} is settled up to seq ${last.seq}`) : ok(true);
}

function judgeSignerRevoke(evaluation: Evaluation, { by, name }: SignerRevokeBody): Verdict {
  const { ranks } = evaluation.standing;
  const targets = [...ranks].filter(([principal]) => nameOf(principal) === name);
  if (targets.length === 0) return noSuchItem(`signer ${name}`);
  const own = ranks.get(principalOf(by));
  const isSenior = own !== undefined && targets.some(([, rank]) => compareRanks(own, rank) < 0);
  if (by.signer !== name && !isSenior) return refuse('OUTRANKED', `${name} ranks before ${by.signer}`);
  for (const other of charterSigners(evaluation)) if (other !== name) return ok(true);
  return refuse('LAST_SIGNER', `without ${name} nobody could change the charter`);
}

function judgeDelegate(evaluation: Evaluation, body: DelegateBody, signer: SignerFields): Verdict {
  const { holder, revokes } = itemState(evaluation, `host:${body.host}`);
  if (holder === null || revokes.length > 0) return noSuchItem(`active host ${body.host}`);
  if (signKeyOf(holder)?.text !== body.key) return refuse('KEY_NOT_CURRENT', `not the sign key of ${body.host}`);
  return judgeGrants(body.subjects, signer);
}

function noSuchItem(what: string): Verdict {
  return refuse('NO_SUCH_ITEM', `there is no ${what}`);
}
