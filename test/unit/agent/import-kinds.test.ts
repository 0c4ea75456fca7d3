import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readImport } from '../../../src/agent/import/read-import.ts';
import type { ImportPlan, ImportRemark } from '../../../src/agent/import/types.ts';
import { runInit } from '../../../src/cli/commands/init.ts';
import type { ClaimJson, ImportedJson } from '../../../src/daemon/api/api-types.ts';
import { openEngine } from '../../../src/daemon/engine.ts';
import { handleRequest } from '../../../src/daemon/api/handlers.ts';
import { withOutsideVectors } from '../../lib/outside-vectors.ts';
import { temporaryFolder } from '../../lib/temporary.ts';

const fixtures = join(import.meta.dirname, '../../fixtures');
const said = (remarks: readonly ImportRemark[]): string[] => remarks.map(({ what, why }) => `${what}: ${why}`);

interface Host {
  readonly run: (plan: ImportPlan) => Promise<ImportedJson>;
  readonly claims: () => Promise<readonly ClaimJson[]>;
}

/** A mesh of one, in a temporary home. */
async function host(): Promise<Host> {
  const folder = temporaryFolder();
  process.env['XDG_CONFIG_HOME'] = join(folder, 'config');
  await runInit(join(folder, 'home'), { host: 'alpha' });
  const engine = await openEngine({ home: join(folder, 'home'), daemon: false });
  onTestFinished(() => engine.close());
  const call = <T>(method: string, params: unknown): Promise<T> =>
    handleRequest(engine, method, params, () => undefined) as Promise<T>;
  return {
    run: ({ kind, events, skipped }) => call('import', { kind, events, skipped }),
    claims: async () => (await call<{ claims: ClaimJson[] }>('log', {})).claims,
  };
}

describe('import of AGENTS.md', () => {
  test('every rule in a list becomes a lesson; headings, the item above and the reason are kept', async () => {
    const { kind, events } = await readImport(join(fixtures, 'agents-md/AGENTS.md'));
    expect(kind).toBe('agents-md');
    expect(events.map(({ subject, content }) => [subject, content])).toEqual([
      ['lesson/clamp-every-sheet-before-the-first-cut', 'Clamp every sheet before the first cut.'],
      ['lesson/measure-twice-also-on-the-second-sheet', 'Measure twice, also on the second sheet.'],
      ['lesson/never-reach-over-a-running-blade', 'Never reach over a running blade.'],
      ['lesson/use-water-based-paint-only', 'Use water based paint only.'],
      ['lesson/open-both-windows', 'Open both windows.'],
      ['lesson/clamp-every-sheet-before-the-first-cut-2', 'Clamp every sheet before the first cut'],
    ]);
    expect(events[0]).toMatchObject({
      home: 'file:AGENTS.md#cutting',
      text: 'Reason: loose sheets bind the blade.\n\nFrom AGENTS.md › Workshop › Cutting',
    });
    expect(events[3]?.text).toBe('From AGENTS.md › Workshop › Paint › Indoors:');
  });

  test('tables, comments, code, tasks and running text are named and are no rules', async () => {
    const { skipped } = await readImport(join(fixtures, 'agents-md'));
    expect(said(skipped)).toEqual([
      'AGENTS.md lines 3-4: text, not a rule in a list',
      'AGENTS.md line 11: a task, not a rule',
      'AGENTS.md line 18: the same rule stands above',
      'AGENTS.md lines 21-23: a table, not a rule in a list',
      'AGENTS.md lines 25-27: code, not a rule in a list',
      'AGENTS.md lines 29-31: a comment, not a rule in a list',
      'AGENTS.md lines 32-34: code, not a rule in a list',
    ]);
  });

  test('a rule in another script has a subject too, and no long word of a rule comes into its subject', async () => {
    const file = join(temporaryFolder(), 'AGENTS.md');
    writeFileSync(file, '- Проверяй дважды.\n- Use the token abcdefghijklmnop0123 for it.\n');
    expect((await readImport(file)).events.map(({ subject }) => subject)).toEqual([
      expect.stringMatching(/^lesson\/rule-[0-9a-f]{8}$/),
      'lesson/use-the-token-for-it',
    ]);
  });

  test('CLAUDE.md beside it is read too, an empty one is named', async () => {
    const folder = temporaryFolder();
    cpSync(join(fixtures, 'agents-md'), folder, { recursive: true });
    writeFileSync(join(folder, 'CLAUDE.md'), '\n');
    expect(said((await readImport(folder)).skipped)[0]).toBe('CLAUDE.md: the file is empty');
    writeFileSync(join(folder, 'CLAUDE.md'), '- Sweep the floor.\n');
    expect((await readImport(folder)).events.at(-1)).toMatchObject({
      subject: 'lesson/sweep-the-floor',
      home: 'file:CLAUDE.md',
      text: 'From CLAUDE.md',
    });
  });
});

