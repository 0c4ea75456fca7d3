/** Purges in a mesh: who has carried one out, who comes with bodies afterwards, and what stands where nobody looks. */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readLogWithGit } from '../../drills/lib/check-log.ts';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { parseLine, type Line } from '../../src/core/line.ts';
import { canonicalJson, type JsonObject } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { findBytes } from '../lib/byte-search.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';
import { forgeLines, stamped } from '../lib/hosts-forge.ts';
import { expectSound, git, secret, subject, tellSecret, type Purged } from '../lib/purge-hosts.ts';

const bench = openBench();

interface Listed extends Purged {
  readonly confirmed: readonly { readonly host: string; readonly at: string }[];
  readonly waiting: readonly { readonly host: string; readonly told: boolean; readonly heard: string | null }[];
  readonly left: readonly string[];
  readonly saidAgain: readonly string[];
}

async function pair(name: string): Promise<{ alpha: BenchHost; beta: BenchHost; mesh: string }> {
  const [alpha, beta] = await Promise.all([bench.lay(`${name}-alpha`), bench.lay(`${name}-beta`)]);
  const at = ['--host', alpha.name, '--listen', alpha.address];
  const { mesh } = await alpha.json<{ mesh: string }>('init', ...at);
  await alpha.start();
  await enrol(alpha, beta, mesh);
  return { alpha, beta, mesh };
}

function purge(host: BenchHost, target: string): Promise<Purged> {
  return host.json<Purged>('purge', target, '--reason', 'secret', '--yes');
}

function stopAll(...hosts: readonly BenchHost[]): Promise<readonly number[]> {
  return Promise.all(hosts.map((host) => host.stop()));
}

/** What the others signed is fetched with the next cycle after they signed it. */
async function untilConfirmed(host: BenchHost): Promise<void> {
  for (;;) {
    const listed = await host.json<Listed[]>('purge', '--list');
    if (listed.every(({ waiting }) => waiting.length === 0)) return;
    await host.json('fetch');
  }
}

describe('a purge in a mesh', { timeout: 120_000 }, () => {
  test('a host that receives the op does the same, to the same commit and root, and is named until it says so', async () => {
    const { alpha, beta } = await pair('mesh');
    await beta.start();
    const id = await tellSecret(alpha);
    await converge([alpha, beta]);
    expect(findBytes(beta.home, secret)).not.toEqual([]);
    expect(await purge(alpha, id)).toMatchObject({ done: true, unconfirmed: [beta.name] });
    const [waits] = await alpha.json<[Listed]>('purge', '--list');
    // It may have heard of it by now; that it has done it is said with its next view line.
    const heard = expect.stringMatching(/^20/);
    expect(waits.waiting).toEqual([{ host: beta.name, told: expect.any(Boolean), heard }]);
    const { warnings } = await alpha.json<{ warnings: string[] }>('status');
    expect(warnings).toContainEqual(expect.stringContaining(`carried out every purge: ${beta.name}`));
    await alpha.append(JSON.stringify({ kind: 'lesson', subject: 'lesson/after', content: 'after the purge' }));
    await converge([alpha, beta]);
    await untilConfirmed(alpha);
    const [listed] = await alpha.json<[Listed]>('purge', '--list');
    expect(listed).toMatchObject({ id, unconfirmed: [], waiting: [], confirmed: [{ host: beta.name }] });
    expect(await beta.json('purge', '--list')).toMatchObject([{ id, done: true, unconfirmed: [] }]);
    for (const host of [alpha, beta]) await expectSound(host);
    const roots = await Promise.all([alpha, beta].map((host) => host.json<{ root: string }>('status')));
    expect(roots[0]?.root).toBe(roots[1]?.root);
    expect(git(beta, 'rev-parse', `log/${alpha.name}`)).toBe(git(alpha, 'rev-parse', `log/${alpha.name}`));
    expect(readdirSync(join(beta.repository, 'quarantine'))).toEqual([]);
    expect(existsSync(join(beta.home, 'purged.json'))).toBe(true);
    await beta.stop();
    await alpha.json('host', 'revoke', beta.name, '--yes');
    const [left] = await alpha.json<[Listed]>('purge', '--list');
    expect(left, 'who said so before it left is not named').toMatchObject({ unconfirmed: [], left: [] });
    await alpha.stop();
  });

  test('who joins from a host that has not heard of it, or while it is carried out, is without it once it has fetched', async () => {
    const { alpha, beta, mesh } = await pair('join');
    await beta.start();
    const id = await tellSecret(alpha);
    await converge([alpha, beta]);
    const [late, during] = await Promise.all([bench.lay('join-late'), bench.lay('join-during')]);
    const request = async (host: BenchHost): Promise<void> => {
      const at = ['--host', host.name, '--listen', host.address];
      const { line } = await host.json<{ line: string }>('host', 'request', ...at);
      await alpha.json('host', 'add', line, '--yes');
    };
    await request(late);
    await request(during);
    await beta.ctl('fetch', alpha.name);
    // It would hear of the purge at once.
    await beta.stop();
    const join = (host: BenchHost, at: BenchHost) => host.ctl('join', `ssh://${at.address}`, '--mesh', mesh);
    const [, joined] = await Promise.all([purge(alpha, id), join(during, alpha)]);
    if (joined.code !== 0) expect(await join(during, alpha)).toMatchObject({ code: 0 });
    await alpha.stop();
    await beta.start();
    expect(await join(late, beta)).toMatchObject({ code: 0 });
    expect(findBytes(late.home, secret), 'what beta holds').not.toEqual([]);
    await alpha.start();
    await Promise.all([late.start(), during.start()]);
    await converge([alpha, beta, late, during]);
    for (const host of [alpha, beta, late, during]) await expectSound(host);
    await untilConfirmed(alpha);
    await stopAll(alpha, beta, late, during);
  });
});

