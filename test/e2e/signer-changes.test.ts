/** What changes when signers and hosts come and go: rotation, revocation with marks, disagreement, forks of the charter. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { ApiReply } from '../../drills/lib/api.ts';
import { enrol } from '../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

interface Item {
  readonly item: string;
  readonly value: unknown;
  readonly ops: readonly string[];
  readonly conflicts: readonly { readonly kind: string }[];
}
interface Charter {
  readonly trust: string;
  readonly items: readonly Item[];
  readonly ops: readonly { readonly op: string; readonly kind: string; readonly status: string }[];
  readonly hosts: readonly { readonly host: string; readonly status: string; readonly end: number | null }[];
  readonly delegations: readonly unknown[];
}
interface Shown {
  readonly status: string;
  readonly reason?: string;
  readonly level: string;
  readonly lines: readonly { readonly seq: number; readonly auth?: Record<string, unknown> }[];
}

const bench = openBench();
const at = (name: string): string => join(bench.folder(), name);

function makeKey(name: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', at(name)]);
  return at(name);
}

/** A running host with a mesh of its own, and craig as its signer. */
async function found(name: string): Promise<BenchHost> {
  const host = await bench.lay(name);
  const key = makeKey(`craig-of-${name}`);
  const address = ['--listen', host.address, '--address', `ssh://${host.address}`];
  await host.json('init', '--host', name, ...address, '--signer', `${key}.pub`, '--as', 'craig');
  await host.start();
  return host;
}

async function addSigner(host: BenchHost, name: string, scopes = '*'): Promise<string> {
  const key = makeKey(`${name}-of-${host.name}`);
  await host.json('signer', 'add', `${key}.pub`, '--as', name, '--scopes', scopes, '--yes');
  return key;
}

async function sign(host: BenchHost, subject: string, value: string, ...rest: string[]): Promise<string> {
  const said = ['--value', value, '--home-ref', 'file:a.md', '--yes', ...rest];
  return (await host.json<{ id: string }>('sign', subject, ...said)).id;
}

const charter = (host: BenchHost): Promise<Charter> => host.json<Charter>('charter');
const shown = (host: BenchHost, id: string): Promise<Shown> => host.json<Shown>('show', id);
const itemOf = ({ items }: Charter, name: string): Item | undefined => items.find(({ item }) => item === name);

