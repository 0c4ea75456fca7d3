/** D8: one key twice in a map is an error wherever a map is read, and never the choice of whoever wrote last. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseLine } from '../../src/core/line.ts';
import { parseTrustOp } from '../../src/core/trust/op.ts';
import { parseViewLine } from '../../src/core/view-line.ts';
import { parseConfig } from '../../src/daemon/config/config.ts';
import { parseHeads, printHeads } from '../../src/mesh/heads.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
let alpha: BenchHost;
let mesh: string;

beforeAll(async () => {
  alpha = await bench.lay('alpha');
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', '127.0.0.1:0'));
  await alpha.json('assert', 'note/one', '--value', 'v', '--home', 'file:a.md');
});

/** The text, once for each of its objects with the first member of that object said twice, the other way first. */
function doubled(text: string): string[] {
  return [...text.matchAll(/\{("[^"]+"):/g)].map(({ index, 1: key = '' }) => {
    return `${text.slice(0, index)}{${key}:null,${text.slice(index + 1)}`;
  });
}

const git = (...args: string[]): string =>
  execFileSync('git', ['--git-dir', alpha.repository, ...args], { encoding: 'utf8' });
const firstFile = (branch: string): string => {
  const [path = ''] = git('ls-tree', '-r', '--name-only', branch).split('\n');
  return git('cat-file', 'blob', `${branch}:${path}`).trimEnd();
};

describe('D8: what comes from another host', () => {
  test('D8: a line, a trust op, a view line and the heads of a real host, with any key of theirs twice, are refused', () => {
    const heads = printHeads({
      mesh,
      host: 'alpha',
      heads: { alpha: { oid: '1'.repeat(40), seq: 1, link: '2'.repeat(64) } },
      trust: { oid: '3'.repeat(40), hash: '4'.repeat(64) },
      addresses: { alpha: 'ssh://127.0.0.1:1' },
      version: 'x',
    });
    const documents: [string, (text: string) => { readonly ok: boolean }][] = [
      [firstFile('log/alpha'), (text) => parseLine(text, mesh)],
      [firstFile('trust'), parseTrustOp],
      [firstFile('view/alpha').split('\n')[0] ?? '', parseViewLine],
      [heads, parseHeads],
    ];
    for (const [text, parse] of documents) {
      expect(parse(text)).toMatchObject({ ok: true });
      const twice = doubled(text);
      expect(twice.length).toBeGreaterThan(1);
      for (const one of twice) expect(parse(one)).toMatchObject({ ok: false });
    }
  });
});

describe('D8: what is said on this machine', () => {
  test('D8: a line of append, of import and of the socket, and a call of MCP: refused, and nothing is written', async () => {
    const file = join(bench.folder(), 'twice.jsonl');
    writeFileSync(file, '{"kind":"lesson","subject":"lesson/a","subject":"lesson/b","content":"x"}\n');
    expect(await alpha.refused(2, ['append', '--file', file])).toMatchObject({
      message: expect.stringContaining('a key stands twice'),
    });
    const imported = await alpha.ctl('import', file, '--kind', 'jsonl', '--json');
    expect(imported.stdout).toContain('a key stands twice');

    await alpha.start();
    const event = '{"kind":"lesson","subject":"lesson/a","content":"x","content":"y"}';
    const answer = await overSocket(`{"id":1,"method":"append","params":{"events":[${event}]}}`);
    expect(answer).toMatchObject({ id: null, error: { code: 'BAD_REQUEST' } });

    const said = callMcp('{"name":"lesson","arguments":{"subject":"lesson/a","content":"x","content":"y"}}');
    expect(said).toContainEqual({
      jsonrpc: '2.0',
      id: 2,
      error: { code: -32_600, message: expect.stringContaining('a key stands twice') },
    });
    expect(said).toContainEqual(expect.objectContaining({ id: 3, result: expect.anything() }));
    await alpha.stop();
    expect(await alpha.json('verify')).toMatchObject({ ok: true, logs: { alpha: { lines: 1 } } });
  });

  test('D8: a config.toml that sets a key or a table twice is refused with its line', () => {
    const at = { file: 'config.toml', user: '/home/ann' };
    const [key, table] = ['[health]\nquiet_days = 1\n', '[quiet_days]\nbeta = 1\n'];
    expect(() => parseConfig(`${key}${table}`, at)).not.toThrow();
    expect(() => parseConfig(`${key}quiet_days = 2\n`, at)).toThrow(/config\.toml.*3/s);
    expect(() => parseConfig(`${table}beta = 2\n`, at)).toThrow(/config\.toml.*3/s);
    expect(() => parseConfig(`${table}${table}`, at)).toThrow(/config\.toml.*3/s);
  });

  test('D8: the files of the home, as a merge of two copies leaves them, are damage and no choice', async () => {
    const identity = join(alpha.home, 'keys', 'identity.json');
    const sound = readFileSync(identity, 'utf8');
    writeFileSync(identity, sound.replace('{', '{"host":"beta",'));
    expect(await alpha.refused(1, ['status'])).toMatchObject({ code: 'KEY_DAMAGED' });
    writeFileSync(identity, sound);

    const heads = join(alpha.home, 'last-heads.json');
    const text = readFileSync(heads, 'utf8');
    const [entry = ''] = /"alpha":\{[^}]*\}/.exec(text) ?? [];
    writeFileSync(heads, text.replace(entry, `${entry.replace(/"seq":\d+/, '"seq":9')},${entry}`));
    const { alarms } = await alpha.json<{ alarms: { kind: string }[] }>('status');
    expect(alarms).toMatchObject([{ kind: 'LAST_HEADS_DAMAGED' }]);
    expect(existsSync(`${heads}.damaged`)).toBe(true);
  });
});

function overSocket(line: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(join(alpha.home, 'memd.sock'), () => socket.write(`${line}\n`));
    socket.on('error', reject);
    socket.once('data', (chunk: Buffer) => {
      socket.destroy();
      resolve(JSON.parse(chunk.toString('utf8')));
    });
  });
}

/** Says hello, makes this call with id 2 and a sound one with id 3. @returns every answer. */
function callMcp(params: string): unknown[] {
  const hello = '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}';
  const input = [
    `{"jsonrpc":"2.0","id":1,"method":"initialize","params":${hello}}`,
    '{"jsonrpc":"2.0","method":"notifications/initialized"}',
    `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":${params}}`,
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"status","arguments":{}}}',
  ];
  const stdout = execFileSync(process.execPath, [memctl, '--home', alpha.home, 'mcp'], {
    input: `${input.join('\n')}\n`,
    encoding: 'utf8',
    timeout: 20_000,
  });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
