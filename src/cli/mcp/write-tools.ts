/** MCP tools that append one event each. None can sign, promote, purge or change the charter. */
import { z } from 'zod';
import type { BodyInput, Kind } from '../../core/event.ts';
import { describeAppended, proposedKind } from '../commands/claim.ts';
import { writingScope } from '../here.ts';
import { digestHere } from '../recall-here.ts';
import { defineTool, subject, type AnyTool, type Desk } from './tool.ts';

const ids = z.array(z.string()).optional();
const field = {
  content: z.string().describe('what it says, in a sentence or two; never a secret'),
  value: z
    .string()
    .optional()
    .describe('the comparable value: two different values of one subject contradict each other'),
  polarity: z.enum(['exists', 'absent']).optional().describe('absent: it is not so; default: exists'),
  home: z.string().describe('where the fact lives: file:PATH#anchor, https://…, git:REPO:PATH@REF'),
  basis: ids.describe('ids of events that this rests on'),
  supersedes: ids.describe('ids of claims that this replaces (prefixes of 8 digits or more)'),
  scope: z.string().optional().describe('project; default: what the .memd file says, else everywhere'),
  audience: z.string().optional().describe('who reads it; default: operator'),
  confidence: z
    .enum(['inferred', 'stated', 'verified'])
    .optional()
    .describe('verified: checked now; stated: a person said so; default: inferred'),
  lineage: z
    .enum(['trusted', 'untrusted'])
    .optional()
    .describe('untrusted: derived from a web page, mail, issue or other text of strangers'),
  hook: z.string().optional().describe('one line for the index'),
  text: z.string().optional().describe('longer text'),
  names: z.array(z.string()).optional().describe('other words that refer to it'),
};
const common = { scope: field.scope, audience: field.audience, lineage: field.lineage };
const claim = {
  basis: field.basis,
  supersedes: field.supersedes,
  confidence: field.confidence,
  hook: field.hook,
  text: field.text,
  names: field.names,
  ...common,
};

type Said = Partial<Omit<BodyInput, 'kind' | 'session'>> & { readonly subject: string };

/** Appends one event of the process's session, and says what that did. */
async function append({ cli, session }: Desk, kind: Kind, said: Record<string, unknown>): Promise<readonly string[]> {
  const present = Object.entries(said).filter(([, value]) => value !== undefined);
  const { scope: named, ...fields } = Object.fromEntries(present) as Said;
  const scope = await writingScope(named);
  const event: BodyInput = { kind, ...fields, ...(scope === undefined ? {} : { scope }) };
  const { results } = await cli.call('append', { events: [event], session });
  return results.flatMap((result) => describeAppended(event, result));
}

const assert = defineTool({
  name: 'assert',
  title: 'Claim a fact',
  description:
    'Claim a fact about the world, with a pointer to its home. Needs content or value. recall the subject first: a claim that contradicts another parks both.',
  input: {
    subject,
    content: field.content.optional(),
    value: field.value,
    polarity: field.polarity,
    home: field.home,
    ...claim,
  },
  effect: 'add',
  run: (desk, said) => append(desk, 'assert', said),
});

const lesson = defineTool({
  name: 'lesson',
  title: 'Record a rule',
  description: 'Record a rule of behaviour, worth to be read by every session from now on.',
  input: { subject, content: field.content, home: field.home.optional(), ...claim },
  effect: 'add',
  run: (desk, said) => append(desk, 'lesson', said),
});

const decide = defineTool({
  name: 'decide',
  title: 'Record a decision',
  description: 'Record a choice, why it was made, and what was rejected. It is rationale, never served as truth.',
  input: {
    subject,
    content: field.content,
    home: field.home.optional(),
    basis: field.basis,
    supersedes: field.supersedes,
    text: field.text,
    ...common,
  },
  effect: 'add',
  run: (desk, said) => append(desk, 'decision', said),
});

const question = defineTool({
  name: 'question',
  title: 'Open a question',
  description: 'Mark a subject as undecided until the question is answered or superseded.',
  input: { subject, content: field.content, supersedes: field.supersedes, ...common },
  effect: 'add',
  run: (desk, said) => append(desk, 'question', said),
});

const observe = defineTool({
  name: 'observe',
  title: 'Observe a home',
  description:
    'Record what a file or section looks like from this host now (its digest, never its text), so that claims can rest on it (basis) and go stale when it changes. A home that is gone is observed as missing.',
  input: { subject, home: field.home, scope: field.scope, audience: field.audience },
  effect: 'add',
  run: async (desk, said) => {
    const digest = await digestHere(desk.cli, said.home, (await writingScope(said.scope)) ?? '*');
    return [...(await append(desk, 'observe', { ...said, digest })), `  ${said.home}: ${digest}`];
  },
});

const propose = defineTool({
  name: 'propose',
  title: 'Suggest a claim',
  description: 'Suggest a claim for a person to take up. It is never served and has no effect by itself.',
  input: {
    subject,
    as: z.enum(['assert', 'lesson']).optional().describe('default: lesson for class lesson, else assert'),
    content: field.content.optional(),
    value: field.value,
    polarity: field.polarity,
    home: field.home.optional(),
    ...claim,
  },
  effect: 'add',
  run: (desk, { as, ...said }) => append(desk, 'propose', { ...said, proposes: as ?? proposedKind(said.subject) }),
});

const retract = defineTool({
  name: 'retract',
  title: 'Withdraw claims',
  description:
    "Withdraw claims of this host that were wrong; nothing is served in their place. Without supersedes: this host's own live claims on the subject.",
  input: { subject, content: field.content.optional(), supersedes: field.supersedes, ...common },
  effect: 'withdraw',
  run: (desk, said) => append(desk, 'retract', said),
});

export const writeTools: readonly AnyTool[] = [assert, lesson, decide, question, observe, propose, retract];
