/** The write path with real processes: nothing is torn, lost or half done, whoever writes beside it and however it ends. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { checkRepository } from '../../drills/lib/check-log.ts';
import { startProcess } from '../../drills/lib/process.ts';
import { git, gitEnvironment, makeRepository } from '../lib/git.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
/** Has 500 commits of one line each after B4. */
let busy: BenchHost;

beforeAll(async () => {
  alpha = await bench.lay('alpha');
  await alpha.json('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
});

interface Appended {
  readonly id: string;
  readonly seq: number;
  readonly replicated: number;
}

const lesson = (subject: string, content: string): Record<string, string> => ({ kind: 'lesson', subject, content });

/** A client process: appends events one request each over the socket, and prints the sequence numbers it was told. */
const client = `
  import { connect } from 'node:net';
  const [socketPath, name, count, bytes] = process.argv.slice(1);
  const socket = connect(socketPath);
  const seqs = [];
  let rest = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) {
      const { result, error } = JSON.parse(line);
      if (error) throw new Error(error.message);
      if (result) seqs.push(result.results[0].seq);
    }
    if (seqs.length === Number(count)) { console.log(JSON.stringify(seqs)); socket.end(); }
  });
  for (let n = 0; n < Number(count); n += 1) {
    const event = { kind: 'lesson', subject: 'lesson/' + name + '-' + n, content: 'rule ' + n, text: name.repeat(1 + Number(bytes) / name.length) };
    socket.write(JSON.stringify({ id: n, method: 'append', params: { events: [event] } }) + '\\n');
  }
`;

test('A2: 6 processes append 200 events of 20 KB each at once: 1200 valid lines without a gap', async () => {
  const before = (await alpha.json<{ heads: Record<string, { seq: number }> }>('status')).heads['alpha']?.seq ?? 0;
  const writers = Array.from({ length: 6 }, (_, n) =>
    startProcess({
      command: process.execPath,
      args: ['--input-type=module', '-e', client, join(alpha.home, 'memd.sock'), `w${n}`, '200', '20000'],
    }),
  );
  writers.forEach((writer) => bench.adopt(writer));
  const told = await Promise.all(writers.map((writer) => writer.line(/^\[/, 60_000)));
  const seqs = told.flatMap((line) => JSON.parse(line) as number[]).toSorted((a, b) => a - b);
  expect(seqs).toEqual(Array.from({ length: 1_200 }, (_, index) => before + index + 1));
  const verified = await alpha.json<{ ok: boolean; logs: Record<string, { lines: number }> }>('verify', '--deep');
  expect(verified).toMatchObject({ ok: true, logs: { alpha: { lines: before + 1_200 } } });
  expect(readFileSync(join(alpha.home, 'logs', 'alpha.jsonl'), 'utf8').split('\n')).toHaveLength(before + 1_201);
}, 90_000);

test('A2: the same without memd, 6 commands with a file of 100 each: a home in use is waited for or refused by name', async () => {
  const shared = await bench.lay('shared');
  await shared.json('init', '--host', 'shared', '--listen', '127.0.0.1:0');
  const append = async (writer: number): Promise<void> => {
    const file = join(bench.folder(), `writer-${writer}.jsonl`);
    const event = (n: number) => ({ ...lesson(`lesson/f${writer}-${n}`, `rule ${n}`), text: 'x'.repeat(20_000) });
    writeFileSync(file, Array.from({ length: 100 }, (_, n) => JSON.stringify(event(n))).join('\n'));
    for (let tries = 0; tries < 20; tries += 1) {
      const { code, stdout } = await shared.ctl('append', '--file', file, '--json');
      if (code === 0) return;
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'HOME_LOCKED' } });
    }
    throw new Error(`writer ${writer} never got the home`);
  };
  await Promise.all(Array.from({ length: 6 }, (_, writer) => append(writer)));
  expect(await shared.json('verify', '--deep')).toMatchObject({ ok: true, logs: { shared: { lines: 600 } } });
}, 90_000);

