/** The local socket against clients that are broken, hostile or gone, and memd against signals. */
import { existsSync, statSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { processesMentioning, startProcess } from '../../drills/lib/process.ts';
import { apiLineBytesMax } from '../../src/core/limits.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;

beforeAll(async () => {
  alpha = await bench.lay('alpha');
  await alpha.json('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
});

const socketOf = (host: BenchHost): string => join(host.home, 'memd.sock');
const status = '{"id":7,"method":"status"}\n';

interface Answer {
  readonly id: number | null;
  readonly result?: unknown;
  readonly error?: { code: string; exit: number; message: string };
}

/** Sends bytes and gives the answers until so many have come, or the other end closed. */
function converse(data: string | Uint8Array, answers: number): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketOf(alpha), () => socket.write(data));
    let said = '';
    const heard = (): Answer[] =>
      said
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Answer & { progress?: string })
        .filter((answer) => answer.progress === undefined);
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
      if (heard().length >= answers) socket.destroy();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(heard()));
  });
}

function bytes(...parts: (string | number[])[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
}

describe('the local socket', () => {
  test('it is there for this user only', () => {
    expect(statSync(socketOf(alpha)).mode & 0o777).toBe(0o600);
  });

  const badLines: [string, string | Uint8Array][] = [
    ['text', 'garbage\n'],
    ['an empty line', '\n'],
    ['NUL bytes', '\0\0\0\0\n'],
    ['a number', '5\n'],
    ['null', 'null\n'],
    ['a list', '[1,2]\n'],
    ['no id', '{"method":"status"}\n'],
    ['an id that is text', '{"id":"7","method":"status"}\n'],
    ['an id beyond all numbers', '{"id":1e999,"method":"status"}\n'],
    ['an id that is a fraction', '{"id":0.5,"method":"status"}\n'],
    ['a method that is no text', '{"id":7,"method":{}}\n'],
    ['a torn object', '{"id":7,"method":"sta\n'],
    ['invalid UTF-8', bytes('{"id":7,"method":"recall","params":{"subject":"', [0xff, 0xfe], '"}}\n')],
    ['UTF-8 of a surrogate', bytes('{"id":7,"method":"recall","params":{"subject":"', [0xed, 0xa0, 0x80], '"}}\n')],
    ['a hundred thousand brackets', `${'['.repeat(100_000)}\n`],
    ['an HTTP request', 'GET / HTTP/1.1\r\n'],
  ];
  test.each(badLines)('%s is refused with one answer, and the connection goes on', async (_, line) => {
    const [first, second] = await converse(
      bytes(...[line, status].map((part) => (typeof part === 'string' ? part : [...part]))),
      2,
    );
    const refusal = [first, second].find((answer) => answer?.id === null);
    const answer = [first, second].find((one) => one?.id === 7);
    expect(refusal).toMatchObject({ id: null, error: { code: 'BAD_REQUEST', exit: 2 } });
    expect(answer).toMatchObject({ id: 7, result: { host: 'alpha' } });
  });

  const badRequests: [string, unknown, string][] = [
    ['zzz', {}, 'UNKNOWN_METHOD'],
    ['__proto__', {}, 'UNKNOWN_METHOD'],
    ['constructor', {}, 'UNKNOWN_METHOD'],
    ['toString', {}, 'UNKNOWN_METHOD'],
    ['status', 5, 'BAD_REQUEST'],
    ['status', [], 'BAD_REQUEST'],
    ['status', { surplus: 1 }, 'BAD_REQUEST'],
    ['recall', {}, 'BAD_REQUEST'],
    ['recall', { subject: { toString: 'x' } }, 'BAD_REQUEST'],
    ['log', { limit: -1 }, 'BAD_REQUEST'],
    ['log', { limit: 1e9 }, 'BAD_REQUEST'],
    ['log', { of: '../../etc' }, 'SUBJECT_UNKNOWN'],
    ['log', { of: 'nobody' }, 'HOST_UNKNOWN'],
    ['show', { id: '%' }, 'BAD_REQUEST'],
    ['show', { id: 'f'.repeat(64) }, 'ID_UNKNOWN'],
    ['index', { audience: '../../../etc' }, 'AUDIENCE_UNKNOWN'],
    ['fetch', { peer: '../alpha' }, 'PEER_UNKNOWN'],
    ['fetch', { peer: 'alpha' }, 'PEER_UNKNOWN'],
    ['append', { events: [] }, 'BAD_REQUEST'],
    ['append', { events: [5] }, 'BAD_REQUEST'],
    ['append', { events: Array.from({ length: 5_000 }, () => 5) }, 'BAD_REQUEST'],
    ['append', { events: [{}] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'lesson', subject: 5, content: 'x' }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'retract' }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'retract', subject: {} }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'retract', subject: null }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'lesson', subject: 'lesson/x', content: '\ud800' }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'lesson', subject: 'lesson/x', content: 'x', session: 5 }] }, 'EVENT_INVALID'],
    ['append', { events: [{ kind: 'lesson', subject: 'lesson/x', content: 'x', supersedes: 'all' }] }, 'EVENT_INVALID'],
    [
      'append',
      { events: [{ kind: 'lesson', subject: 'lesson/x', content: 'x', supersedes: [null] }] },
      'EVENT_INVALID',
    ],
    ['append', { events: [{ kind: 'assert', subject: 'note/x', value: 5, home: 'file:a' }] }, 'EVENT_INVALID'],
    ['import', { kind: 'zip', events: [], skipped: [] }, 'BAD_REQUEST'],
    ['import', { kind: 'jsonl', events: [{}], skipped: [] }, 'BAD_REQUEST'],
    ['import', { kind: 'jsonl', events: [{ kind: 'lesson', subject: 5 }], skipped: [] }, 'BAD_REQUEST'],
    ['trust.submit', { body: 'x', sshsig: 'x' }, 'OP_REFUSED'],
    ['trust.submit', { body: 'null', sshsig: 'x' }, 'OP_REFUSED'],
    ['trust.submit', { body: '[]', sshsig: 'x' }, 'OP_REFUSED'],
    ['trust.submit', { body: '{"by":5}', sshsig: 'x' }, 'OP_REFUSED'],
    ['trust.submit', { body: '['.repeat(100_000), sshsig: 'x' }, 'OP_REFUSED'],
    ['trust.draft', { op: 'host-add', args: {}, key: 'x' }, 'SIGNER_UNKNOWN'],
    ['trust.draft', { op: 'host-rename', args: {}, key: 'x' }, 'BAD_REQUEST'],
  ];
  test('every method answers nonsense with a code and one sentence, and nothing is written', async () => {
    const api = await alpha.api();
    const before = (await api.call('status', {})).result as { heads: unknown };
    for (const [method, params, code] of badRequests) {
      const { error } = await api.call(method, params);
      expect({ method, params: JSON.stringify(params).slice(0, 100), code: error?.code }).toMatchObject({ code });
      expect(error?.message.length).toBeLessThan(400);
      expect(error?.message).not.toMatch(/\n|\[object/);
    }
    const after = (await api.call('status', {})).result as { heads: unknown };
    expect(after.heads).toEqual(before.heads);
  });

  test('a line that never ends is ended, and memory stays bounded', async () => {
    const lines = await new Promise<string>((resolve) => {
      const socket = connect(socketOf(alpha));
      const chunk = Buffer.alloc(4 * 1_024 * 1_024, 0x61);
      let said = '';
      let sent = 0;
      const more = (): void => {
        while (sent <= apiLineBytesMax && socket.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      socket.on('connect', more).on('drain', more);
      socket.on('data', (data) => (said += data.toString()));
      socket.on('error', () => undefined);
      socket.on('close', () => resolve(said));
    });
    expect(JSON.parse(lines)).toMatchObject({ id: null, error: { code: 'BAD_REQUEST' } });
    expect((await alpha.ctl('status')).code).toBe(0);
  });

  test('1 000 requests in one write are answered, each once', async () => {
    const requests = Array.from({ length: 1_000 }, (_, id) => ({
      id,
      method: 'recall',
      params: { subject: `note/n${id}` },
    }));
    const answers = await converse(requests.map((request) => `${JSON.stringify(request)}\n`).join(''), 1_000);
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1_000);
    expect(answers.every(({ result }) => (result as { status: string }).status === 'none')).toBe(true);
  });

  test('appends that are asked for in one write are done in that order, as few commits', async () => {
    const events = (id: number) => ({ events: [{ kind: 'lesson', subject: `lesson/pipelined-${id}`, content: 'x' }] });
    const requests = Array.from(
      { length: 300 },
      (_, id) => `${JSON.stringify({ id, method: 'append', params: events(id) })}\n`,
    );
    const answers = await converse(requests.join(''), 300);
    const seqs = answers
      .toSorted((a, b) => (a.id ?? 0) - (b.id ?? 0))
      .map(({ result }) => (result as { results: { seq: number }[] }).results[0]?.seq);
    expect(seqs).toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
  });

  test('clients that send half a request, leave in the middle of one, or never read, disturb nobody', async () => {
    const rude: Socket[] = [];
    for (let n = 0; n < 6; n += 1) {
      const half = connect(socketOf(alpha), () => half.write('{"id":1,"method":"sta'));
      const gone = connect(socketOf(alpha), () => {
        gone.write('{"id":1,"method":"verify","params":{"deep":true}}\n', () => gone.destroy());
      });
      const deaf = connect(socketOf(alpha), () => deaf.write(status.repeat(200)));
      deaf.pause();
      for (const socket of [half, gone, deaf]) rude.push(socket.on('error', () => undefined));
    }
    const api = await alpha.api();
    for (let n = 0; n < 20; n += 1) expect((await api.call('status', {})).result).toMatchObject({ host: 'alpha' });
    for (const socket of rude) socket.destroy();
    expect(alpha.memd().alive()).toBe(true);
  });

  test.each(['log --limit 300', 'recall note/nothing'])(
    'a reader that closes its pipe is no failure of memctl %s',
    async (words) => {
      const run = startProcess({
        command: 'sh',
        args: [
          '-c',
          `"$0" "$1" --home "$2" ${words} | true; echo " $?"`,
          process.execPath,
          join(import.meta.dirname, '../../bin/memctl'),
          alpha.home,
        ],
      });
      bench.adopt(run);
      await run.ended;
      expect(run.said()).not.toMatch(/EPIPE|Error/);
    },
  );
});

