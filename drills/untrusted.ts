/** What an agent read somewhere and nobody looked at: kept, shown as such, and never an answer until a signer says so. */
import { requireEqual, viewOn } from './lib/agreement.ts';
import { join } from 'node:path';
import {
  approvalBy,
  eventOf,
  recall,
  requireAlarm,
  requireServed,
  requireWithheld,
  signOnAlpha,
  startMesh,
  type AuthorityMesh,
} from './lib/authority.ts';
import type { DrillContext } from './lib/drill.ts';
import { converge } from './lib/hosts.ts';
import { until } from './lib/live-mesh.ts';

export const name = 'untrusted';
export const promise =
  'what comes from an untrusted source is not served, parks nothing, alarms where it disagrees, and only a signer promotes it';

/** Unlike anything else in a view. */
const prose = 'always-run-7f3a';
const source = { subject: 'note/read-somewhere', derived: 'note/derived', further: 'note/further' } as const;

export async function run(context: DrillContext): Promise<void> {
  const mesh = await startMesh(context);
  const ids = await say(context, mesh);
  await disagree(context, mesh);
  await promoteWithout(context, mesh, ids);
  await promoteDelegated(context, mesh, ids);
  await promote(context, mesh, ids);
  await requireEqual(context, mesh.hosts);
}

async function say(
  context: DrillContext,
  mesh: AuthorityMesh,
): Promise<{ readonly read: string; readonly derived: string }> {
  context.step('gamma notes what a web page says, then something that rests on it; beta rests on that');
  const { beta, gamma, hosts } = mesh;
  const say = async (host: typeof beta, subject: string, ...more: string[]): Promise<string> => {
    const fields = ['--value', prose, '--home', 'file:notes.md'];
    return (await host.json<{ id: string }>('assert', subject, ...fields, ...more)).id;
  };
  const read = await say(gamma, source.subject, '--lineage', 'untrusted');
  const derived = await say(gamma, source.derived, '--basis', read);
  await converge(hosts);
  await say(beta, source.further, '--basis', derived);
  await converge(hosts);
  for (const subject of Object.values(source))
    await requireWithheld(context, hosts, { subject, status: ['quarantined'] });
  for (const host of hosts) {
    await until(`${host.name} lists all three as quarantined`, async () => {
      const listed = viewOn(host, 'QUARANTINE.md');
      const missing = Object.values(source).filter((subject) => !listed.includes(subject));
      return missing.length === 0 || `without ${missing.join(', ')}`;
    });
    context.check(!viewOn(host, 'QUARANTINE.md').includes(prose), `the list of ${host.name} does not print its words`);
    // Written with the list, by the same hand.
    await host.json('index');
    context.check(!viewOn(host, 'INDEX.md').includes(prose), `the index of ${host.name} does not say it`);
  }
  context.evidence(
    'three claims quarantined on three hosts: the untrusted one and all that rest on it; listed, not quoted',
  );
  return { read, derived };
}

async function disagree(context: DrillContext, mesh: AuthorityMesh): Promise<void> {
  context.step('gamma contradicts, corrects and retracts what beta says, each time with untrusted lineage');
  const { beta, gamma, hosts } = mesh;
  const fields = ['--home', 'file:notes.md'];
  const untrusted = ['--lineage', 'untrusted'];
  for (const subject of ['note/contradicted', 'note/corrected', 'note/retracted']) {
    const { id } = await beta.json<{ id: string }>('assert', subject, '--value', 'looked at', ...fields);
    await gamma.json('fetch');
    const said = ['assert', subject, '--value', 'read somewhere', ...fields, ...untrusted];
    if (subject === 'note/contradicted') await gamma.json(...said);
    if (subject === 'note/corrected') await gamma.json(...said, '--supersedes', id);
    if (subject === 'note/retracted') await gamma.json('retract', subject, '--supersedes', id, ...untrusted);
  }
  await converge(hosts);
  for (const subject of ['note/contradicted', 'note/corrected', 'note/retracted'])
    await requireServed(context, hosts, { subject, value: 'looked at' });
  for (const subject of ['note/contradicted', 'note/corrected']) {
    const detail = await requireAlarm(context, hosts, { kind: 'UNTRUSTED_DISAGREES', subject });
    context.evidence(`${subject}: beta's word is served everywhere, alarm UNTRUSTED_DISAGREES ${detail}`);
  }
  context.evidence("note/retracted: beta's word is served everywhere; an untrusted retraction withdraws nothing");
}

/** Whoever is no signer: the same words again, the same body with junk, a pointer to it. */
async function promoteWithout(
  context: DrillContext,
  mesh: AuthorityMesh,
  { read }: { readonly read: string },
): Promise<void> {
  context.step('beta, who is no signer, tries to promote it: by a proposal, by resting on it, by junk for an approval');
  const { beta, hosts, craig } = mesh;
  const fields = ['--value', prose, '--home', 'file:notes.md', '--basis', read];
  await beta.json('propose', source.subject, ...fields);
  await beta.json('assert', source.subject, ...fields);
  const body = await eventOf(beta, read);
  await mesh.forge(beta, [{ body }, { body, auth: approvalBy(craig, { ...body, value: 'harmless' }) }]);
  await converge(hosts);
  await requireWithheld(context, hosts, { subject: source.subject, status: ['quarantined'] });
  await requireAlarm(context, hosts, { kind: 'FORGED', subject: source.subject });
  context.evidence('still quarantined on all three; the junk approval is alarmed as FORGED');
}

/** A host that may say more than others may not say this either. */
async function promoteDelegated(
  context: DrillContext,
  mesh: AuthorityMesh,
  { read }: { readonly read: string },
): Promise<void> {
  context.step('craig delegates note/* to beta; beta, delegated, tries once more, and with a lineage of its own');
  const { alpha, beta, hosts } = mesh;
  const stretch = ['--subjects', 'note/*', '--kinds', 'assert', '--lines', '50'];
  await alpha.json('signer', 'delegate', 'beta', ...stretch, '--yes');
  await converge(hosts);
  const fields = ['--value', prose, '--home', 'file:notes.md'];
  await beta.json('assert', source.subject, ...fields, '--basis', read, '--confidence', 'verified');
  await beta.json('assert', 'note/delegated', ...fields, '--lineage', 'untrusted');
  await converge(hosts);
  for (const subject of [source.subject, 'note/delegated'])
    await requireWithheld(context, hosts, { subject, status: ['quarantined'] });
  const refused = await beta.ctl('sign', '--promote', read, '--key', join(beta.home, 'keys', 'host_ed25519'), '--yes');
  context.check(refused.code === 6, `the key of a host promotes nothing: exit ${refused.code} ${refused.stderr}`);
  context.evidence(`still quarantined on all three; memctl sign --promote with beta's host key: exit 6`);
}

async function promote(
  context: DrillContext,
  mesh: AuthorityMesh,
  { read, derived }: { readonly read: string; readonly derived: string },
): Promise<void> {
  context.step('craig looks at the derived claim and promotes it: memctl sign --promote');
  const { hosts } = mesh;
  await signOnAlpha(mesh, '--promote', derived);
  await converge(hosts);
  for (const subject of [source.derived, source.further])
    await requireServed(context, hosts, { subject, value: prose });
  await requireWithheld(context, hosts, { subject: source.subject, status: ['quarantined'] });
  const { claim } = await recall(mesh.gamma, source.derived);
  context.check(claim?.id === derived && claim.level === 'signed', 'it is the same event, signed now');
  context.evidence(
    `${derived.slice(0, 12)} is served signed on all three, and so is what rests on it; ${read.slice(0, 12)} itself is not`,
  );
}
