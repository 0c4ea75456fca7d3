/** What a program without a person can do with a signer's key: through memctl nothing; past memctl what ssh allows it. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { canonicalJson, type JsonObject } from '../src/crypto/canonical.ts';
import { armorToBlob } from '../src/crypto/sshsig.ts';
import { stamped } from '../test/lib/hosts-forge.ts';
import { openApi } from './lib/api.ts';
import {
  makePerson,
  requireEqual,
  requireServed,
  startMesh,
  type AuthorityMesh,
  type Person,
} from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, isolated } from './lib/hosts.ts';
import { askMcpForTools } from './lib/mcp-tools.ts';
import { answeringHelper, signThroughAgent, startAgent, type RunningAgent } from './lib/ssh-agent.ts';

export const name = 'agent-cannot-sign';
export const promise =
  'memctl signs nothing without a person at a terminal, whatever agent and helper would answer; what ssh itself permits is told as it is';

const passphrase = 'correct horse 7f3a';
const memctl = join(import.meta.dirname, '..', 'bin', 'memctl');

export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const ids = await makePark(context, mesh);
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', passphrase, '-f', mesh.craig.file]);
  const agent = await loadedAgent(context, mesh);
  await refuseAll(context, mesh, { agent, ids });
  await noTool(context, mesh);
  await noMethod(context, mesh);
  await confirmingAgent(context, mesh);
  await directPath(context, mesh, agent);
  await requireEqual(context, mesh.hosts);
}

const subject = 'ssh-route/mini';

interface Ids {
  /** A side of the park. */
  readonly side: string;
  readonly untrusted: string;
  /** A signer beside craig, and a key that is none yet. */
  readonly dana: Person;
  readonly erin: Person;
}

async function makePark(context: DrillContext, mesh: AuthorityMesh): Promise<Ids> {
  const { alpha, beta, gamma, hosts, folder } = mesh;
  context.step('beta and gamma disagree, so that there is something to sign; dana is a signer too');
  const said = (about: string, value: string, ...more: readonly string[]): readonly string[] => {
    return ['assert', about, '--value', value, '--home', 'file:notes.md', ...more];
  };
  const { id: side } = await beta.json<{ id: string }>(...said(subject, 'direct'));
  await gamma.json(...said(subject, 'tunnel'));
  const { id: untrusted } = await gamma.json<{ id: string }>(...said('note/read', 'x', '--lineage', 'untrusted'));
  const [dana, erin] = [makePerson(folder, 'dana'), makePerson(folder, 'erin')];
  await alpha.json('signer', 'add', `${dana.file}.pub`, '--as', 'dana', '--scopes', '*,charter', '--yes');
  await converge(hosts);
  return { side, untrusted, dana, erin };
}

async function loadedAgent(context: DrillContext, mesh: AuthorityMesh): Promise<RunningAgent> {
  context.step("craig's key has a passphrase, and is unlocked in a running ssh-agent");
  const agent = await startAgent(context, join(mesh.folder, 'agent'));
  agent.add(mesh.craig.file, passphrase);
  context.check(agent.list().includes(mesh.craig.fingerprint), 'the agent holds the key');
  context.evidence(`ssh-add -l: ${agent.list()}`);
  return agent;
}

/** Everything that signs, each as a program would call it. */
function signingCalls({ side, untrusted, erin }: Ids): readonly (readonly string[])[] {
  return [
    ['sign', subject, '--accept', side, '--yes'],
    ['sign', subject, '--value', 'bastion', '--home-ref', 'file:notes.md', '--yes'],
    ['sign', subject, '--retract', '--yes'],
    ['sign', '--promote', untrusted, '--yes'],
    ['sign', '--event', side, '--yes'],
    ['sign'],
    ['signer', 'add', `${erin.file}.pub`, '--as', 'erin', '--scopes', 'note/*', '--yes'],
    ['signer', 'delegate', 'beta', '--subjects', 'ssh-route/*', '--lines', '200', '--yes'],
    ['signer', 'rotate', 'dana', `${erin.file}.pub`, '--as', 'erin', '--yes'],
    ['signer', 'revoke', 'dana', '--yes'],
    ['signer', 'protect'],
    ['policy', 'set', 'index.lines', '10', '--yes'],
    ['audience', 'add', 'ops', '--yes'],
    ['class', 'add', 'tool'],
    ['host', 'revoke', 'gamma', '--yes'],
    ['purge', side, '--reason', 'secret', '--yes'],
    ['unlock', '--for', '8h'],
  ];
}

