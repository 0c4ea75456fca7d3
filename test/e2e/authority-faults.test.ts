/** Signers against each other, against themselves, and against thieves: on real hosts, over ssh, by memctl alone. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { converge, enrol } from '../../drills/lib/hosts.ts';
import { forgeLines, stamped } from '../lib/hosts-forge.ts';
import { openBench, type BenchHost } from '../lib/hosts-bench.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
let mesh: string;

const keyFile = (name: string): string => join(bench.folder(), name);
const home = ['--home-ref', 'file:notes.md'];

function makeKey(name: string): string {
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', keyFile(name)]);
  return keyFile(name);
}

interface Status {
  readonly root: string;
  readonly alarms: readonly { readonly kind: string; readonly detail: string; readonly subject?: string }[];
}

/** Both hosts agree on everything. @returns `KIND subject` of the alarms. */
async function settled(hosts: readonly BenchHost[] = [alpha, beta]): Promise<readonly string[]> {
  await converge(hosts);
  const [first, ...others] = await Promise.all(hosts.map((host) => host.json<Status>('status')));
  for (const other of others) expect(other.root).toBe(first?.root);
  return (first?.alarms ?? []).map(({ kind, subject }) => `${kind} ${subject ?? ''}`.trim());
}

async function recalled(host: BenchHost, subject: string): Promise<Record<string, unknown>> {
  return JSON.parse((await host.ctl('recall', subject, '--json')).stdout) as Record<string, unknown>;
}

