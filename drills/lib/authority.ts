/** What the drills about signers share: a mesh of three hosts whose signer is known by key, and what an attacker has. */
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { armorToBlob } from '../../src/crypto/sshsig.ts';
import { canonicalJson, type JsonObject } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { forgeLines, type Forged } from '../../test/lib/hosts-forge.ts';
import { readLogWithGit } from './check-log.ts';
import type { DrillContext } from './drill.ts';
import { converge, enrol, layHost, type TestHost } from './hosts.ts';

/** A person with a key file. */
export interface Person {
  readonly name: string;
  readonly file: string;
  readonly fingerprint: string;
}

export type Approval = NonNullable<Forged['auth']>;

export interface AuthorityMesh {
  readonly id: string;
  readonly folder: string;
  readonly alpha: TestHost;
  readonly beta: TestHost;
  readonly gamma: TestHost;
  readonly hosts: readonly [TestHost, TestHost, TestHost];
  readonly craig: Person;
  /** What its owner could do: stops memd, appends lines that say anything, and starts it again. @returns the ids. */
  forge(host: TestHost, forged: readonly Forged[]): Promise<readonly string[]>;
}

/** Starts alpha, beta and gamma; craig, who holds a key file, founded the mesh on alpha. */
export async function startMesh(
  context: DrillContext,
  { environment }: { readonly environment?: Readonly<Record<string, string>> } = {},
): Promise<AuthorityMesh> {
  context.step('start alpha, beta and gamma, three memd on loopback; craig is the signer');
  const folder = context.temporaryFolder();
  const craig = makePerson(folder, 'craig');
  const [alpha, beta, gamma] = await Promise.all([
    layMeshHost(context, folder, 'alpha', environment),
    layMeshHost(context, folder, 'beta', environment),
    layMeshHost(context, folder, 'gamma', environment),
  ]);
  const signer = ['--signer', `${craig.file}.pub`, '--as', 'craig', '--key', craig.file];
  const { mesh } = await alpha.json<{ mesh: string }>(
    'init',
    '--host',
    'alpha',
    '--listen',
    alpha.address,
    '--address',
    `ssh://${alpha.address}`,
    ...signer,
  );
  await alpha.start();
  for (const host of [beta, gamma]) {
    await enrol(alpha, host, mesh);
    await host.start();
  }
  const hosts = [alpha, beta, gamma] as const;
  await converge(hosts);
  return {
    id: mesh,
    folder,
    alpha,
    beta,
    gamma,
    hosts,
    craig,
    async forge(host, forged) {
      await host.stop();
      const ids = forgeLines(host.home, forged);
      await host.start();
      return ids;
    },
  };
}

