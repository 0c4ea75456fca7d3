import { spawn } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, onTestFinished, test } from 'vitest';
import { meshOfOne, newWorld, type Ran, type World } from '../lib/memctl.ts';

const memctl = fileURLToPath(new URL('../../bin/memctl', import.meta.url));
const eras = [
  ['2025', 'legacy'],
  ['2026', { pin: '2026-07-28' }],
] as const;
const writing = ['assert', 'decide', 'lesson', 'observe', 'propose', 'question', 'retract'];

const environment = (world: World, more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: join(world.folder, 'user'),
  XDG_CONFIG_HOME: join(world.folder, 'config'),
  XDG_CACHE_HOME: join(world.folder, 'cache'),
  MEMD_HOME: world.home,
  MEMCTL_SESSION: 'agent-7',
  ...more,
});

interface Said {
  readonly text: string;
  readonly isError: boolean;
}

interface Agent {
  readonly client: Client;
  readonly use: (tool: string, input?: Record<string, unknown>) => Promise<Said>;
}

/** The official client, connected to a `memctl mcp` of its own. */
async function agentIn(world: World, mode: (typeof eras)[number][1], args: readonly string[] = []): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [memctl, 'mcp', ...args],
    cwd: world.work,
    env: environment(world),
    stderr: 'ignore',
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  const use: Agent['use'] = async (tool, input = {}) => {
    const { content, isError } = await client.callTool({ name: tool, arguments: input });
    const [first] = content as { type: string; text: string }[];
    return { text: first?.text ?? '', isError: isError === true };
  };
  return { client, use };
}