describe('import of the graph of the MCP memory server', () => {
  test('an entity is one claim with all that was remarked on it, damage is named', async () => {
    const { kind, events, skipped, noted } = await readImport(join(fixtures, 'mcp-memory/memory.jsonl'));
    expect(kind).toBe('mcp-memory');
    expect(events.map(({ subject, content, names }) => [subject, content, names])).toEqual([
      ['note/kiln', 'Kiln (tool): needs 40 A; was serviced in May; stands in shed; the door sticks', ['Kiln']],
      ['note/shed', 'shed (place)', ['shed']],
      ['note/lathe', 'lathe: stands in shed', ['lathe']],
    ]);
    expect(said(skipped)).toEqual([
      'memory.jsonl line 8: its observations are no list of texts',
      'memory.jsonl line 9: neither an entity nor a relation',
      'memory.jsonl line 10: not JSON',
      'memory.jsonl line 6: it would be note/kiln, which Kiln already is: rename one of them',
      'memory.jsonl line 7: its name has no letter or digit to make a subject of',
    ]);
    expect(said(noted)).toEqual([
      'memory.jsonl line 4: no line before it has the entity that it starts from',
      'memory.jsonl line 5: memory.jsonl line 1 has the same entity: put together',
    ]);
  });

  test('an entity with more than fits into content keeps all of it in the text', async () => {
    const file = join(temporaryFolder(), 'memory.jsonl');
    const observations = Array.from({ length: 300 }, (_, index) => `observation number ${index} of many`);
    writeFileSync(file, JSON.stringify({ type: 'entity', name: 'big', entityType: 'thing', observations }));
    const [event] = (await readImport(file)).events;
    expect(event?.content).toBe('big (thing): 300 remarks, see the text');
    expect(event?.text?.split('\n')).toHaveLength(300);
  });
});

describe('import of the logs of memory-mesh', () => {
  test('kinds, lineage, confidence and homes are mapped; time and host stand in the content', async () => {
    const { kind, events, skipped, noted } = await readImport(join(fixtures, 'memory-mesh'));
    expect(kind).toBe('memory-mesh');
    expect(
      events.map((event) => `${event.kind} ${event.subject} ${event.lineage ?? ''}${event.confidence ?? ''}`),
    ).toEqual([
      'lesson lesson/close-gates ',
      'lesson lesson/close-gates ',
      'assert endpoint/pump verified',
      'assert endpoint/pump stated',
      'lesson lesson/page untrusted',
      'propose endpoint/pump ',
      'assert goat/billy untrusted',
      'retract lesson/page ',
    ]);
    expect(events[3]).toMatchObject({
      value: 'the pump listens on 9090',
      content: 'the pump listens on 9090 (2026-05-03T08:00:00Z, host mill, session s2)',
      home: 'file:WATER.md#pump',
      supersedes: [expect.stringMatching(/^import:[0-9a-f]{64}$/)],
    });
    expect(said(skipped)).toEqual([
      'events/barn.ndjson line 5: not JSON',
      'events/barn.ndjson line 4: a pin: here it has effect only when a signer approves it',
      'events/mill.ndjson line 7: kind dance has no counterpart here',
    ]);
    expect(said(noted).toSorted()).toEqual([
      'events/barn.ndjson line 2: its signature was over another format and is not carried over',
      'events/barn.ndjson line 3: it has no home: its log stands in',
      'events/mill.ndjson line 2: the same lesson stands before, host mill says it too',
      'events/mill.ndjson line 5: its lineage is an unknown word: taken as untrusted',
      'events/mill.ndjson line 6: it replaces ffffffffffffffff, which was not imported',
    ]);
  });

  test('what replaced what there, replaces it here, also where the newer line comes first', async () => {
    const { run, claims } = await host();
    const plan = await readImport(join(fixtures, 'memory-mesh'));
    expect(await run(plan)).toMatchObject({
      new: 7,
      unchanged: 0,
      skipped: expect.arrayContaining([{ what: 'goat/billy', why: 'there is no class goat in this mesh' }]),
    });
    const states = (await claims()).map(
      ({ kind, subject, content, status }) => `${kind} ${subject} ${content?.split(' (')[0] ?? ''} ${status}`,
    );
    expect(states.toSorted()).toEqual([
      'assert endpoint/pump the pump listens on 8080 superseded',
      'assert endpoint/pump the pump listens on 9090 served',
      'lesson lesson/close-gates Close gates. superseded',
      'lesson lesson/close-gates Close the gate. served',
      expect.stringMatching(/^lesson lesson\/page .*(?:quarantined|retracted)$/),
      'propose endpoint/pump the pump moved recorded',
      expect.stringMatching(/^retract lesson\/page was wrong/),
    ]);
    expect(await run(plan)).toMatchObject({ new: 0, unchanged: 7 });
  });
});