describe('bodies that are purged, in the log of somebody else', { timeout: 120_000 }, () => {
  test('are not taken; and what no version can read is purged by its place', async () => {
    const { alpha, beta } = await pair('carried');
    await beta.start();
    const id = await tellSecret(alpha);
    await converge([alpha, beta]);
    const { event } = await alpha.json<{ event: JsonObject }>('show', id);
    await beta.stop();
    const unreadable = stamped(beta.home, { kind: 'assert', subject: 'note/bad', value: secret, strange: secret });
    const later = { body: stamped(beta.home, { kind: 'wish', content: secret }), v: 2 };
    forgeLines(beta.home, [{ body: event }, { body: unreadable }, later]);
    await purge(alpha, id);
    await beta.start();
    // While beta carries the purge out at its start, it asks to come back later.
    while ((await alpha.ctl('fetch')).code !== 0) continue;
    const lines = readLogWithGit(alpha.home, beta.name);
    expect(lines).toHaveLength(3);
    expect(lines[0], 'the body that beta carried for alpha').toContain(`"body":"${id}"`);
    expect(findBytes(alpha.home, secret), 'two other events').not.toEqual([]);
    for (const seq of [2, 3]) expect(await purge(alpha, `${beta.name}:${seq}`)).toMatchObject({ done: true });
    await converge([alpha, beta]);
    for (const host of [alpha, beta]) {
      expect(findBytes(host.home, secret)).toEqual([]);
      expect(await host.json('verify', '--deep')).toMatchObject({ ok: true });
    }
    expect((await alpha.json<{ root: string }>('status')).root).toBe(
      (await beta.json<{ root: string }>('status')).root,
    );
    await stopAll(alpha, beta);
  });
});

describe('a branch of a fork that is kept as evidence', { timeout: 120_000 }, () => {
  test('holds events that can be purged by id; a place that is two events is refused, and both are named', async () => {
    const host = await bench.lay('evidence');
    const { mesh } = await host.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', host.address);
    await host.append(JSON.stringify({ kind: 'lesson', subject: 'lesson/one', content: 'one' }));
    const other = await bench.lay('evidence-other');
    // The same host, from the same start, says something else at line 2.
    cpSync(host.home, other.home, { recursive: true });
    await other.append(JSON.stringify({ kind: 'lesson', subject: 'lesson/two', content: secret }));
    await host.append(JSON.stringify({ kind: 'lesson', subject: 'lesson/two', content: 'two' }));
    const line = lineOf(readLogWithGit(other.home, 'alpha')[1] ?? '', mesh);
    mkdirSync(join(host.home, 'forks'));
    const file = join(host.home, 'forks', `alpha-2-${line.link.slice(0, 12)}.jsonl`);
    writeFileSync(file, `${line.text}\n`);
    const refused = await host.refused(2, ['purge', 'alpha:2', '--reason', 'secret', '--yes']);
    expect(refused).toMatchObject({ code: 'ID_AMBIGUOUS', message: expect.stringContaining(line.id.slice(0, 16)) });
    expect(await purge(host, line.id.slice(0, 16))).toMatchObject({ done: true, targets: [line.id] });
    expect(readFileSync(file, 'utf8')).toContain(`"body":"${line.id}"`);
    expect(await host.json('recall', 'lesson/two')).toMatchObject({ status: 'served' });
    await expectSound(host);
  });
});