describe.each(eras)('MCP, era of %s, official client', (year, mode) => {
  test('the tools say what they do; none can sign, promote, purge or change the charter', async () => {
    const { client } = await agentIn(await meshOfOne(), mode);
    expect(client.getProtocolEra()).toBe(year === '2026' ? 'modern' : 'legacy');
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['parks', 'recall', 'search', 'status', 'why', ...writing]));
    expect(names.filter((name) => /sign|promote|purge|charter|class|host|policy|key|unlock|revoke/.test(name))).toEqual(
      [],
    );
    for (const { name, annotations, inputSchema } of tools) {
      expect([name, annotations?.readOnlyHint]).toEqual([name, !writing.includes(name)]);
      expect(annotations?.destructiveHint).toBe(name === 'retract');
      expect(
        Object.keys(inputSchema.properties ?? {}).filter((key) => /^(?:host|session|at|time|nonce|mesh)$/.test(key)),
      ).toEqual([]);
    }
    expect(client.getInstructions()).toContain('recall');
  });

  test.each(['with memd', 'without memd'])('%s: what one call writes the next one reads', async (daemon) => {
    const world = await meshOfOne();
    if (daemon === 'with memd') await world.memd();
    mkdirSync(join(world.work, 'infra'), { recursive: true });
    writeFileSync(join(world.work, '.memd'), 'web\n');
    writeFileSync(join(world.work, 'infra/SERVICES.md'), '## Grafana\nnas:3000\n');
    const { use } = await agentIn(world, mode);
    const home = 'file:infra/SERVICES.md#grafana';
    const observed = await use('observe', { subject: 'endpoint/grafana', home });
    expect(observed.text).toMatch(/^observe endpoint\/grafana [0-9a-f]{12}[^]*sha256:[0-9a-f]{64}$/);
    const basis = [observed.text.slice('observe endpoint/grafana '.length, 41 - 4)];
    expect((await use('assert', { subject: 'endpoint/grafana', value: 'nas:3000', home, basis })).isError).toBe(false);
    const recalled = await use('recall', { subject: 'endpoint/grafana' });
    expect(recalled.text).toMatch(/^nas:3000\n/);
    expect(recalled.text).toContain('agent-7');
    expect(recalled.text).toContain('| nas:3000');
    await use('lesson', { subject: 'lesson/quote', content: 'Quote every path' });
    await use('decide', { subject: 'decision/db', content: 'Postgres; SQLite was rejected' });
    await use('propose', { subject: 'endpoint/grafana', value: 'nas2:3000', home });
    await use('question', { subject: 'endpoint/grafana', content: 'Does it move?' });
    expect((await use('recall', { subject: 'endpoint/grafana' })).text).toMatch(/^UNDECIDED/);
    expect((await use('retract', { subject: 'lesson/quote', content: 'was wrong' })).text).toContain('supersedes');
    expect((await use('recall', { subject: 'lesson/quote' })).text).toMatch(/^RETRACTED/);
    expect((await use('search', { words: 'nas:3000 grafana' })).text).toContain('endpoint/grafana');
    expect((await use('search', { words: 'nowhere-at-all' })).text).toContain('nothing found');
    expect((await use('why', { topic: 'decision/db' })).text).toMatch(/^RATIONALE, not truth[^]*SQLite was rejected/);
    expect((await use('parks')).text).toMatch(/^no parks/);
    expect((await use('status')).text).toContain('host alpha');
    const { stdout } = await world.run(['log', '--json']);
    const claims = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; session: string });
    expect(claims.map(({ kind }) => kind)).toEqual([
      'observe',
      'assert',
      'lesson',
      'decision',
      'propose',
      'question',
      'retract',
    ]);
    expect(new Set(claims.map(({ session }) => session))).toEqual(new Set(['agent-7']));
  });

  test('an argument cannot speak for another host, session or time', async () => {
    const world = await meshOfOne();
    const { use } = await agentIn(world, mode);
    const before = Date.now();
    const forged = {
      host: 'beta',
      session: 'agent-1',
      at: '2001-01-01T00:00:00.000Z',
      nonce: '0'.repeat(32),
      mesh: '0',
    };
    expect((await use('lesson', { subject: 'lesson/x', content: 'x', ...forged })).isError).toBe(false);
    const { value } = await world.json(['log']);
    expect(value).toMatchObject({ host: 'alpha', session: 'agent-7' });
    expect(Date.parse(String(value['at']))).toBeGreaterThanOrEqual(before - 1_000);
  });

  test('an error is an answer that says the next step', async () => {
    const { client, use } = await agentIn(await meshOfOne(), mode);
    expect(await use('lesson', { subject: 'rule/x', content: 'x' })).toEqual({
      isError: true,
      text: expect.stringMatching(/^CLASS_UNKNOWN: there is no class rule in this mesh\nnext: .*memctl class list/),
    });
    expect(await use('recall')).toEqual({ isError: true, text: expect.stringContaining('class/entity, for example') });
    expect(await use('observe', { subject: 'endpoint/x', home: 'file:../../etc/passwd' })).toMatchObject({
      isError: true,
    });
    expect(await use('observe', { subject: 'endpoint/x', home: 'file:.ssh/id_ed25519' })).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^HOME_UNREADABLE: .*\nnext: /),
    });
    const token = `ghp_${'aB3'.repeat(12)}`;
    const refused = await use('lesson', { subject: 'lesson/x', content: `use ${token}` });
    expect(refused).toMatchObject({ isError: true, text: expect.stringMatching(/^SECRET_FOUND: /) });
    expect(refused.text).not.toContain(token);
    await expect(client.callTool({ name: 'sign', arguments: {} })).rejects.toThrow('not found');
  });

  test('a home without a mesh is said at the call, not by a server that does not start', async () => {
    const { use } = await agentIn(newWorld(), mode);
    expect(await use('status')).toMatchObject({ isError: true, text: expect.stringContaining('next: ') });
  });
});

/** Raw bytes in, raw bytes out. */
function converse(world: World, input: string, more: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [memctl, 'mcp'], { cwd: world.work, env: environment(world, more) });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('close', (code) => resolve({ code: code ?? 255, stdout, stderr }));
    child.stdin.end(input);
  });
}

