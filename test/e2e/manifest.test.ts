/** Manifests of three real hosts: signed with the views, cosigned by who agrees, checked without memd, refused when touched. */
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { converge, formMesh } from '../../drills/lib/hosts.ts';
import { manifestName } from '../../src/core/manifest.ts';
import type { ManifestReport } from '../../src/daemon/queries/verify-manifest.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let mesh = '';
let hosts: readonly [BenchHost, BenchHost, BenchHost];
let copies = 0;

beforeAll(async () => {
  hosts = [await bench.lay('alpha'), await bench.lay('beta'), await bench.lay('gamma')];
  mesh = await formMesh(hosts);
  for (const host of hosts) await say(host, 'note/first');
  await agree();
}, 120_000);

function say(host: BenchHost, subject: string): Promise<unknown> {
  return host.json('assert', subject, '--value', `by-${host.name}`, '--home', 'file:x');
}

/** Everybody holds the same, has signed it, and has heard what the others signed. */
async function agree(): Promise<void> {
  await converge(hosts);
  for (const host of hosts) await host.json('replay', '--at', 'now');
  await converge(hosts);
  for (const host of hosts) await host.json('index');
}

const viewsOf = (host: BenchHost): string => join(host.home, 'views', 'operator');

/** The views of a host as somebody took them away. */
function copyOf(host: BenchHost): string {
  const folder = join(bench.folder(), `copy-${(copies += 1)}`);
  cpSync(viewsOf(host), folder, { recursive: true });
  return folder;
}

async function check(host: BenchHost, folder = viewsOf(host), more: readonly string[] = []) {
  const { code, stdout, stderr } = await host.run([
    'verify',
    '--manifest',
    join(folder, manifestName),
    '--json',
    ...more,
  ]);
  const report = JSON.parse(stdout) as ManifestReport;
  return { code, stderr, report, codes: (report.problems ?? []).map((problem) => problem.code) };
}