beforeAll(async () => {
  [alpha, beta] = await Promise.all([bench.lay('alpha'), bench.lay('beta')]);
  for (const name of ['craig', 'dana', 'erin']) makeKey(name);
  const craig = ['--signer', keyFile('craig.pub'), '--as', 'craig', '--key', keyFile('craig')];
  const at = ['--listen', alpha.address, '--address', `ssh://${alpha.address}`];
  ({ mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', ...at, ...craig));
  await alpha.start();
  await enrol(alpha, beta, mesh);
  await beta.start();
  for (const name of ['dana', 'erin']) {
    await alpha.json('signer', 'add', keyFile(`${name}.pub`), '--as', name, '--scopes', '*,charter', '--yes');
  }
  await converge([alpha, beta]);
}, 60_000);

/** Both without memd, which would tell the other at once what one of them says. */
async function apart(work: () => Promise<void>): Promise<void> {
  await Promise.all([alpha.stop(), beta.stop()]);
  await work();
  for (const host of [alpha, beta]) await host.start();
}

test('two signers who disagree: parked on both hosts, said to be so, and ended by either of them', async () => {
  const said = (value: string): readonly string[] => ['sign', 'note/split', '--value', value, ...home, '--yes'];
  await apart(async () => {
    await alpha.json(...said('left'), '--key', keyFile('craig'));
    await beta.json(...said('right'), '--key', keyFile('dana'));
  });
  expect(await settled()).toEqual(['SIGNERS_DISAGREE note/split']);
  const sides: string[] = [];
  for (const host of [alpha, beta]) {
    const { status, claim, claims } = await recalled(host, 'note/split');
    expect({ status, claim }).toEqual({ status: 'parked', claim: undefined });
    sides.push(
      ...(claims as { id: string; value: string }[]).filter(({ value }) => value === 'left').map(({ id }) => id),
    );
  }
  await beta.json('sign', 'note/split', '--accept', sides[0] ?? '', '--key', keyFile('dana'), '--yes');
  expect(await settled()).toEqual([]);
  expect(await recalled(alpha, 'note/split')).toMatchObject({ status: 'served', claim: { value: 'left' } });
}, 60_000);

test('two changes of one item while apart: that item keeps its older value, both hosts say so, one op ends it', async () => {
  const change = (revise: string): readonly string[] => ['class', 'add', 'tool', '--revise', revise];
  await alpha.json(...change('mesh'), '--key', keyFile('craig'));
  await converge([alpha, beta]);
  await apart(async () => {
    await alpha.json(...change('host'), '--claims', 'rule', '--key', keyFile('craig'));
    await beta.json(...change('host'), '--claims', 'fact', '--key', keyFile('dana'));
  });
  expect(await settled()).toEqual(['CHARTER_FORK']);
  const revise = async (host: BenchHost): Promise<unknown> => {
    const { classes } = await host.json<{ classes: { name: string; revise: string }[] }>('charter');
    return classes.find(({ name }) => name === 'tool')?.revise;
  };
  expect([await revise(alpha), await revise(beta)]).toEqual(['mesh', 'mesh']);
  await beta.json(...change('host'), '--claims', 'fact', '--key', keyFile('dana'));
  expect(await settled()).toEqual([]);
  expect([await revise(alpha), await revise(beta)]).toEqual(['host', 'host']);
}, 60_000);

describe('a signer who is revoked', () => {
  test('cannot un-revoke itself: what it did elsewhere, not knowing of it, falls on every host', async () => {
    makeKey('erin-two');
    const more = ['--as', 'erin-two', '--scopes', '*,charter', '--key', keyFile('erin'), '--yes'];
    const said = ['sign', 'note/by-erin', '--value', 'mine', ...home, '--key', keyFile('erin'), '--yes'];
    let id = '';
    await apart(async () => {
      await alpha.json('signer', 'revoke', 'erin', '--key', keyFile('craig'), '--yes');
      // beta has not heard of it: erin makes herself another name and key, and a class.
      await beta.json('signer', 'add', keyFile('erin-two.pub'), ...more);
      await beta.json('class', 'add', 'mine', '--key', keyFile('erin'));
      ({ id } = await beta.json<{ id: string }>(...said));
    });
    expect(await settled()).toContain('REVOKED note/by-erin');
    for (const host of [alpha, beta]) {
      const { signers, classes } = await host.json<{
        signers: { name: string; status: string }[];
        classes: { name: string }[];
      }>('charter');
      expect(signers.filter(({ status }) => status === 'active').map(({ name }) => name)).toEqual(['craig', 'dana']);
      expect(classes.some(({ name }) => name === 'mine')).toBe(false);
      expect(await recalled(host, 'note/by-erin')).toMatchObject({ status: 'held' });
      for (const key of ['erin', 'erin-two']) {
        await host.refused(6, ['signer', 'revoke', 'craig', '--key', keyFile(key), '--yes']);
        await host.refused(6, ['sign', 'note/x', '--value', 'x', ...home, '--key', keyFile(key), '--yes']);
      }
    }
    // Any signer may take up what fell.
    await alpha.json('sign', '--event', id, '--key', keyFile('craig'), '--yes');
    expect(await settled()).toEqual(expect.not.arrayContaining(['PARKED note/by-erin']));
    expect(await recalled(beta, 'note/by-erin')).toMatchObject({ status: 'served', claim: { level: 'signed' } });
  }, 60_000);

  test('H3: after a rotation what the old key signed stands, also on a machine that joins later, and after a rebuild', async () => {
    await alpha.json('sign', 'note/old-key', '--value', 'v1', ...home, '--key', keyFile('dana'), '--yes');
    await converge([alpha, beta]);
    makeKey('dana-two');
    const rotate = ['signer', 'rotate', 'dana', keyFile('dana-two.pub'), '--as', 'dana-two'];
    await alpha.json(...rotate, '--key', keyFile('craig'), '--yes');
    await alpha.refused(6, ['sign', 'note/x', '--value', 'x', ...home, '--key', keyFile('dana'), '--yes']);
    await alpha.json('sign', 'note/new-key', '--value', 'v1', ...home, '--key', keyFile('dana-two'), '--yes');
    await settled();
    await beta.json('rebuild');
    const gamma = await bench.lay('gamma');
    await enrol(alpha, gamma, mesh);
    await gamma.start();
    await settled([alpha, beta, gamma]);
    for (const host of [alpha, beta, gamma]) {
      for (const subject of ['note/old-key', 'note/new-key']) {
        expect(await recalled(host, subject)).toMatchObject({ status: 'served', claim: { level: 'signed' } });
      }
    }
  }, 60_000);
});

test("the founder's host is stolen and revoked: what signers approved stands, what the thief wrote behind the pin does not", async () => {
  await alpha.json('sign', 'note/founder', '--value', 'v1', ...home, '--key', keyFile('craig'), '--yes');
  await converge([alpha, beta]);
  const { id } = ((await recalled(beta, 'note/founder'))['claim'] ?? {}) as { id: string };
  await beta.json('host', 'revoke', 'alpha', '--key', keyFile('craig'), '--yes');
  // The thief has the home, and has not heard of it, or does not care.
  await alpha.stop();
  forgeLines(alpha.home, [
    { body: stamped(alpha.home, { kind: 'retract', subject: 'note/founder', supersedes: [id] }) },
    { body: stamped(alpha.home, { kind: 'assert', subject: 'note/thief', value: 'evil', home: 'file:notes.md' }) },
  ]);
  await alpha.start();
  await beta.ctl('fetch', '--json');
  expect(await recalled(beta, 'note/founder')).toMatchObject({ status: 'served', claim: { value: 'v1' } });
  expect(await recalled(beta, 'note/thief')).toMatchObject({ status: 'none' });
  // Nor does beta talk to it any more, in either direction.
  const [outcome] = JSON.parse((await alpha.ctl('fetch', 'beta', '--json')).stdout) as { state: string }[];
  expect(outcome?.state).not.toBe('up');
}, 60_000);