describe('every kind', () => {
  test.each(['agents-md', 'mcp-memory', 'memory-mesh', 'claude-memory'])(
    '%s: the second run changes nothing',
    async (kind) => {
      const { run, claims } = await host();
      const plan = await readImport(join(fixtures, kind));
      expect(plan.kind).toBe(kind);
      const first = await run(plan);
      const standing = await claims();
      expect(new Set(standing.map(({ session }) => session))).toEqual(new Set([`import:${kind}`]));
      expect(await run(plan)).toEqual({ ...first, new: 0, unchanged: first.new, subjects: [] });
      expect(await claims()).toEqual(standing);
    },
  );

  test('a kind that is named is not guessed', async () => {
    const file = join(temporaryFolder(), 'rules');
    writeFileSync(file, '- {"kind":"lesson"}\n');
    expect((await readImport(file, 'agents-md')).events).toHaveLength(1);
    expect(said((await readImport(file, 'jsonl')).skipped)).toEqual(['rules line 1: not JSON']);
    expect((await readImport(join(fixtures, 'agents-md'), 'claude-memory')).kind).toBe('claude-memory');
  });
});

withOutsideVectors('../samples/memory-mesh', (folder) => {
  test('the sample logs: eight events, a torn line, a pin and an unknown class named', async () => {
    const { run } = await host();
    const plan = await readImport(fileURLToPath(folder));
    const first = await run(plan);
    expect(first.new).toBe(8);
    expect(said(first.skipped)).toEqual([
      'events/nas.ndjson line 5: not JSON',
      'events/mini.ndjson line 3: a pin: here it has effect only when a signer approves it',
      'weird-class/thing: there is no class weird-class in this mesh',
    ]);
    expect(await run(plan)).toMatchObject({ new: 0, unchanged: 8 });
  });
});

withOutsideVectors('../samples/mcp-memory', (folder) => {
  test('the sample graph: two entities, the torn line named', async () => {
    const { events, skipped } = await readImport(fileURLToPath(folder));
    expect(events.map(({ subject }) => subject)).toEqual(['note/nas', 'note/grafana']);
    expect(said(skipped)).toEqual(['memory.jsonl line 5: not JSON']);
  });
});

withOutsideVectors('../samples/agents-md', (folder) => {
  test('the sample rules: four lessons, the reason kept, table and comment named', async () => {
    const { events, skipped } = await readImport(fileURLToPath(folder));
    expect(events).toHaveLength(4);
    expect(events[3]?.text).toContain('Reason: each one is reviewed by hand.');
    expect(said(skipped)).toEqual([
      'AGENTS.md lines 12-14: a table, not a rule in a list',
      'AGENTS.md line 16: a comment, not a rule in a list',
    ]);
  });
});