test('A3: two clients with 20 writes each, as commands without a daemon: all 40 are there', async () => {
  const lone = await bench.lay('lone');
  await lone.json('init', '--host', 'lone', '--listen', '127.0.0.1:0');
  const write = async (client: string): Promise<void> => {
    for (let n = 0; n < 20; n += 1) await lone.json('lesson', `lesson/${client}-${n}`, `rule ${n}`);
  };
  await Promise.all([write('one'), write('two')]);
  const { ok, logs } = await lone.json<{ ok: boolean; logs: Record<string, { lines: number }> }>('verify');
  expect({ ok, logs }).toMatchObject({ ok: true, logs: { lone: { lines: 40 } } });
}, 180_000);

test('A10: what was acknowledged is there after SIGKILL right behind the acknowledgement', async () => {
  const killed = await bench.lay('killed');
  await killed.json('init', '--host', 'killed', '--listen', killed.address);
  const acknowledged: Appended[] = [];
  for (let round = 0; round < 4; round += 1) {
    const memd = await killed.start();
    const api = await killed.api();
    const { result } = await api.call('append', { events: [lesson(`lesson/round-${round}`, `rule ${round}`)] });
    memd.kill(true);
    acknowledged.push(...(result as { results: Appended[] }).results);
    await memd.ended;
  }
  expect(acknowledged.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  const claims = (await killed.ctl('log', '--json')).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Appended);
  expect(claims.map(({ id, seq }) => ({ id, seq }))).toEqual(acknowledged.map(({ id, seq }) => ({ id, seq })));
  expect((await killed.ctl('verify', '--deep')).code).toBe(0);
}, 60_000);

test('A10: an acknowledgement says which event it was, and that no peer holds it yet', async () => {
  const { code, stdout } = await alpha.ctl('lesson', 'lesson/told', 'say what was done');
  expect(code).toBe(0);
  expect(stdout).toMatch(/^lesson lesson\/told [0-9a-f]{12} \(alpha:\d+\)\n$/);
});

test('A11: a correction is one event: after SIGKILL in the middle of many, each subject has the old claim or the new one', async () => {
  const half = await bench.lay('half');
  await half.json('init', '--host', 'half', '--listen', half.address);
  const memd = await half.start();
  const api = await half.api();
  const subjects = Array.from({ length: 60 }, (_, n) => `note/n${n}`);
  const claim = (subject: string, value: string) => ({ kind: 'assert', subject, value, home: 'file:a.md' });
  const first = await api.call('append', { events: subjects.map((subject) => claim(subject, 'old')) });
  const ids = (first.result as { results: Appended[] }).results.map(({ id }) => id);
  const corrections = subjects.map((subject, n) =>
    api.call('append', { events: [{ ...claim(subject, 'new'), supersedes: [ids[n]] }] }).catch(() => undefined),
  );
  await corrections[0];
  memd.kill(true);
  await Promise.all(corrections);
  await memd.ended;
  await half.start();
  const again = await half.api();
  const values = [];
  for (const subject of subjects) {
    const { result } = await again.call('recall', { subject });
    const { status, claim: served } = result as { status: string; claim?: { value: string } };
    expect(status).toBe('served');
    values.push(served?.value);
  }
  expect(values[0]).toBe('new');
  expect(values.every((value) => value === 'old' || value === 'new')).toBe(true);
}, 60_000);

test('B4: reading with git and verifying while 500 commits are made: every commit and every look succeeds', async () => {
  busy = await bench.lay('busy');
  await busy.json('init', '--host', 'busy', '--listen', busy.address);
  await busy.start();
  const api = await busy.api();
  const run = promisify(execFile);
  const state = { writing: true, looks: 0 };
  const look = async (): Promise<void> => {
    while (state.writing) {
      await run('git', ['-C', busy.repository, 'for-each-ref']);
      await run('git', ['-C', busy.repository, 'count-objects', '-v']);
      state.looks += 1;
    }
  };
  const verify = async (): Promise<void> => {
    for (let n = 0; n < 8; n += 1) {
      expect((await api.call('verify', { deep: n % 4 === 0 })).result).toMatchObject({ ok: true, problems: [] });
    }
  };
  const write = async (): Promise<void> => {
    for (let n = 0; n < 500; n += 1) {
      const { error } = await api.call('append', { events: [lesson(`lesson/beside-${n}`, `rule ${n}`)] });
      expect(error).toBeUndefined();
    }
  };
  const work = Promise.all([write(), verify()]).finally(() => (state.writing = false));
  await Promise.all([work, look()]);
  expect(state.looks).toBeGreaterThan(3);
  checkRepository(busy.home);
}, 90_000);