describe('a manifest', { timeout: 120_000 }, () => {
  test('is signed by each host with its views, and cosigned by the hosts that agree', async () => {
    for (const host of hosts) {
      const { code, report } = await check(host);
      const others = hosts.map(({ name }) => name).filter((name) => name !== host.name);
      expect({ code, ...report }).toMatchObject({ code: 0, ok: true, host: host.name, cosigned: others, problems: [] });
      const status = await host.json<{ root: string; heads: unknown }>('status');
      expect(report).toMatchObject({ root: status.root, heads: status.heads, audience: 'operator' });
      expect(report.ageSeconds).toBeGreaterThanOrEqual(0);
      expect(report.files).toContain('INDEX.md');
      const { line } = JSON.parse(readFileSync(join(viewsOf(host), manifestName), 'utf8')) as { line: { n: number } };
      expect(line.n).toBeGreaterThan(0);
    }
  });

  test('of one host is checked on another, and by somebody who has an export only', async () => {
    const [alpha, beta] = hosts;
    const copy = copyOf(beta);
    expect(await check(alpha, copy)).toMatchObject({ code: 0, report: { host: 'beta', cosigned: ['alpha', 'gamma'] } });
    const out = join(bench.folder(), 'export');
    await alpha.json('export', out);
    const stranger = await bench.lay('stranger');
    const file = join(out, 'trust.jsonl');
    const trust = ['--mesh', mesh, '--trust', file];
    expect(await check(stranger, copy, trust)).toMatchObject({
      code: 0,
      stderr: '',
      report: { ok: true, host: 'beta' },
    });
    const [first = '', ...rest] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [first, '{}', ...rest, 'not an op', first].join('\n'));
    const { code, stderr } = await check(stranger, copy, trust);
    expect([code, stderr]).toEqual([0, `note: 2 lines of ${file} left out: no trust op, or one that cannot count\n`]);
    expect((await stranger.refused(2, ['verify', '--manifest', copy, '--mesh', mesh])).code).toBe('BAD_REQUEST');
    expect((await stranger.refused(1, ['verify', '--manifest', copy])).code).toBe('HOME_MISSING');
  });

  test('is not written again by a cycle that brings nothing', async () => {
    const [alpha] = hosts;
    const file = join(viewsOf(alpha), manifestName);
    const before = statSync(file, { bigint: true });
    for (let round = 0; round < 3; round += 1) await alpha.json('fetch');
    await alpha.json('index');
    const after = statSync(file, { bigint: true });
    expect([after.ino, after.mtimeNs]).toEqual([before.ino, before.mtimeNs]);
  });

  test('needs no memd, and says what was edited: a view, the manifest, a witness, a missing file', async () => {
    const [alpha, beta] = hosts;
    const touched = async (change: (folder: string) => void): Promise<readonly unknown[]> => {
      const folder = copyOf(alpha);
      change(folder);
      const { code, codes } = await check(alpha, folder);
      return [code, ...codes];
    };
    const inManifest = (from: RegExp, to: string) => (folder: string) => {
      const file = join(folder, manifestName);
      writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
    };
    await alpha.stop();
    expect(await touched(() => undefined)).toEqual([0]);
    expect(await touched((folder) => appendFileSync(join(folder, 'INDEX.md'), '- a rule of mine\n'))).toEqual([
      4,
      'MANIFEST_FILE',
    ]);
    expect(await touched((folder) => rmSync(join(folder, 'CONFLICTS.md')))).toEqual([4, 'MANIFEST_FILE']);
    expect(await touched(inManifest(/"root":"../, '"root":"00'))).toEqual([4, 'MANIFEST_SIGNATURE']);
    expect(await touched(inManifest(/"INDEX.md":"../, '"INDEX.md":"00'))).toEqual([4, 'MANIFEST_VIEWS']);
    expect(await touched(inManifest(/"audience":"operator"/, '"audience":"others"'))).toEqual([4, 'MANIFEST_VIEWS']);
    expect(await touched(inManifest(/"beta":"/, '"delta":"'))).toEqual([4, 'MANIFEST_COSIGN']);
    expect(await touched(inManifest(/\n$/, ' \n'))).toEqual([4, 'MANIFEST_FORM']);
    expect(await touched((folder) => truncateSync(join(folder, manifestName), 99_000_000))).toEqual([
      4,
      'MANIFEST_FORM',
    ]);
    const mixed = copyOf(alpha);
    cpSync(join(viewsOf(beta), manifestName), join(mixed, manifestName));
    // The bytes of the views are equal on hosts that agree.
    expect(await check(alpha, mixed)).toMatchObject({ code: 0, report: { host: 'beta' } });
    const human = await alpha.run(['verify', '--manifest', join(viewsOf(alpha), manifestName)]);
    expect(human.stdout).toMatch(
      /signed by alpha, .* ago .*\nas of heads .*\ncosigned by beta, gamma\nverified: 5 files/,
    );
    await alpha.start();
  });

  test('of another mesh is refused; one of a mesh that has said nothing yet says so', async () => {
    const [alpha] = hosts;
    const other = await bench.lay('other');
    await other.json('init', '--host', 'other');
    await other.json('index');
    const own = await other.run(['verify', '--manifest', join(viewsOf(other), manifestName)]);
    expect(own.stdout).toContain('\nas of no lines yet, root ');
    expect((await other.run(['export', join(bench.folder(), 'nothing-said')])).stdout).toContain(
      '  heads none: there are no lines yet\n',
    );
    expect(await check(other, copyOf(alpha))).toMatchObject({ code: 4, codes: ['MANIFEST_MESH'] });
  });

  test('that is old is refused where a newer one was seen, and says its age', async () => {
    const [alpha, beta] = hosts;
    const old = copyOf(alpha);
    expect(await check(beta, old)).toMatchObject({ code: 0 });
    await say(alpha, 'note/newer');
    await agree();
    expect(await check(beta, copyOf(alpha))).toMatchObject({ code: 0 });
    const { code, codes, report } = await check(beta, old);
    expect([code, codes]).toEqual([4, ['MANIFEST_OLDER']]);
    expect(report).toMatchObject({ ok: false, host: 'alpha' });
    expect(report.ageSeconds).toBeGreaterThanOrEqual(0);
    expect(report.problems[0]?.hint).toContain('memctl index');
  });

  test('is written again with the views when somebody edits it, and the edit is kept and told', async () => {
    const [alpha] = hosts;
    const file = join(viewsOf(alpha), manifestName);
    const good = readFileSync(file, 'utf8');
    writeFileSync(file, '{}\n');
    const { warnings } = await alpha.json<{ warnings: readonly string[] }>('status');
    expect(warnings.join('\n')).toContain(`${manifestName} was edited by hand`);
    await alpha.json('index');
    expect(readFileSync(file, 'utf8')).toBe(good);
    rmSync(file);
    await alpha.json('index');
    expect(readFileSync(file, 'utf8')).toBe(good);
  });

  test('from before a purge, or under any other trust set, is refused, and nothing of it stays in the home', async () => {
    const [alpha, beta] = hosts;
    await alpha.json('assert', 'note/leak', 'the word is xylophone-4711', '--home', 'file:x');
    const [{ id }] = [JSON.parse((await alpha.ctl('log', 'note/leak', '--json')).stdout.trim()) as { id: string }];
    await agree();
    const before = copyOf(alpha);
    const folder = viewsOf(alpha);
    writeFileSync(join(folder, `${manifestName}.edited-01234567`), 'xylophone-4711');
    await alpha.json('purge', id, '--reason', 'secret', '--yes');
    await agree();
    expect(() => statSync(join(folder, `${manifestName}.edited-01234567`))).toThrow('ENOENT');
    const { code, codes, report } = await check(beta, before);
    expect([code, codes]).toEqual([4, ['MANIFEST_TRUST']]);
    expect(report.problems[0]?.message).toContain('has grown since');
    expect(report.problems[0]?.hint).toContain('memctl fetch on alpha');
    expect((await check(alpha, before)).report.problems[0]?.hint).toContain(
      'memctl index writes the views of this host',
    );
    for (const host of hosts) expect(await check(host)).toMatchObject({ code: 0, report: { host: host.name } });
    expect((await alpha.json<{ ok: boolean }>('verify', '--deep')).ok).toBe(true);
  });

  test('of a host that was revoked is refused, also as a witness', async () => {
    const [alpha, , gamma] = hosts;
    await agree();
    const [hers, ours] = [copyOf(gamma), copyOf(alpha)];
    expect(await check(alpha, hers)).toMatchObject({ code: 0 });
    await alpha.json('host', 'revoke', 'gamma', '--yes');
    expect(await check(alpha, hers)).toMatchObject({
      code: 4,
      codes: ['MANIFEST_HOST'],
      report: { root: null, host: null },
    });
    expect(await check(alpha, ours)).toMatchObject({ code: 4, codes: ['MANIFEST_TRUST'] });
    await alpha.json('index');
    const { code, report } = await check(alpha);
    expect([code, report.cosigned.includes('gamma')]).toEqual([0, false]);
  });

  test('is nothing to go by where there is none', async () => {
    const [alpha] = hosts;
    const nowhere = join(bench.folder(), 'nowhere');
    mkdirSync(nowhere);
    expect(await check(alpha, nowhere)).toMatchObject({ code: 4, codes: ['MANIFEST_FORM'] });
  });
});