const request = (id: number, method: string, params: unknown = {}): string =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
const hello = request(1, 'initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
});
const ready = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`;
const call = (id: number, name: string, input: unknown): string =>
  request(id, 'tools/call', { name, arguments: input });

describe('MCP on the wire', () => {
  test('stdout is JSON line by line, whatever comes in, and a client that has closed its end gets every answer', async () => {
    const world = await meshOfOne();
    const garbage = [
      'garbage{\n',
      '\n',
      '[]\n',
      '"x"\n',
      '{"jsonrpc":"1.0"}\n',
      '{"id":1}\n',
      `${'a'.repeat(70_000)}\n`,
      '\u0000\uFFFD\n',
    ];
    const { code, stdout } = await converse(
      world,
      [
        hello,
        ready,
        ...garbage,
        request(2, 'no/such/method'),
        call(3, 'recall', { subject: 7 }),
        call(4, 'nothing', {}),
        call(5, 'lesson', { subject: 'lesson/x', content: 'kept' }),
        call(6, 'assert', { subject: 'nope/x', content: 'y', home: 'file:a' }),
        call(7, 'status', {}),
        '{"jsonrpc":"2.0","id":8,"meth',
      ].join(''),
      { DEBUG: '*', NODE_DEBUG: 'net', MEMD_DEBUG: '1' },
    );
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { jsonrpc: string; id: number });
    expect(answers.every(({ jsonrpc }) => jsonrpc === '2.0')).toBe(true);
    expect(
      answers
        .map(({ id }) => id)
        .filter((id) => typeof id === 'number')
        .toSorted((a, b) => a - b),
    ).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(code).toBe(0);
    expect((await world.json(['recall', 'lesson/x'])).value).toMatchObject({ status: 'served' });
  });

  test('without any input it ends at once, and says nothing', async () => {
    expect(await converse(newWorld(), '')).toMatchObject({ code: 0, stdout: '' });
  });

  test.each(['without memd', 'with memd'])(
    'A3, D9: two agents on one home at once, %s: all of their writes are there (2 × 20), each under its own name',
    async (daemon) => {
      const world = await meshOfOne();
      if (daemon === 'with memd') await world.memd();
      const agents = ['agent-a', 'agent-b'];
      const input = (who: string): string =>
        [
          hello,
          ready,
          ...Array.from({ length: 20 }, (_, index) =>
            call(index + 2, 'lesson', { subject: `lesson/${who}-${index}`, content: who }),
          ),
        ].join('');
      const said = await Promise.all(agents.map((who) => converse(world, input(who), { MEMCTL_SESSION: who })));
      expect(said.map(({ stdout }) => stdout.match(/"isError"|"error"/g))).toEqual([null, null]);
      const { stdout } = await world.run(['log', '--limit', '50', '--json']);
      const events = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { seq: number; subject: string; session: string });
      expect(events.map(({ seq }) => seq).toSorted((x, y) => x - y)).toEqual(
        Array.from({ length: 40 }, (_, n) => n + 1),
      );
      for (const { subject, session } of events) expect(subject).toMatch(new RegExp(`^lesson/${session}-\\d+$`));
      expect((await world.json(['verify', '--deep'])).value).toMatchObject({ ok: true });
    },
    60_000,
  );

  test('a memd that ends and comes back: the next call finds what there is', async () => {
    const world = await meshOfOne();
    const memd = await world.memd();
    const { use } = await agentIn(world, 'legacy');
    expect((await use('status')).text).toContain('host alpha');
    const gone = new Promise((resolve) => memd.once('exit', resolve));
    memd.kill('SIGKILL');
    await gone;
    expect((await use('lesson', { subject: 'lesson/x', content: 'kept' })).isError).toBe(false);
    rmSync(join(world.home, 'memd.sock'), { force: true });
    await world.memd();
    expect((await use('recall', { subject: 'lesson/x' })).text).toMatch(/^kept/);
  });
});