async function refuseAll(
  context: DrillContext,
  mesh: AuthorityMesh,
  { agent, ids }: { readonly agent: RunningAgent; readonly ids: Ids },
): Promise<void> {
  const { alpha } = mesh;
  const calls = signingCalls(ids);
  context.step(`${calls.length} commands that sign, without a terminal; agent and helpers at hand would answer`);
  const helper = answeringHelper(mesh.folder, 'askpass', `echo '${passphrase}'`);
  const env = {
    ...isolated(mesh.folder),
    SSH_AUTH_SOCK: agent.socket,
    SSH_ASKPASS: helper.file,
    SSH_ASKPASS_REQUIRE: 'force',
    DISPLAY: ':0',
    WAYLAND_DISPLAY: 'wayland-0',
  };
  const before = await stateOf(mesh);
  for (const args of calls) {
    // A session of its own has no controlling terminal to ask on.
    const call = context.start({
      command: process.execPath,
      args: [memctl, '--home', alpha.home, ...args, '--json'],
      env,
    });
    const code = await call.ended;
    const text = call.said();
    const shown = `memctl ${args.join(' ').replaceAll(mesh.folder, '~')}`;
    context.check(code === 6, `${shown}: exit 6, not ${code}: ${text}`);
    const { message, hint } = errorIn(text);
    context.check(/terminal|passphrase/.test(`${message} ${hint}`), `${shown} says why: ${message} ${hint}`);
    context.check(helper.timesAsked() === 0, `${shown} asked no helper`);
    context.evidence(`${shown.slice(0, 70)}: exit 6, ${message.replaceAll(mesh.folder, '~').slice(0, 110)}`);
  }
  context.check((await stateOf(mesh)) === before, 'trust set and logs are as they were');
}

function errorIn(text: string): { readonly message: string; readonly hint: string } {
  const line = text.split('\n').find((one) => one.startsWith('{"error"')) ?? '{}';
  const { error } = JSON.parse(line) as { error?: { message: string; hint: string | null } };
  return { message: error?.message ?? '', hint: error?.hint ?? '' };
}

async function stateOf(mesh: AuthorityMesh): Promise<string> {
  const { trust, heads } = await mesh.alpha.json<{ trust: string; heads: unknown }>('status');
  return JSON.stringify([trust, heads]);
}

/** What an agent is given: none of it signs. */
async function noTool(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  context.step('the tools that memctl mcp offers to an agent');
  const tools = await askMcpForTools(context, { home: mesh.alpha.home, folder: mesh.folder });
  context.check(tools.length > 0, 'there are tools');
  const signing = tools.filter((tool) => /sign|approv|promot|purge|trust|charter|unlock|delegat|revok/.test(tool));
  context.check(signing.length === 0, `no tool signs: ${signing.join(', ')}`);
  context.evidence(`${tools.length} tools: ${tools.join(', ')}`);
}

/** The local socket takes finished signatures only. */
async function noMethod(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  context.step('past memctl: the local socket, with junk for a signature');
  const before = await stateOf(mesh);
  const api = await openApi(join(mesh.alpha.home, 'memd.sock'));
  const args = { name: 'tool', description: '', revise: 'mesh', claims: 'fact' };
  const drafted = await api.call('trust.draft', { op: 'class-add', args, key: mesh.craig.fingerprint });
  const { body } = drafted.result as { body: string };
  const junk = Buffer.from('SSHSIG junk').toString('base64');
  const submitted = await api.call('trust.submit', { body, sshsig: junk });
  api.close();
  context.check(submitted.error !== undefined, `junk is refused: ${JSON.stringify(submitted)}`);
  context.check((await stateOf(mesh)) === before, 'the trust set is as it was');
  context.evidence(`trust.submit: ${submitted.error.code} ${submitted.error.message}`);
}

/** `ssh-add -c`: an agent that must ask its person first. */
async function confirmingAgent(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  context.step('ssh-add -c: an agent whose person is not there, and one whose person says no');
  const no = answeringHelper(mesh.folder, 'says-no', 'exit 1');
  const persons = [
    ['nobody', {}],
    ['a person who says no', { SSH_ASKPASS: no.file, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' }],
  ] as const;
  for (const [who, environment] of persons) {
    const agent = await startAgent(context, join(mesh.folder, who.replaceAll(' ', '-')), environment);
    agent.add(mesh.craig.file, passphrase, '-c');
    const signed = signThroughAgent(agent.socket, {
      publicFile: `${mesh.craig.file}.pub`,
      namespace: 'memd-event',
      message: 'anything',
    });
    context.check(!signed.ok, `with ${who} the agent refuses`);
    context.evidence(`${who}: ${signed.said}`);
  }
  context.check(no.timesAsked() > 0, 'the person was asked');
}

/** Not memctl's to prevent: a key unlocked in an agent without -c signs for any process of the user. */
async function directPath(context: DrillContext, mesh: AuthorityMesh, agent: RunningAgent): Promise<void> {
  context.step('past memctl: ssh-keygen -Y sign through the agent without -c, then appended like any approved event');
  const { alpha, craig, hosts } = mesh;
  const body: JsonObject = stamped(alpha.home, {
    kind: 'assert',
    subject: 'note/past-memctl',
    value: 'signed by nobody',
    home: 'file:notes.md',
  });
  const signed = signThroughAgent(agent.socket, {
    publicFile: `${craig.file}.pub`,
    namespace: 'memd-event',
    message: canonicalJson(body),
  });
  context.check(signed.ok, `ssh-keygen signs through an agent without -c: ${signed.said}`);
  const blob = armorToBlob(signed.armor);
  context.check(blob.ok, 'it is a signature');
  await mesh.forge(alpha, [{ body, auth: { key: craig.fingerprint, signer: 'craig', sshsig: blob.value } }]);
  await converge(hosts);
  await requireServed(context, hosts, { subject: 'note/past-memctl', value: 'signed by nobody' });
  context.evidence(
    'NOT DEFENDED, and said so in docs/threat-model.md: it succeeds, and every host takes it for craig. ' +
      'A key in an agent without -c is in the hands of every process of its user',
  );
}