/** Lays out a host whose memd ends with the drill. */
export function layMeshHost(
  context: DrillContext,
  folder: string,
  name: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<TestHost> {
  return layHost({ folder, name, environment, started: (memd) => context.adopt(memd) });
}

/** A new ed25519 key of ssh-keygen, with a passphrase if one is given. */
export function makePerson(folder: string, name: string, passphrase = ''): Person {
  const file = join(folder, `${name}_ed25519`);
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', file]);
  const said = execFileSync('ssh-keygen', ['-l', '-f', `${file}.pub`], { encoding: 'utf8' });
  return { name, file, fingerprint: said.split(' ')[1] ?? '' };
}

/** An approval of a body by stock `ssh-keygen -Y sign`; any part may be another than it says. */
export function approvalBy(
  person: Person,
  body: JsonObject,
  over: { readonly namespace?: string; readonly as?: Person } = {},
): Approval {
  const { namespace = 'memd-event', as = person } = over;
  return { key: as.fingerprint, signer: as.name, sshsig: signText(person, namespace, canonicalJson(body)) };
}

/** SSHSIG of a text, base64 of the blob. */
export function signText(person: Person, namespace: string, text: string): string {
  const message = `${person.file}.message`;
  writeFileSync(message, text);
  execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', person.file, '-n', namespace, message], {
    env: { PATH: process.env['PATH'] ?? '' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const blob = armorToBlob(readFileSync(`${message}.sig`, 'utf8'));
  for (const file of [message, `${message}.sig`]) rmSync(file);
  if (!blob.ok) throw new Error(blob.detail);
  return blob.value;
}

/** The answer of `recall --json`, with its exit code. */
export interface Recalled {
  readonly code: number;
  readonly status: string;
  readonly claim?: { readonly id: string; readonly value?: string; readonly level: string };
  readonly claims?: readonly { readonly id: string; readonly host: string; readonly value?: string }[];
}

export async function recall(host: TestHost, subject: string): Promise<Recalled> {
  const { code, stdout } = await host.ctl('recall', subject, '--json');
  return { ...(JSON.parse(stdout) as Omit<Recalled, 'code'>), code };
}

async function recallOnAll(
  hosts: readonly TestHost[],
  subject: string,
): Promise<readonly { readonly host: TestHost; readonly answer: Recalled }[]> {
  return Promise.all(hosts.map(async (host) => ({ host, answer: await recall(host, subject) })));
}

/** Requires that every host serves exactly this value. */
export async function requireServed(
  context: DrillContext,
  hosts: readonly TestHost[],
  { subject, value, status = ['served'] }: { subject: string; value: string; status?: readonly string[] },
): Promise<void> {
  for (const { host, answer } of await recallOnAll(hosts, subject)) {
    const said = `${answer.status} ${answer.claim?.value ?? '(none)'}`;
    context.check(
      status.includes(answer.status) && answer.claim?.value === value,
      `${host.name} serves ${value} on ${subject} (${status.join(' or ')}), not ${said}`,
    );
  }
}

/** Requires that no host serves anything on the subject, with one of these words for why. */
export async function requireWithheld(
  context: DrillContext,
  hosts: readonly TestHost[],
  { subject, status }: { subject: string; status: readonly string[] },
): Promise<void> {
  for (const { host, answer } of await recallOnAll(hosts, subject)) {
    context.check(
      answer.claim === undefined && answer.code !== 0 && status.includes(answer.status),
      `${host.name} withholds ${subject} (${status.join(' or ')}), not ${answer.status} with exit ${answer.code}`,
    );
  }
}

/** craig signs with memctl on alpha: his key has no passphrase here. @returns the id. */
export async function signOnAlpha(mesh: AuthorityMesh, ...args: readonly string[]): Promise<string> {
  return (await mesh.alpha.json<{ id: string }>('sign', ...args, '--yes')).id;
}

/** The line of an event as its log has it: body, and approval if it has one. */
export function lineIn(host: TestHost, id: string): Forged {
  for (const text of readLogWithGit(host.home, host.name)) {
    const { body, auth } = JSON.parse(text) as { body: JsonObject; auth?: Approval };
    if (sha256Hex(canonicalJson(body)) === id) return auth === undefined ? { body } : { body, auth };
  }
  throw new Error(`log ${host.name} has no event ${id}`);
}

/** Body of an event, as a host shows it. */
export async function eventOf(host: TestHost, id: string): Promise<JsonObject> {
  return (await host.json<{ event: JsonObject }>('show', id)).event;
}

export interface AlarmSeen {
  readonly kind: string;
  readonly detail: string;
  readonly subject?: string;
}

export async function alarmsOf(host: TestHost): Promise<readonly AlarmSeen[]> {
  return (await host.json<{ alarms: readonly AlarmSeen[] }>('status')).alarms;
}

/** Requires that every host tells of a kind of alarm on a subject, once and no more. */
export async function requireAlarm(
  context: DrillContext,
  hosts: readonly TestHost[],
  { kind, subject }: { kind: string; subject: string },
): Promise<string> {
  let detail = '';
  const told = await Promise.all(hosts.map(async (host) => ({ host, all: await alarmsOf(host) })));
  for (const { host, all } of told) {
    const found = all.filter((alarm) => alarm.kind === kind && alarm.subject === subject);
    const listed = all.map((alarm) => `${alarm.kind} ${alarm.subject ?? ''}`).join(', ');
    context.check(found.length === 1, `${host.name} raises ${kind} on ${subject} once; it has: ${listed}`);
    detail = found[0]?.detail ?? '';
  }
  return detail;
}