describe('a host that was given new keys', { timeout: 120_000 }, () => {
  test('keeps its hole under the old key; what stood behind the pin is purged from the evidence everywhere, and not said again', async () => {
    const { alpha, beta } = await pair('rekeyed');
    await beta.start();
    const leak = { kind: 'lesson', subject: 'lesson/first', content: secret };
    await beta.append(JSON.stringify(leak));
    await beta.json('lesson', 'lesson/kept', 'kept');
    await beta.append(JSON.stringify({ ...leak, subject: 'lesson/behind' }));
    await alpha.json('fetch');
    const [first = '', , behind = ''] = readLogWithGit(alpha.home, beta.name).map(idIn);
    expect(await purge(alpha, first)).toMatchObject({ done: true });
    const key = join(bench.folder(), 'config/memd/operator_ed25519');
    const recovered = await beta.json('host', 'recover', '--at', '2', '--key', key, '--yes');
    expect(recovered).toMatchObject({ pin: { seq: 2 }, unsaid: 1 });
    for (const host of [alpha, beta, alpha]) await host.ctl('fetch');
    for (const host of [alpha, beta]) {
      expect(await host.json('purge', '--list')).toMatchObject([{ id: first, done: true }]);
      expect(findBytes(host.home, secret)).toContainEqual(expect.stringMatching(/^forks\/rekeyed-beta-3-/));
    }
    expect(await purge(alpha, behind)).toMatchObject({ done: true, targets: [behind] });
    for (const host of [beta, alpha]) await host.ctl('fetch');
    expect(await beta.ctl('host', 'recover', '--append', '--json')).toMatchObject({ code: 0, stdout: '' });
    await beta.json('lesson', 'lesson/after', 'with the new keys');
    await alpha.json('fetch');
    expect(await alpha.json('recall', 'lesson/after')).toMatchObject({ status: 'served' });
    await untilConfirmed(alpha);
    for (const host of [alpha, beta]) await expectSound(host);
    await stopAll(alpha, beta);
  });
});

/** Id of the event in a line of whatever mesh. */
function idIn(text: string): string {
  const { body } = JSON.parse(text) as { body: JsonObject };
  return sha256Hex(canonicalJson(body));
}

function lineOf(text: string, mesh: string): Line {
  const line = parseLine(text, mesh);
  if (!line.ok) throw new Error(line.detail);
  return line.value;
}

describe('a purge that failed', { timeout: 120_000 }, () => {
  test('is finished by the running memd once nothing is in its way, and nobody is told before that it is done', async () => {
    const { alpha, beta } = await pair('again');
    await beta.start();
    const id = await tellSecret(alpha);
    await converge([alpha, beta]);
    // A branch whose commit is missing: git refuses to pack, and nothing may be dropped then.
    const damage = join(beta.repository, 'refs/heads/view/zeta');
    writeFileSync(damage, `${'1'.repeat(40)}\n`);
    await purge(alpha, id);
    await beta.json('fetch');
    await alpha.json('fetch');
    const status = await beta.json<{ alarms: { kind: string }[] }>('status');
    expect(status.alarms.map(({ kind }) => kind)).toContain('PURGE_DUE');
    expect((await beta.ctl('recall', subject)).code, 'it counts all the same').toBe(7);
    expect(readFileSync(join(beta.home, `logs/${alpha.name}.jsonl`), 'utf8'), 'as far as it went').not.toContain(
      secret,
    );
    const [waits] = await alpha.json<[Listed]>('purge', '--list');
    expect(waits.waiting).toMatchObject([{ host: beta.name, told: true }]);
    rmSync(damage);
    for (;;) {
      await beta.json('fetch');
      const [{ done }] = await beta.json<[Listed]>('purge', '--list');
      if (done) break;
    }
    await untilConfirmed(alpha);
    await expectSound(beta);
    await stopAll(alpha, beta);
  });
});
