/** Notifications with real memds, a real web server and a real command. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

interface Posted {
  readonly host: string;
  readonly title: string;
  readonly text: string;
  readonly items: readonly { readonly what: string; readonly kind: string; readonly subject: string }[];
}

const bench = openBench();
let alpha: BenchHost;
let server: Server;
const posted: Posted[] = [];
let status = 200;
const waiting: (() => void)[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      if (status === 200) posted.push(JSON.parse(body) as Posted);
      response.writeHead(status).end('said so');
      for (const wake of waiting.splice(0)) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  alpha = await bench.lay('alpha');
  const folder = join(bench.folder(), 'config', 'memd');
  mkdirSync(folder, { recursive: true });
  const program = `require('node:fs').appendFileSync(process.argv[1], JSON.stringify([Object.keys(process.env).sort(), JSON.parse(require('node:fs').readFileSync(0))]) + '\\n')`;
  const command = [process.execPath, '-e', program, join(bench.folder(), 'told.jsonl')];
  writeFileSync(
    join(folder, 'config.toml'),
    `[[notifier]]\nname = "hook"\nkind = "webhook"\nurl = "${url}"\n\n[[notifier]]\nname = "file"\nkind = "command"\ncommand = ${JSON.stringify(command)}\n`,
  );
  await alpha.json('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
}, 60_000);

afterAll(() => void server.close());

/** Waits until the server was asked so often in all. */
async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise<void>((resolve) => void waiting.push(resolve));
}

const toldLines = (): [string[], Posted][] =>
  readFileSync(join(bench.folder(), 'told.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as [string[], Posted]);

test('notify test says of each notifier what came of it', async () => {
  expect(await alpha.json('notify', 'test')).toEqual([
    { notifier: 'hook', kind: 'webhook', ok: true },
    { notifier: 'file', kind: 'command', ok: true },
  ]);
  expect(posted.splice(0)).toMatchObject([{ host: 'alpha', title: 'memd: test' }]);
  const [environment = []] = toldLines()[0] ?? [];
  expect(environment.filter((name) => /^(?:MEMD|SSH_AUTH|XDG|npm_|VITEST)/.test(name))).toEqual([]);
  expect((await alpha.refused(7, ['notify', 'test', 'phone'])).code).toBe('NOTIFIER_UNKNOWN');
}, 60_000);

test('a park is told once, with both sides, escaped, and its end once', async () => {
  await alpha.json(
    'assert',
    'ssh-route/mini',
    'over the [bastion](http://evil)',
    '--home',
    'file:a.md',
    '--session',
    's1',
  );
  const other = ['--home', 'file:a.md', '--value', 'direct', '--session', 's2\u202e'];
  await alpha.json('assert', 'ssh-route/mini', ...other);
  await until(() => posted.length > 0);
  const [{ title, text, items } = { title: '', text: '', items: [] }] = posted;
  expect(title).toBe('memd: ssh-route/mini is UNRESOLVED');
  expect(items).toEqual([{ what: 'raised', kind: 'PARKED', subject: 'ssh-route/mini', host: null }]);
  expect(text).toContain('alpha, session s1');
  expect(text).toContain('Settle it: memctl sign ssh-route/mini');
  expect(text).not.toMatch(/\u202e|[^\\]\[bastion|\]\(http:/);
  await alpha.json('retract', 'ssh-route/mini');
  await until(() => posted.length > 1);
  expect(posted.splice(0).map((one) => one.title)).toEqual([
    'memd: ssh-route/mini is UNRESOLVED',
    'memd: ssh-route/mini is settled',
  ]);
}, 60_000);

test('a notifier that fails shows in status, is tried again, and holds nothing up', async () => {
  status = 500;
  await alpha.json('assert', 'ssh-route/desk', '--value', 'a', '--home', 'file:a.md');
  await alpha.json('assert', 'ssh-route/desk', '--value', 'b', '--home', 'file:a.md');
  await new Promise<void>((resolve) => void waiting.push(resolve));
  let alarms: { kind: string; detail: string }[] = [];
  while (!alarms.some(({ kind }) => kind === 'NOTIFIER_FAILED'))
    ({ alarms } = await alpha.json<{ alarms: typeof alarms }>('status'));
  expect(alarms.find(({ kind }) => kind === 'NOTIFIER_FAILED')?.detail).toMatch(
    /notifier hook: 127\.0\.0\.1:\d+ answers 500: said so/,
  );
  status = 200;
  await until(() => posted.length > 0);
  expect(posted.map((one) => one.title)).toEqual(['memd: ssh-route/desk is UNRESOLVED']);
}, 90_000);