test('B7: 10 000 loose objects and a maintenance.lock that somebody left: packed all the same, while appends go on', async () => {
  const objects = join(busy.repository, 'objects');
  writeFileSync(join(objects, 'maintenance.lock'), '');
  // What nobody needs: left as it is, and no reason to pack again.
  const lost = Array.from({ length: 8_000 }, (_, n) => Buffer.from(`blob 9\0lost ${String(n).padStart(4, '0')}`));
  for (const bytes of lost) {
    const oid = createHash('sha1').update(bytes).digest('hex');
    mkdirSync(join(objects, oid.slice(0, 2)), { recursive: true });
    writeFileSync(join(objects, oid.slice(0, 2), oid.slice(2)), deflateSync(bytes), { mode: 0o444 });
  }
  const api = await busy.api();
  const packing = busy.json<{ packed: boolean; loose: { before: number; after: number } }>('maintain');
  for (let n = 0; n < 30; n += 1) {
    const { error } = await api.call('append', { events: [lesson(`lesson/packing-${n}`, 'x')] });
    expect(error).toBeUndefined();
  }
  const { packed, loose } = await packing;
  expect(packed).toBe(true);
  expect(loose.before).toBeGreaterThan(10_000);
  expect(loose.after).toBeLessThan(8_500);
  expect(await busy.json('maintain')).toMatchObject({ packed: false });
  expect(await busy.json('verify', '--deep')).toMatchObject({ ok: true, logs: { busy: { lines: 530 } } });
}, 90_000);

test('B4: an agent commits 500 times in its own repository while its status is polled and recall reads a home there', async () => {
  const reader = await bench.lay('reader');
  await reader.json('init', '--host', 'reader', '--listen', '127.0.0.1:0');
  const web = join(bench.folder(), 'web');
  makeRepository(web, { 'a.md': 'first\n' });
  mkdirSync(join(bench.folder(), 'reading', 'memd'), { recursive: true });
  const roots = `[homes]\nroots = [${JSON.stringify(bench.folder())}]\n`;
  writeFileSync(join(bench.folder(), 'reading', 'memd', 'config.toml'), roots);
  const env = { XDG_CONFIG_HOME: join(bench.folder(), 'reading') };
  await reader.json('assert', 'project/web', '--value', 'x', '--home-ref', 'git:web:a.md@main');
  const commits = 'for n in $(seq 500); do echo $n > a.md && git commit -qam "$n" || exit 1; done';
  const state = { committing: true, looks: 0 };
  const look = async (): Promise<void> => {
    while (state.committing) {
      const { code, stdout } = await reader.run(['recall', 'project/web'], { env, cwd: web });
      expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/commit [0-9a-f]{7}/) });
      state.looks += 1;
    }
  };
  const committing = promisify(execFile)('sh', ['-c', commits], { cwd: web, env: gitEnvironment, timeout: 80_000 });
  await Promise.all([committing.finally(() => (state.committing = false)), look()]);
  expect(state.looks).toBeGreaterThan(1);
  expect(git(web, 'rev-list', '--count', 'HEAD').trim()).toBe('501');
}, 90_000);

test('one file imported four times at once is there once', async () => {
  const lines = Array.from({ length: 50 }, (_, n) => JSON.stringify(lesson(`lesson/imported-${n}`, 'x')));
  const file = join(bench.folder(), 'imported.jsonl');
  writeFileSync(file, lines.join('\n'));
  const reports = await Promise.all(
    [1, 2, 3, 4].map(() => alpha.json<{ new: number; unchanged: number }>('import', file)),
  );
  expect(reports.map((report) => report.new).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 50]);
  expect((await alpha.ctl('log', 'lesson/imported-7', '--json')).stdout.trim().split('\n')).toHaveLength(1);
});

test('a retraction of more claims than one event can name says so, and how to go on', async () => {
  const claims = Array.from({ length: 65 }, (_, n) => JSON.stringify({ ...lesson('lesson/many', `way ${n}`) }));
  await alpha.append(claims.join('\n'));
  expect(await alpha.refused(2, ['retract', 'lesson/many'])).toMatchObject({
    code: 'EVENT_INVALID',
    message: expect.stringContaining('65 live claims on lesson/many; one retraction withdraws 64 at most'),
    hint: expect.stringContaining('--supersedes'),
  });
});

