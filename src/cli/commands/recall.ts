import { Command } from 'commander';
import type { ClaimJson, RecallJson, RecallStatus } from '../../daemon/api-types.ts';
import type { Cli } from '../context.ts';
import { ago, shortId } from '../output.ts';

const exitOf: Readonly<Record<RecallStatus, number>> = {
  served: 0,
  contested: 0,
  parked: 3,
  undecided: 3,
  stale: 4,
  quarantined: 6,
  held: 6,
  superseded: 7,
  retracted: 7,
  none: 7,
};

/** recall: one subject is answered or refused, never replaced by a similar one. */
export function makeCommand(cli: Cli): Command {
  return new Command('recall')
    .description('what is believed about a subject, or why nothing is')
    .argument('<subject>', 'class/entity')
    .option('--scope <S>', 'project scope; default: everywhere')
    .addHelpText(
      'after',
      `
Exit codes: 0 served, 3 unresolved or undecided, 4 stale, 6 quarantined or held, 7 superseded, retracted or not found
Example:
  memctl recall ssh-route/mini`,
    )
    .action(async (subject: string, options: { scope?: string }) => {
      const answer = await cli.call('recall', { subject, ...options });
      cli.output.result(answer, () => describeRecall(answer, Date.now()));
      process.exitCode = exitOf[answer.status];
    });
}

function describeRecall(answer: RecallJson, now: number): string[] {
  const { subject, claim, claims = [], replacedBy } = answer;
  const sides = claims.map((side) => `  ${claimLine(side, now)}`);
  const notes = answer.flags.length > 0 ? [`  flags: ${answer.flags.join(', ')}`] : [];
  switch (answer.status) {
    case 'served':
    case 'contested':
    case 'stale': {
      if (!claim) return [];
      const head = answer.status === 'served' ? [] : [`${answer.status.toUpperCase()}: ${subject}`];
      const text = answer.text === undefined ? [] : ['', answer.text];
      return [
        ...head,
        saying(claim),
        `  ${claimLine(claim, now)}`,
        ...homeLine(claim),
        ...corroborated(answer),
        ...notes,
        ...(answer.status === 'contested' ? ['  set aside:', ...sides] : []),
        ...text,
      ];
    }
    case 'parked':
      return [
        `UNRESOLVED: ${subject} has contradicting claims; none of them is served`,
        ...claims.map((side) => `  ${saying(side)}\n    ${claimLine(side, now)}`),
        `  way out: on the host that was wrong, memctl retract ${subject}; or ask the operator`,
      ];
    case 'undecided':
      return [
        `UNDECIDED: ${subject} has an open question`,
        ...claims.map((side) => `  ${saying(side)}\n    ${claimLine(side, now)}`),
      ];
    case 'superseded':
    case 'retracted':
      return [
        `${answer.status.toUpperCase()}: ${subject}`,
        ...sides,
        ...(replacedBy
          ? [`  replaced by ${shortId(replacedBy.id)} on ${replacedBy.subject}: ${saying(replacedBy)}`]
          : []),
      ];
    case 'quarantined':
      return [`QUARANTINED: ${subject} is known only from untrusted text`, ...sides];
    case 'held':
      return [`HELD: ${subject} has claims that are kept but not served`, ...sides, '  why: memctl show ID'];
    case 'none':
      return [`NOT FOUND: nothing is known about ${subject}`];
  }
}

/** What a claim says, in one line. */
export function saying(claim: ClaimJson): string {
  const value = claim.value === undefined ? [] : [claim.value];
  const said = [...value, ...(claim.content === undefined ? [] : [claim.content])].join(' · ');
  return `${claim.polarity === 'absent' ? 'NOT ' : ''}${oneLine(said)}`;
}

/** Who says it: id, level, host, session, claimed time, confidence. */
export function claimLine(claim: ClaimJson, now: number): string {
  const by = claim.signer === undefined ? claim.level : `signed by ${claim.signer}`;
  const parts = [
    shortId(claim.id),
    `${claim.host}:${claim.seq}`,
    by,
    oneLine(claim.session),
    ago(claim.at, now),
    claim.confidence,
  ];
  return [...parts, ...(claim.status === undefined ? [] : [claim.status])].join(' · ');
}

function homeLine(claim: ClaimJson): string[] {
  return claim.home === undefined
    ? []
    : [`  home: ${oneLine(claim.home)} (not read: the copy here may be older than its home)`];
}

function corroborated(answer: RecallJson): string[] {
  return answer.corroboration > 1 ? [`  ${answer.corroboration} hosts say so`] : [];
}

/** A claim is somebody's text: control and bidirectional characters never reach a terminal. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ');
}
