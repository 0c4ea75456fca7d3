/** Two machines that work apart: what each says has a name of its own, and what one of them reads is its own business. */
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { converge, formMesh } from '../../drills/lib/hosts.ts';
import { statusOf } from '../../drills/lib/recovery.ts';
import { addedText, runHook } from '../harness/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;

beforeAll(async () => {
  [alpha, beta] = [await bench.lay('alpha'), await bench.lay('beta')];
  await formMesh([alpha, beta]);
}, 60_000);

interface Logged {
  readonly id: string;
  readonly host: string;
  readonly seq: number;
  readonly subject: string;
}

/** The logs of both, as one of them holds them. */
async function logsOn(host: BenchHost): Promise<Logged[]> {
  const said = await Promise.all(['alpha', 'beta'].map((log) => host.ctl('log', log, '--limit', '200', '--json')));
  return said.flatMap(({ stdout }) =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Logged),
  );
}

test('D7: two machines write 20 facts each while apart, of the same names: 40 events, none hides another', async () => {
  await Promise.all([alpha, beta].map((host) => host.stop()));
  const names = Array.from({ length: 20 }, (_, n) => `lesson/n${n === 19 ? '0063' : n + 45}`);
  const facts = names.map((subject) => JSON.stringify({ kind: 'lesson', subject, content: 'the very same words' }));
  await Promise.all([alpha, beta].map((host) => host.append(facts.join('\n'))));
  await Promise.all([alpha, beta].map((host) => host.start()));
  await converge([alpha, beta]);
  for (const host of [alpha, beta]) {
    const events = await logsOn(host);
    expect(events).toHaveLength(40);
    expect(new Set(events.map(({ id }) => id)).size).toBe(40);
    expect(new Set(events.map(({ host: by, seq }) => `${by}:${seq}`)).size).toBe(40);
    expect(new Set(events.map(({ subject }) => subject))).toEqual(new Set(names));
  }
  expect((await statusOf(alpha)).root).toBe((await statusOf(beta)).root);
}, 60_000);

test('A7: a consolidation replaces what it read, and not the three facts that came meanwhile; done again, it has them too', async () => {
  const say = (subject: string, value: string, ...more: string[]): Promise<{ id: string }> =>
    alpha.json('assert', subject, '--value', value, '--home-ref', 'file:a.md', ...more);
  const read = [await say('endpoint/web', '8080'), await say('endpoint/api', '8081')];
  // It thinks for minutes; others go on.
  const late = await say('endpoint/web', '9090');
  await say('endpoint/db', '5432');
  await beta.json('assert', 'endpoint/cache', '--value', '6379', '--home-ref', 'file:a.md');
  const merged = await say('endpoint/web', '8080 and 8081', '--supersedes', read.map(({ id }) => id).join(','));
  await converge([alpha, beta]);
  for (const host of [alpha, beta]) {
    const web = await host.ctl('recall', 'endpoint/web', '--json');
    expect(JSON.parse(web.stdout)).toMatchObject({
      status: 'parked',
      claims: expect.arrayContaining([
        expect.objectContaining({ id: late.id }),
        expect.objectContaining({ id: merged.id }),
      ]),
    });
    for (const subject of ['endpoint/db', 'endpoint/cache']) expect((await host.ctl('recall', subject)).code).toBe(0);
  }
  await say('endpoint/web', '8080, 8081 and 9090', '--supersedes', [merged.id, late.id].join(','));
  expect(await alpha.json('recall', 'endpoint/web')).toMatchObject({ status: 'served' });
}, 60_000);

/** Names and targets of every branch. */
const branches = (host: BenchHost): string =>
  execFileSync('git', ['--git-dir', host.repository, 'for-each-ref', '--format=%(refname) %(objectname)'], {
    encoding: 'utf8',
  });

test('B14: what a session on one machine was told is not in the mesh: the same session elsewhere hears it afresh', async () => {
  await converge([alpha, beta]);
  const before = branches(alpha);
  const stdin = (event: string): string =>
    JSON.stringify({ session_id: 'same', hook_event_name: event, source: 'startup', prompt: 'go on' });
  const hear = async (host: BenchHost, event: string): Promise<string> =>
    addedText(await runHook(host.home, ['claude-code', event], stdin(event)), event);
  for (const event of ['SessionStart', 'UserPromptSubmit']) await hear(alpha, event);
  expect(branches(alpha)).toBe(before);
  await converge([beta, alpha]);
  expect(await hear(beta, 'SessionStart')).toContain('`endpoint/db`');
  await alpha.json('retract', 'endpoint/db');
  expect(await hear(alpha, 'UserPromptSubmit')).toContain('endpoint/db');
  await converge([alpha, beta]);
  // Machine 1 had its note; machine 2 has had none, and gets its own, once.
  expect(await hear(beta, 'UserPromptSubmit')).toContain('endpoint/db');
  expect(await hear(beta, 'UserPromptSubmit')).toBe('');
  for (const host of [alpha, beta]) {
    expect(
      branches(host)
        .split('\n')
        .filter((line) => !/^refs\/heads\/(log\/|view\/|trust )|^$/.test(line)),
    ).toEqual([]);
    expect(readFileSync(join(host.home, 'injected.jsonl'), 'utf8')).toContain('"session":"same"');
    expect(readdirSync(host.repository).filter((name) => /injected|peers|last-heads/.test(name))).toEqual([]);
    expect(statSync(join(host.home, 'injected.jsonl')).mode & 0o077).toBe(0);
  }
}, 60_000);
