import { expect, test } from 'vitest';
import { meshOfOne, type Json, type World } from '../lib/memctl.ts';

const linesOf = (stdout: string): Json[] =>
  stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Json);

const fact = (subject: string, value: string, ...more: readonly string[]): string[] => [
  'assert',
  subject,
  '--value',
  value,
  '--home-ref',
  'file:a.md',
  ...more,
];

/** A corrected endpoint, a lesson, a decision. */
async function corrected(world: World): Promise<{ old: string; next: string }> {
  const old = await world.json(fact('endpoint/grafana', 'nas:3000', 'beside the printer'));
  const id = String(old.value['id']);
  const next = await world.json(fact('endpoint/grafana', 'nas:4000', '--supersedes', id));
  await world.run(['lesson', 'lesson/quote-paths', 'Quote every path in shell commands']);
  await world.run(['decide', 'decision/dashboards', 'grafana\nrejected: kibana, needs too much memory']);
  return { old: id, next: String(next.value['id']) };
}

test(
  'search: the same answer from a daemon and without one; an old wording leads to the new one',
  { timeout: 60_000 },
  async () => {
    const world = await meshOfOne();
    const { old, next } = await corrected(world);
    const asked = ['search', 'beside', 'the', 'printer'];
    const alone = await world.run([...asked, '--json']);
    await world.memd();
    const served = await world.run([...asked, '--json']);
    expect(served).toEqual(alone);
    expect(linesOf(served.stdout)).toMatchObject([
      { id: old, status: 'superseded', replacedBy: { id: next, value: 'nas:4000' } },
    ]);
    expect(served.stdout).not.toContain('printer');
    const human = await world.run(asked);
    expect(human.stdout).toMatch(
      new RegExp(
        `^SUPERSEDED endpoint/grafana: ${old.slice(0, 12)} was replaced by ${next.slice(0, 12)} on .*: nas:4000`,
      ),
    );
    // What was appended a moment ago is found.
    await world.run(fact('endpoint/kibana', 'nas:5601'));
    expect((await world.run(['search', 'kibana'])).stdout).toContain('endpoint/kibana: nas:5601');
  },
);

test(
  'search: nothing that is typed is syntax; nothing found is exit code 7 and an empty answer',
  { timeout: 60_000 },
  async () => {
    const world = await meshOfOne();
    await corrected(world);
    for (const words of ['"quote', "quote'", 'quote*', 'NEAR(quote path)', '-- -quote', 'content:quote']) {
      const { code, stdout } = await world.run(['search', ...words.split(' ')]);
      expect([code, stdout]).toEqual([0, expect.stringContaining('lesson/quote-paths')]);
    }
    const none = await world.run(['search', 'zebra', '--json']);
    expect([none.code, none.stdout, none.stderr]).toEqual([7, '', 'nothing found\n']);
    const wordless = await world.json(['search', '*']);
    expect(wordless).toMatchObject({ code: 2, value: { error: { code: 'BAD_REQUEST' } } });
    expect((await world.run(['search', 'x', '--limit', '0'])).code).toBe(2);
  },
);

test('why: reasons as they were written, labelled; blame: what became of each claim', { timeout: 60_000 }, async () => {
  const world = await meshOfOne();
  const { old, next } = await corrected(world);
  const why = await world.run(['why', 'grafana']);
  expect(why.stdout).toMatch(/^RATIONALE, not truth/);
  expect(why.stdout).toContain(
    'DECISION decision/dashboards\n  | grafana\n  | rejected: kibana, needs too much memory\n',
  );
  expect(why.stdout).not.toContain('nas:4000');
  const exact = await world.run(['why', 'decision/dashboards', '--json']);
  expect(linesOf(exact.stdout)).toMatchObject([{ kind: 'decision', status: 'recorded', session: 'cli' }]);
  expect((await world.run(['why', 'zebra'])).code).toBe(7);
  const blame = await world.run(['blame', 'endpoint/grafana', '--json']);
  expect(linesOf(blame.stdout)).toMatchObject([
    { id: old, status: 'superseded', by: [{ id: next, kind: 'assert', host: 'alpha', seq: 2 }] },
    { id: next, status: 'served', by: [] },
  ]);
  const human = await world.run(['blame', 'endpoint/grafana']);
  expect(human.stdout).toContain(`superseded by ${next.slice(0, 12)} · alpha:2 · assert of alpha`);
  expect((await world.json(['blame', 'note/none'])).value).toMatchObject({ error: { code: 'SUBJECT_UNKNOWN' } });
});
