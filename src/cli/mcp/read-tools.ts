/** MCP tools that read. */
import { z } from 'zod';
import { describeParks } from '../commands/parks.ts';
import { describeStatus } from '../commands/status.ts';
import { recallHere } from '../recall-here.ts';
import { describeRecall } from '../recall-text.ts';
import { defineTool, subject, type AnyTool } from './tool.ts';

const recall = defineTool({
  name: 'recall',
  title: 'What is believed about a subject',
  description:
    'What is believed about exactly this subject, with the home of the fact read now where it can be; or why nothing is served: UNRESOLVED (contradicting claims, use neither), STALE, UNDECIDED, SUPERSEDED, RETRACTED, QUARANTINED, NOT FOUND. COULD NOT CHECK means that the text is a copy.',
  input: {
    subject,
    scope: z.string().optional().describe('project; default: that of the working folder; "*": everywhere'),
  },
  effect: 'read',
  run: async ({ cli }, { subject: about, scope }) =>
    describeRecall(await recallHere(cli, about, scope === undefined ? {} : { scope }), Date.now()),
});

const parks = defineTool({
  name: 'parks',
  title: 'Contradictions',
  description:
    'Every subject whose live claims contradict each other, with all sides. Use none of the sides as a fact.',
  input: {},
  effect: 'read',
  run: async ({ cli }) => describeParks((await cli.call('parks', {})).parks, Date.now()),
});

const status = defineTool({
  name: 'status',
  title: 'State of the memory',
  description: 'Whether memd runs, how far its peers are, how much is parked, stale or held, and what is wrong.',
  input: {},
  effect: 'read',
  run: async ({ cli }) => describeStatus(await cli.call('status', {}), Date.now()),
});

export const readTools: readonly AnyTool[] = [recall, parks, status];