test('a rebuild beside appends, over and over: no line is lost, said twice or out of its place', async () => {
  const moving = await bench.lay('moving');
  await moving.json('init', '--host', 'moving', '--listen', moving.address);
  await moving.start();
  const api = await moving.api();
  const appends: Promise<number | undefined>[] = [];
  const rebuilds: Promise<unknown>[] = [];
  for (let n = 0; n < 120; n += 1) {
    const append = api.call('append', { events: [lesson(`lesson/moving-${n}`, `rule ${n}`)] });
    appends.push(append.then(({ result }) => (result as { results: Appended[] }).results[0]?.seq));
    if (n % 6 === 0) rebuilds.push(api.call('rebuild', {}));
    if (n % 10 === 0) await append;
  }
  expect((await Promise.all(appends)).toSorted((a, b) => (a ?? 0) - (b ?? 0))).toEqual(appends.map((_, n) => n + 1));
  await Promise.all(rebuilds);
  expect(await moving.json('verify', '--deep')).toMatchObject({ ok: true, logs: { moving: { lines: 120 } } });
}, 60_000);

test('an append --file with one bad event refuses all of them, names it, and changes nothing', async () => {
  const heads = async (): Promise<unknown> => (await alpha.json<{ heads: unknown }>('status')).heads;
  const before = await heads();
  const good = (n: number): string => JSON.stringify(lesson(`lesson/good-${n}`, 'x'));
  const cases = [
    {
      bad: '{"kind":"lesson","subject":"lesson/no-content"}',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /event 3 of 4: content/,
    },
    {
      bad: '{"kind":"lesson","subject":"lessen/typo","content":"x"}',
      exit: 2,
      code: 'CLASS_UNKNOWN',
      says: /event 3 of 4/,
    },
    {
      bad: '{"kind":"lesson","subject":"lesson/a","content":"x","audience":"nobody"}',
      exit: 2,
      code: 'AUDIENCE_UNKNOWN',
      says: /event 3 of 4/,
    },
    {
      bad: '{"kind":"assert","subject":"note/a","value":"x","home":"file:/etc/hosts"}',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /event 3 of 4: home/,
    },
    {
      bad: '{"kind":"assert","subject":"note/a","value":"x","home":"file:a","basis":["0123456789"]}',
      exit: 7,
      code: 'ID_UNKNOWN',
      says: /0123456789/,
    },
    {
      bad: '{"kind":"decision","subject":"lesson/a","content":"x","vaule":"y"}',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /vaule/,
    },
    {
      bad: '{"kind":"lesson","subject":"lesson/a","content":"x","content":"y"}',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /line 3: a key stands twice/,
    },
    {
      bad: '{"kind":"lesson","subject":"lesson/a","content":"x"',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /line 3: not JSON/,
    },
    { bad: '<<<<<<< HEAD', exit: 2, code: 'EVENT_INVALID', says: /line 3: not JSON/ },
    { bad: '["kind"]', exit: 2, code: 'EVENT_INVALID', says: /line 3: not a JSON object/ },
    {
      bad: '{"host":"zeta","kind":"lesson","subject":"lesson/a","content":"x"}',
      exit: 2,
      code: 'EVENT_INVALID',
      says: /line 3: it has host/,
    },
    { bad: Buffer.from([0x7b, 0xff, 0x7d]), exit: 2, code: 'EVENT_INVALID', says: /line 3: not UTF-8/ },
  ];
  for (const { bad, exit, code, says } of cases) {
    const file = join(bench.folder(), 'events.jsonl');
    writeFileSync(
      file,
      Buffer.concat([Buffer.from(`${good(1)}\n${good(2)}\n`), Buffer.from(bad), Buffer.from(`\n${good(4)}\n`)]),
    );
    const error = await alpha.refused(exit, ['append', '--file', file]);
    expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
  }
  expect(await heads()).toEqual(before);
  expect((await alpha.ctl('recall', 'lesson/good-1')).code).toBe(7);
}, 60_000);