describe('signer rotate', () => {
  let solo: BenchHost;
  let before: string;
  beforeAll(async () => {
    solo = await found('solo');
    before = await sign(solo, 'note/old', 'a');
  });

  test('the new key signs from here on, by default too; what the old one signed stands, and the old one signs no more', async () => {
    const key = makeKey('craig-two');
    const done = await solo.json('signer', 'rotate', 'craig', `${key}.pub`, '--as', 'craig-two', '--yes');
    expect(done).toMatchObject({ signer: 'craig-two', revoked: 'craig', id: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const list = await solo.json<{ name: string; status: string; scopes: string[] }[]>('signer', 'list');
    expect(list.map(({ name, status }) => `${name} ${status}`)).toEqual(['craig revoked', 'craig-two active']);
    expect(list[1]?.scopes).toEqual(list[0]?.scopes);
    expect(await shown(solo, before)).toMatchObject({
      status: 'served',
      level: 'signed',
      lines: [{ auth: { signer: 'craig', valid: true, signerStatus: 'revoked' } }],
    });
    const after = await solo.json<{ signer: string }>(
      ...(['sign', 'note/new', '--value', 'b', '--home-ref', 'file:a.md', '--yes'] as const),
    );
    expect(after.signer).toBe('craig-two');
    const old = at('craig-of-solo');
    const said = ['sign', 'note/late', '--value', 'c', '--home-ref', 'file:a.md', '--yes', '--key', old];
    expect((await solo.refused(6, said)).message).toMatch(/revoked|no signer/);
    const exported = await solo.ctl('signer', 'export');
    expect(exported.stdout).toMatch(/^# revoked by craig, trust op [0-9a-f]{64}: craig /m);
    expect(exported.stdout).toMatch(/^craig-two namespaces=/m);
  });

  test('when the second op is refused, both keys count and the message says what is left to do', async () => {
    const dana = await addSigner(solo, 'dana', '*,charter,purge');
    const key = makeKey('craig-three');
    const rotate = ['signer', 'rotate', 'craig-two', `${key}.pub`, '--as', 'craig-three', '--yes', '--key', dana];
    const error = await solo.refused(6, rotate);
    expect(error).toMatchObject({
      code: 'ROTATE_HALF_DONE',
      message: expect.stringMatching(
        /craig-three was added by trust op [0-9a-f]{64}, but craig-two is not revoked.*ranks before/,
      ),
      hint: expect.stringContaining('memctl signer revoke craig-two'),
    });
    const list = await solo.json<{ name: string; status: string }[]>('signer', 'list');
    expect(
      list
        .filter(({ status }) => status === 'active')
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(['craig-three', 'craig-two', 'dana']);
  });
});

describe('signer revoke', () => {
  let host: BenchHost;
  let dana: string;
  beforeAll(async () => {
    host = await found('marks');
    dana = await addSigner(host, 'dana', '*,charter');
  });

  test('refused: the last charter signer, a senior, an unknown name, marks that are none or lie ahead', async () => {
    const before = (await charter(host)).trust;
    const kim = await addSigner(host, 'kim', 'note/*');
    const after = (await charter(host)).trust;
    expect(after).not.toBe(before);
    const revoke = (...args: string[]): string[] => ['signer', 'revoke', ...args, '--yes'];
    expect((await host.refused(6, revoke('craig', '--key', dana))).message).toContain('craig ranks before dana');
    expect((await host.refused(6, revoke('dana', '--key', kim))).message).toContain('lacks the scope charter');
    expect(await host.refused(7, revoke('nobody'))).toMatchObject({ code: 'SIGNER_UNKNOWN' });
    expect(await host.refused(2, revoke('dana', '--marks', 'alpha'))).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await host.refused(2, revoke('dana', '--marks', 'marks:999'))).toMatchObject({ code: 'BAD_REQUEST' });
    expect(await host.refused(7, revoke('dana', '--marks', 'nobody:1'))).toMatchObject({ code: 'HOST_UNKNOWN' });
    expect(await host.refused(7, revoke('dana', '--void', 'ffffffff'))).toMatchObject({ code: 'ID_UNKNOWN' });
    expect((await charter(host)).trust).toBe(after);
    const one = await found('single');
    const only = await one.refused(6, revoke('craig'));
    expect(only).toMatchObject({ message: expect.stringContaining('only signer with the scope charter') });
    expect(only.hint).toContain('memctl signer rotate');
  });

  test('without --yes it shows what falls and signs nothing', async () => {
    await sign(host, 'note/seen', 'a', '--key', dana);
    const { code, stderr } = await host.ctl('signer', 'revoke', 'dana', '--marks', '');
    expect(code).toBe(6);
    expect(stderr).toMatch(/approvals by dana stand up to no line/);
    expect(stderr).toMatch(/falls: the approval of 1 event/);
    expect(stderr).toMatch(/nothing was signed/);
  });

  test('what was approved up to the mark stands; what came after is held out as revoked until somebody approves it again', async () => {
    const early = await sign(host, 'note/early', 'a', '--key', dana);
    const seq = (await shown(host, early)).lines[0]?.seq ?? 0;
    const late = await sign(host, 'note/late', 'b', '--key', dana);
    await host.json('signer', 'revoke', 'dana', '--marks', `marks:${seq}`, '--yes');
    expect(await shown(host, early)).toMatchObject({ status: 'served', level: 'signed' });
    expect(await shown(host, late)).toMatchObject({
      status: 'held',
      reason: 'REVOKED',
      lines: [{ auth: { verdict: 'revoked' } }],
    });
    const recalled = await host.ctl('recall', 'note/late', '--json');
    expect({ code: recalled.code, status: (JSON.parse(recalled.stdout) as { status: string }).status }).toEqual({
      code: 6,
      status: 'held',
    });
    const again = ['signer', 'revoke', 'dana', '--yes'];
    expect((await host.refused(6, again)).message).toContain('revoked already');
    await host.json('sign', '--event', late, '--yes');
    expect(await shown(host, late)).toMatchObject({ status: 'served', level: 'signed' });
    const dir = at('proof-late');
    const { approvals } = await host.json<{ approvals: { signer: string; command: string }[] }>(
      'show',
      late,
      '--sshsig',
      dir,
    );
    expect(approvals.map(({ signer }) => signer).toSorted()).toEqual(['craig', 'dana']);
    for (const { command } of approvals) execFileSync('sh', ['-c', command], { stdio: 'ignore' });
  });

  test('a thief: the ops that the revocation leaves out fall, and what only they made possible', async () => {
    const thief = await addSigner(host, 'erin', '*,charter');
    const planted = makeKey('planted');
    const add = ['signer', 'add', `${planted}.pub`, '--as', 'planted', '--yes', '--key', thief];
    const { id } = await host.json<{ id: string }>(...(add as [string, ...string[]]));
    const preview = await host.ctl('signer', 'revoke', 'erin', '--void', id.slice(0, 12));
    expect(preview.stderr).toMatch(new RegExp(`falls: op ${id.slice(0, 12)}: signer-add signer:planted by erin`));
    await host.json('signer', 'revoke', 'erin', '--void', id.slice(0, 12), '--yes');
    const { ops } = await charter(host);
    expect(ops.find(({ op }) => op === id)?.status).toBe('void');
    expect((await host.ctl('charter')).stdout).toMatch(new RegExp(`^VOID op ${id.slice(0, 12)}: signer-add`, 'm'));
    const said = ['sign', 'note/planted', '--value', 'x', '--home-ref', 'file:a.md', '--yes', '--key', planted];
    expect(await host.refused(6, said)).toMatchObject({ code: 'SIGNER_UNKNOWN' });
  });

  test('a thief found out late: a second revocation lets all fall that the first one knew', async () => {
    const thief = await addSigner(host, 'hugo', '*,charter');
    const { id } = await host.json<{ id: string }>('policy', 'set', 'index.lines', '90', '--yes', '--key', thief);
    const statusOf = async (): Promise<string | undefined> =>
      (await charter(host)).ops.find(({ op }) => op === id)?.status;
    await host.json('signer', 'revoke', 'hugo', '--yes');
    const first = await statusOf();
    await host.json('signer', 'revoke', 'hugo', '--void', 'all', '--yes');
    expect([first, await statusOf()]).toEqual(['counted', 'void']);
  });

  test('two signers who disagree: nobody is served, until one of them replaces both', async () => {
    const gus = await addSigner(host, 'gus');
    const first = await sign(host, 'note/dispute', 'a');
    const second = await sign(host, 'note/dispute', 'b', '--key', gus, '--leave', first);
    expect((await shown(host, first)).status).toBe('parked');
    expect((await shown(host, second)).status).toBe('parked');
    const { alarms } = await host.json<{ alarms: { kind: string; subject?: string }[] }>('status');
    expect(alarms).toContainEqual(expect.objectContaining({ kind: 'SIGNERS_DISAGREE', subject: 'note/dispute' }));
    await host.json('sign', 'note/dispute', '--accept', second, '--yes');
    expect(await host.json('recall', 'note/dispute')).toMatchObject({ status: 'served', claim: { value: 'b' } });
  });

  test('a delegated stretch lifts the lines of this host, on its subjects and kinds alone', async () => {
    const delegate = ['signer', 'delegate', 'marks', '--subjects', 'ssh-route/*', '--lines', '2', '--yes'] as const;
    const { from, upto } = await host.json<{ from: number; upto: number }>(...delegate);
    expect(upto - from).toBe(1);
    const claim = async (subject: string): Promise<string> =>
      (await host.json<{ id: string }>('assert', subject, '--value', 'x', '--home', 'file:a.md')).id;
    expect((await shown(host, await claim('ssh-route/a'))).level).toBe('delegated');
    expect((await shown(host, await claim('note/a'))).level).toBe('unsigned');
    expect((await shown(host, await claim('ssh-route/b'))).level).toBe('unsigned');
    expect((await charter(host)).delegations).toMatchObject([{ host: 'marks', subjects: ['ssh-route/*'], from, upto }]);
    expect(await host.refused(2, [...delegate.slice(0, 5), '--lines', '0', '--yes'])).toMatchObject({
      code: 'BAD_REQUEST',
    });
    expect((await host.refused(6, [...delegate.slice(0, 5), '--kinds', 'nonsense', '--yes'])).code).toBe('OP_REFUSED');
  });
});

describe('two hosts', () => {
  let alpha: BenchHost;
  let beta: BenchHost;
  let key: string;
  beforeAll(async () => {
    alpha = await found('alpha');
    key = at('craig-of-alpha');
    beta = await bench.lay('beta');
    const { mesh } = await charter(alpha).then(() => alpha.json<{ mesh: string }>('status'));
    await enrol(alpha, beta, mesh);
    await beta.start();
    for (const host of [alpha, beta, alpha]) await host.json('fetch');
  }, 60_000);

  test('they set one policy apart: the same fork on both, and one later op ends it on both', async () => {
    // Without memd: what one says is news to the other at once.
    await Promise.all([alpha.stop(), beta.stop()]);
    await alpha.json('policy', 'set', 'index.lines', '40');
    await beta.json('policy', 'set', 'index.lines', '60', '--key', key);
    await alpha.json('audience', 'add', 'ops', '--includes', 'operator');
    for (const host of [alpha, beta]) await host.start();
    for (const host of [alpha, beta]) await host.json('fetch');
    const both = await Promise.all([charter(alpha), charter(beta)]);
    expect(both[0].trust).toBe(both[1].trust);
    for (const one of both) {
      const item = itemOf(one, 'policy:index.lines');
      expect(item).toMatchObject({ value: null, conflicts: [{ kind: 'CHARTER_FORK' }] });
      expect(item?.ops).toHaveLength(2);
      expect(itemOf(one, 'audience:ops'), 'the rest of the charter is untouched').toMatchObject({
        value: { includes: ['operator'] },
        conflicts: [],
      });
    }
    const { alarms } = await beta.json<{ alarms: { kind: string; detail: string }[] }>('status');
    expect(alarms).toContainEqual(
      expect.objectContaining({ kind: 'CHARTER_FORK', detail: expect.stringContaining('policy:index.lines') }),
    );
    const checks = await beta.ctl('doctor', '--json');
    expect(checks.stdout).toContain('CHARTER_FORK policy:index.lines');
    expect((await alpha.ctl('policy', 'show')).stdout).toMatch(/CONFLICT CHARTER_FORK/);
    await beta.json('policy', 'set', 'index.lines', '50', '--key', key);
    await alpha.json('fetch');
    for (const host of [alpha, beta])
      expect(itemOf(await charter(host), 'policy:index.lines')).toMatchObject({ value: 50, conflicts: [] });
  }, 60_000);

  test('a rekey can be drafted over the local API; what is malformed is refused like anything that would not count', async () => {
    const api = await alpha.api();
    const publicKey = (name: string): string =>
      readFileSync(`${makeKey(name)}.pub`, 'utf8')
        .split(' ')
        .slice(0, 2)
        .join(' ');
    const [signer] = await alpha.json<{ key: string }[]>('signer', 'list');
    const { result: pin } = await api.call('place', { host: 'beta' });
    const args = { name: 'beta', sign: publicKey('new-sign'), ssh: publicKey('new-ssh'), pin };
    const draft = (more: Record<string, unknown>): Promise<ApiReply> =>
      api.call('trust.draft', { op: 'host-rekey', args: { ...args, ...more }, key: signer?.key });
    const { body } = (await draft({})).result as { body: string };
    expect(JSON.parse(body)).toMatchObject({ ...args, op: 'host-rekey', by: { signer: 'craig' } });
    for (const bad of [{ pin: null }, { pin: 'x' }, { name: 'nobody' }, { ssh: args.sign }])
      expect({ bad, ...(await draft(bad)) }).toMatchObject({ bad, error: { code: 'OP_REFUSED' } });
    expect((await api.call('trust.preview', { body: '{}' })).error).toMatchObject({ code: 'BAD_REQUEST' });
    expect((await api.call('trust.preview', { body })).result).toEqual({ falls: [], events: 0 });
  });

  test('a revoked host is cut off at once, is told by whom, and what it says later is not taken', async () => {
    const kept = (await beta.json<{ id: string }>('lesson', 'lesson/kept', 'before')).id;
    await alpha.json('fetch');
    const shownFirst = await alpha.ctl('host', 'revoke', 'beta');
    expect(shownFirst.code).toBe(6);
    expect(shownFirst.stderr).toMatch(/host beta: lines up to 1 stand/);
    expect(await alpha.refused(7, ['host', 'revoke', 'nobody', '--yes'])).toMatchObject({ code: 'HOST_UNKNOWN' });
    await alpha.json('host', 'revoke', 'beta', '--yes');
    expect(await alpha.json('host', 'list')).toMatchObject([
      { host: 'alpha', status: 'active' },
      { host: 'beta', status: 'revoked', end: 1, seq: 1 },
    ]);
    expect(await alpha.refused(7, ['fetch', 'beta'])).toMatchObject({ code: 'PEER_UNKNOWN' });
    expect((await alpha.json<{ peers: unknown[] }>('status')).peers).toEqual([]);
    const asked = await beta.ctl('fetch', '--json');
    expect(asked.code).toBe(1);
    const [fetched] = JSON.parse(asked.stdout) as { state: string; reason: string }[];
    expect(fetched).toMatchObject({
      state: 'refused',
      reason: expect.stringMatching(/host beta was revoked by signer craig, trust op [0-9a-f]{12}/),
    });
    await beta.json('lesson', 'lesson/late', 'after');
    await alpha.json('fetch');
    expect(await shown(alpha, kept)).toMatchObject({ status: 'served' });
    expect((await alpha.json<{ hosts: { seq: number }[] }>('charter')).hosts[1]?.seq).toBe(1);
    expect((await alpha.refused(6, ['host', 'revoke', 'beta', '--yes'])).message).toContain('revoked already');
    await alpha.json('host', 'revoke', 'beta', '--at', '0', '--yes');
    expect(await alpha.json('host', 'list')).toMatchObject([{ seq: 0 }, { status: 'revoked', end: 0, seq: 0 }]);
    expect(await alpha.ctl('recall', 'lesson/kept')).toMatchObject({ code: 7 });
  }, 60_000);
});

test('a host that holds its own revocation says so, reads on, and appends nothing that could never count', async () => {
  const lone = await found('lone');
  await lone.json('lesson', 'lesson/a', 'x');
  await lone.json('host', 'revoke', 'lone', '--yes');
  const refusal = { code: 'HOST_REVOKED', message: expect.stringMatching(/host lone was revoked by signer craig/) };
  expect(await lone.refused(6, ['lesson', 'lesson/b', 'y'])).toMatchObject(refusal);
  expect(await lone.json('status')).toMatchObject({ alarms: [expect.objectContaining({ kind: 'HOST_REVOKED' })] });
  expect(await lone.json('recall', 'lesson/a')).toMatchObject({ status: 'served' });
  const checks = await lone.ctl('doctor', '--json');
  expect(checks.stdout).toContain('host lone was revoked');
});
