/** MCP tools that read. */
import { z } from 'zod';
import { foundEventsMax } from '../../core/limits.ts';
import { describeParks } from '../commands/parks.ts';
import { describeFound, remarksOn, scopeOfSearch } from '../commands/search.ts';
import { describeStatus } from '../commands/status.ts';
import { describeReasons } from '../commands/why.ts';
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
    describeRecall(await recallHere(cli, about, given({ scope })), Date.now()),
});

const where = {
  scope: z.string().optional().describe('project; default: that of the working folder; "*": what holds everywhere'),
  allScopes: z.boolean().optional().describe('look in every project'),
  limit: z.int().min(1).max(foundEventsMax).optional().describe('how many at most'),
};

const search = defineTool({
  name: 'search',
  title: 'Find subjects by words',
  description:
    'Claims and lessons that have these words, best first; an old wording leads to what replaced it. Then recall the subject: what is parked, stale or held is only named here.',
  input: { words: z.string().describe('plain words; nothing in them is syntax'), ...where },
  effect: 'read',
  run: async ({ cli }, { words, limit, ...options }) => {
    const scope = await scopeOfSearch(given(options));
    const found = await cli.call('search', { words, ...given({ scope, limit }) });
    return [...found.claims.flatMap((one) => describeFound(one, Date.now())), ...remarksOn(found)];
  },
});

const why = defineTool({
  name: 'why',
  title: 'Reasons on a topic',
  description:
    'Decisions, rejected alternatives, open questions and proposals on a topic, oldest first. Reasons, not truth: what is true now says recall.',
  input: { topic: z.string().describe('a subject, or words'), ...where },
  effect: 'read',
  run: async ({ cli }, { topic, limit, ...options }) => {
    const scope = await scopeOfSearch(given(options));
    const { claims, more } = await cli.call('why', { topic, ...given({ scope, limit }) });
    if (claims.length === 0) return ['nothing was decided, asked or proposed on it; what is claimed: search'];
    return [...describeReasons(claims, Date.now()), ...(more > 0 ? [`${more} older ones: limit`] : [])];
  },
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

/** Without the members that are undefined: an absent argument is no argument. */
function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

export const readTools: readonly AnyTool[] = [recall, search, why, parks, status];