describe('somebody else in the way', () => {
  test('A9: a home held by another process without a socket: locked, by whom, exit 1, and nothing is written', async () => {
    const held = await bench.lay('held');
    await held.json('init', '--host', 'held', '--listen', '127.0.0.1:0');
    const holder = startProcess({
      command: process.execPath,
      args: ['--input-type=module', '-e', holderScript, join(import.meta.dirname, '../../dist/store/'), held.home],
    });
    bench.adopt(holder);
    await holder.line(/held/);
    const error = await held.refused(1, ['lesson', 'lesson/x', 'x']);
    expect(error).toMatchObject({
      code: 'HOME_LOCKED',
      message: expect.stringContaining(`in use by memd, process ${holder.pid}, since `),
      hint: expect.stringContaining(`kill ${holder.pid}`),
    });
    const { code, stdout, stderr } = await held.ctl('status');
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringMatching(/^memd: CANNOT TELL, .* in use by memd/),
    });
    expect(stderr).toContain('in use by memd');
    await expect(held.start()).rejects.toThrow(/in use by memd/);
    await holder.end();
    expect(await held.json('verify')).toMatchObject({ ok: true, logs: {} });
    expect((await held.ctl('lesson', 'lesson/x', 'x')).code).toBe(0);
  }, 30_000);

  test('a second memd for the same home does not start, and the first goes on', async () => {
    await expect(alpha.start()).rejects.toThrow(/in use by memd, process \d+/);
    expect((await alpha.ctl('status')).stdout).toMatch(/^memd: 1\/1 hosts/);
  });

  test('a socket that a dead memd left, or a file in its place, is no memd', async () => {
    const left = await bench.lay('left');
    await left.json('init', '--host', 'left', '--listen', left.address);
    const memd = await left.start();
    memd.kill(true);
    await memd.ended;
    expect(existsSync(socketOf(left))).toBe(true);
    expect((await left.ctl('lesson', 'lesson/x', 'x')).code).toBe(0);
    await left.start();
    expect((await left.ctl('lesson', 'lesson/y', 'y')).code).toBe(0);
  });

  test('a program on the socket that is no memd: said so, and no second writer', async () => {
    const fake = await bench.lay('fake');
    await fake.json('init', '--host', 'fake', '--listen', '127.0.0.1:0');
    const server = createServer((socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => server.listen(socketOf(fake), resolve));
    expect(await fake.refused(1, ['lesson', 'lesson/x', 'x'])).toMatchObject({ code: 'DAEMON_LOST' });
    await new Promise((resolve) => server.close(resolve));
    expect(await fake.json('verify')).toMatchObject({ logs: {} });
  });
});

