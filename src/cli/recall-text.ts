/** What recall answers, as a person reads it and as a script sees it in the exit code. */
import type { ClaimJson, RecallStatus } from '../daemon/api/api-types.ts';
import { claimLine, oneLine, saying } from './claim-text.ts';
import { ago, shortId } from './output.ts';
import type { HomeJson, RecalledJson } from './recall-home.ts';

export const exitOfRecall: Readonly<Record<RecallStatus, number>> = {
  served: 0,
  contested: 0,
  parked: 3,
  undecided: 3,
  stale: 4,
  quarantined: 6,
  held: 6,
  superseded: 7,
  retracted: 7,
  purged: 7,
  none: 7,
};

/** Lines of a home that a person is shown; `--json` and the home itself have the rest. */
const homeLinesMax = 40;

/** The answer in lines, and what is missing for it to be whole. Pure. */
export function describeRecall(answer: RecalledJson, now: number): string[] {
  const missing = (answer.incomplete ?? []).map((sentence) => `  NOT WHOLE HERE: ${oneLine(sentence)}`);
  return [...answerLines(answer, now), ...missing];
}

function answerLines(answer: RecalledJson, now: number): string[] {
  const { subject, claims = [] } = answer;
  const sides = claims.map((side) => `  ${claimLine(side, now)}`);
  const spoken = claims.flatMap((side) => [`  ${saying(side)}`, `    ${claimLine(side, now)}`]);
  switch (answer.status) {
    case 'served':
      return [...servedLines(answer, now), ...(sides.length > 0 ? ['  beside it:', ...sides] : [])];
    case 'contested':
      return [`CONTESTED: ${subject}`, ...servedLines(answer, now), '  set aside:', ...sides];
    case 'stale':
      return [`STALE: ${subject}: what it rests on has changed; read its source again`, ...servedLines(answer, now)];
    case 'parked':
      return [`UNRESOLVED: ${subject} ${whyParked(claims)}`, ...spoken, wayOut(claims, subject)];
    case 'undecided':
      return [
        `UNDECIDED: ${subject} has an open question`,
        ...spoken,
        ...(answer.claim === undefined ? [] : ['  what is claimed meanwhile:', ...servedLines(answer, now)]),
      ];
    case 'superseded':
    case 'retracted':
      return [`${answer.status.toUpperCase()}: ${subject}`, ...sides, ...replacement(answer, now)];
    case 'quarantined':
      return [`QUARANTINED: ${subject} is known only from untrusted text`, ...sides];
    case 'held':
      return [`HELD: ${subject} has claims that are kept but not served`, ...sides, '  why: memctl show ID'];
    case 'purged':
      return [`PURGED: ${subject}: what was claimed is gone for good`, ...sides, ...whyPurged(answer)];
    case 'none':
      return [notFound(answer), ...sides];
  }
}

/** What stands against it is no claim of this scope: a signer withdrew, purged or decided it, or it is one of another scope. */
function isOneSide(claims: readonly ClaimJson[]): boolean {
  return new Set(claims.map(({ polarity, value, content }) => JSON.stringify([polarity, value ?? content]))).size === 1;
}

function whyParked(claims: readonly ClaimJson[]): string {
  if (!isOneSide(claims)) return 'has contradicting claims; none of them is served';
  return 'is claimed and not served: a signer, or a claim of another scope, stands against it';
}

function wayOut(claims: readonly ClaimJson[], subject: string): string {
  const [one] = claims;
  const why = one !== undefined && isOneSide(claims) ? `memctl show ${shortId(one.id)} says what; ` : '';
  return `  way out: ${why}on the host that was wrong, memctl retract ${subject}; or ask the operator`;
}

function whyPurged({ purged = [] }: RecalledJson): string[] {
  return purged.map(
    ({ id, op, by, reason, at }) => `  ${shortId(id)}: ${reason}, purged by ${by} at ${at}, trust op ${op}`,
  );
}

/** Known elsewhere, or only talked about, is not the same as not known. */
function notFound({ subject, claims = [], elsewhere = [] }: RecalledJson): string {
  const [first] = elsewhere;
  if (first !== undefined) {
    return `NOT FOUND: ${subject} is known only in scope ${elsewhere.join(', ')}: memctl recall ${subject} --scope ${first}`;
  }
  if (claims.length === 0) return `NOT FOUND: nothing is known about ${subject}; memctl search WORDS finds subjects`;
  return `NOT FOUND: nothing is claimed about ${subject}; what else was said: memctl log ${subject}`;
}

/** The served claim, and beside it what its home says now. A claim whose home was not read is a copy, and says so. */
function servedLines(answer: RecalledJson, now: number): string[] {
  const { claim, home } = answer;
  if (claim === undefined) return [];
  const isCopy = home !== undefined && !home.fresh;
  return [
    ...(isCopy ? [homeFault(home, now)] : []),
    `${isCopy ? 'copy: ' : ''}${saying(claim)}`,
    `  ${claimLine(claim, now)}`,
    ...(answer.scope === '*' ? [] : [`  scope: ${answer.scope}`]),
    ...(home === undefined ? unreadHome(claim) : homeLines(home)),
    ...(answer.corroboration > 1 ? [`  ${answer.corroboration} hosts say so`] : []),
    ...(answer.flags.length > 0 ? [`  flags: ${answer.flags.join(', ')}`] : []),
    ...(answer.text === undefined ? [] : ['', answer.text]),
  ];
}

function homeFault({ checked, reason = '', last }: HomeJson, now: number): string {
  const word = checked ? 'HOME CHANGED' : 'COULD NOT CHECK';
  const who = last === undefined ? '' : `; last by host ${last.host}, ${ago(last.at, now)}`;
  return `${word} (${oneLine(reason)})${who}`;
}

function homeLines(home: HomeJson): string[] {
  const { ref, from, commit, text, notes = [] } = home;
  const where = from === undefined ? '' : `, read now: ${oneLine(from)}`;
  const at = commit === undefined ? '' : ` (commit ${commit})`;
  return [
    `  home: ${oneLine(ref)}${where}${at}`,
    ...notes.map((note) => `  NOTE: ${oneLine(note)}`),
    ...(text === undefined ? [] : quoted(text, home.cut === true)),
  ];
}

/** Text of a home behind a mark on every line, so that none of it looks like an answer of ours. */
function quoted(text: string, cut: boolean): string[] {
  const lines = text.trimEnd().split('\n');
  const more = lines.length > homeLinesMax || cut;
  return [
    ...lines.slice(0, homeLinesMax).map((line) => `  | ${oneLine(line)}`),
    ...(more ? ['  | … there is more: read it where it lies'] : []),
  ];
}

function unreadHome(claim: ClaimJson): string[] {
  return claim.home === undefined ? [] : [`  home: ${oneLine(claim.home)}`];
}

/** A tombstone names what stands in its place, and says it. */
function replacement({ replacedBy }: RecalledJson, now: number): string[] {
  if (replacedBy === undefined) return [];
  return [
    `  replaced by ${shortId(replacedBy.id)} on ${replacedBy.subject}: ${saying(replacedBy)}`,
    `    ${claimLine(replacedBy, now)}`,
    `  next: memctl recall ${replacedBy.subject}`,
  ];
}
