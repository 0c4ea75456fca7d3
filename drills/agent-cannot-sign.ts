/** What a program without a person can do with a signer's key: through memctl nothing; past memctl what ssh allows it. */
import { requireEqual } from './lib/agreement.ts';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, type JsonObject } from '../src/crypto/canonical.ts';
import { armorToBlob } from '../src/crypto/sshsig.ts';
import { stamped } from '../test/lib/hosts-forge.ts';
import { openApi } from './lib/api.ts';
import { makePerson, requireServed, signText, startMesh, type AuthorityMesh, type Person } from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge, isolated } from './lib/hosts.ts';
import { askMcpForTools } from './lib/mcp-tools.ts';
import { answeringHelper, signThroughAgent, startAgent, type RunningAgent } from './lib/ssh-agent.ts';
import { hasTerminals, keys, startTerminal } from './lib/terminal.ts';

export const name = 'agent-cannot-sign';
export const promise =
  'memctl signs nothing without a person at a terminal, whatever agent and helper would answer; what ssh itself permits is told as it is';

const passphrase = 'correct horse 7f3a';
const memctl = join(import.meta.dirname, '..', 'bin', 'memctl');

export async function run(context: DrillContext): Promise<void> {
  if (!hasTerminals) context.skip('script of util-linux is missing: no terminal can be made for a person');
  const mesh = await startMesh(context);
  const ids = await makePark(context, mesh);
  execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', passphrase, '-f', mesh.craig.file]);
  const agent = await loadedAgent(context, mesh);
  await refuseAll(context, mesh, { agent, ids });
  await noTool(context, mesh);
  await noMethod(context, mesh, ids);
  await confirmingAgent(context, mesh);
  await unlockWindow(context, mesh, ids);
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
      // The list of parks is for people, so it has no --json.
      args: [memctl, '--home', alpha.home, ...args, ...(args.length === 1 ? [] : ['--json'])],
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
  const line = text.split('\n').find((one) => one.startsWith('{"error"'));
  if (line === undefined) return { message: text, hint: '' };
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
async function noMethod(context: DrillContext, mesh: AuthorityMesh, { side }: Ids): Promise<void> {
  context.step('past memctl: the local socket, with junk, and with the key of the host, for a signature');
  const before = await stateOf(mesh);
  const api = await openApi(join(mesh.alpha.home, 'memd.sock'));
  const args = { name: 'tool', description: '', revise: 'mesh', claims: 'fact' };
  const drafts = [
    ['trust.draft', 'trust.submit', 'memd-trust', { op: 'class-add', args, key: mesh.craig.fingerprint }],
    ['sign.draft', 'sign.submit', 'memd-event', { act: 'accept', subject, id: side }],
  ] as const;
  for (const [draft, submit, namespace, params] of drafts) {
    const { result, error } = await api.call(draft, params);
    context.check(error === undefined, `${draft} drafts: ${error?.message}`);
    const { body } = result as { body: string };
    const host = { name: 'alpha', file: join(mesh.alpha.home, 'keys', 'host_ed25519'), fingerprint: '' };
    for (const sshsig of [Buffer.from('SSHSIG junk').toString('base64'), signText(host, namespace, body)]) {
      const submitted = await api.call(submit, { body, sshsig });
      context.check(submitted.error !== undefined, `${submit} refuses: ${JSON.stringify(submitted)}`);
      context.evidence(`${submit}: ${submitted.error.code} ${submitted.error.message.slice(0, 100)}`);
    }
  }
  api.close();
  context.check((await stateOf(mesh)) === before, 'trust set and logs are as they were');
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

/** A window that a person opened: the agent asks at each signature, and events are all that it signs. */
async function unlockWindow(context: DrillContext, mesh: AuthorityMesh, { side }: Ids): Promise<void> {
  context.step('craig opens a window at a terminal (memctl unlock --for 1h); then a program without one signs');
  const { alpha, craig, folder, hosts } = mesh;
  const yes = join(folder, 'yes');
  const person = answeringHelper(folder, 'person', `test -e '${yes}'`);
  const asking = { SSH_ASKPASS: person.file, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':0' };
  const agent = await startAgent(context, join(folder, 'window'), asking);
  const env = { PATH: process.env['PATH'] ?? '', ...isolated(folder), SSH_AUTH_SOCK: agent.socket };
  const unlock = ['unlock', '--for', '1h', '--key', craig.file];
  const terminal = startTerminal([process.execPath, memctl, '--home', alpha.home, ...unlock], { env, cwd: folder });
  context.onCleanup(() => terminal.kill());
  await terminal.see(/Enter passphrase/);
  terminal.type(`${passphrase}${keys.enter}`);
  await terminal.see(/open until/);
  context.check((await terminal.ended()) === 0, 'the window opens');
  const call = (...args: readonly string[]): Promise<number> =>
    context.start({ command: process.execPath, args: [memctl, '--home', alpha.home, ...args], env }).ended;
  const sign = ['sign', subject, '--accept', side, '--yes'];
  const before = await stateOf(mesh);
  context.check((await call(...sign)) === 6, 'the person says no: exit 6');
  context.check(person.timesAsked() === 1, 'the person was asked');
  writeFileSync(yes, '');
  context.check((await call('class', 'add', 'tool', '--yes')) === 6, 'no window signs for the charter');
  context.check(person.timesAsked() === 1 && (await stateOf(mesh)) === before, 'nothing was asked or changed for it');
  context.check((await call(...sign)) === 0, 'the person says yes: signed');
  context.check(person.timesAsked() === 2, 'after asking once more');
  await converge(hosts);
  await requireServed(context, hosts, { subject, value: 'direct' });
  context.check((await call('unlock', '--end')) === 0, 'the window is closed');
  context.check((await call('sign', '--promote', side, '--yes')) === 6, 'and signs nothing any more');
  context.evidence(
    'no: exit 6; yes: signed and served on all three; a trust op is refused in the window too; asked twice',
  );
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