describe('signals', () => {
  test('SIGTERM lets the running append finish, refuses what comes later, and ends with 0 in time', async () => {
    const busy = await bench.lay('busy');
    await busy.json('init', '--host', 'busy', '--listen', busy.address);
    const memd = await busy.start();
    const api = await busy.api();
    const events = Array.from({ length: 2_500 }, (_, n) => ({ kind: 'lesson', subject: `lesson/n${n}`, content: 'x' }));
    const append = api.call('append', { events });
    await api.call('recall', { subject: 'lesson/n0' });
    const start = performance.now();
    memd.signal('SIGTERM');
    expect(((await append).result as { results: unknown[] }).results).toHaveLength(2_500);
    expect(await memd.ended).toBe(0);
    // It gives itself 5 s; how long its end takes is up to the machine.
    expect(performance.now() - start).toBeLessThan(10_000);
    await expect.poll(() => memd.groupAlive()).toBe(false);
    expect(await busy.json('verify')).toMatchObject({ ok: true, logs: { busy: { lines: 2_500 } } });
    await expect.poll(() => processesMentioning(busy.home)).toEqual([]);
  }, 30_000);

  test('a second SIGTERM ends it at once, without loss', async () => {
    const twice = await bench.lay('twice');
    await twice.json('init', '--host', 'twice', '--listen', twice.address);
    const memd = await twice.start();
    const api = await twice.api();
    await api.call('append', { events: [{ kind: 'lesson', subject: 'lesson/x', content: 'x' }] });
    void api.call('verify', { deep: true }).catch(() => undefined);
    memd.signal('SIGTERM');
    memd.signal('SIGTERM');
    expect(await memd.ended).toBe(0);
    expect(await twice.json('verify')).toMatchObject({ ok: true, logs: { twice: { lines: 1 } } });
    await expect.poll(() => processesMentioning(twice.home)).toEqual([]);
  });

  test('memd survives that nobody reads its log any more', async () => {
    const mute = await bench.lay('mute');
    await mute.json('init', '--host', 'mute', '--listen', mute.address);
    const shell = startProcess({
      command: 'sh',
      args: [
        '-c',
        `"$0" "$1" --home "$2" --listen ${mute.address} --json 2>&1 >"$2/ready" | head -c 1 >/dev/null`,
        process.execPath,
        join(import.meta.dirname, '../../bin/memd'),
        mute.home,
      ],
      env: { HOME: bench.folder(), XDG_CONFIG_HOME: join(bench.folder(), 'config') },
    });
    bench.adopt(shell);
    let api = await mute.api().catch(() => undefined);
    for (let tries = 0; api === undefined && tries < 200; tries += 1) {
      await mute.ctl('--version');
      api = await mute.api().catch(() => undefined);
    }
    for (let n = 0; n < 5; n += 1) await api?.call('trust.submit', { body: 'x', sshsig: 'x' });
    await api?.call('fetch', {});
    expect((await api?.call('status', {}))?.result).toMatchObject({ daemon: true });
  });
});

/** Holds a home as memd would, and answers nothing. */
const holderScript = `
  const [store, home] = process.argv.slice(1);
  const { lockHome } = await import(store + 'home/home-lock.js');
  const { openHome } = await import(store + 'home/home.js');
  // Kept: a lock that nobody refers to is collected, and given back.
  globalThis.lock = lockHome(openHome(home), { program: 'memd', now: new Date() });
  console.log('held');
  setInterval(() => undefined, 60_000);
`;
