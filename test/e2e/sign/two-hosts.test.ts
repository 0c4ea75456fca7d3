/** A signer's word on two hosts: any host carries it, whoever said the event, and both say the same. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { converge, formMesh } from '../../../drills/lib/hosts.ts';
import { openBench, type BenchHost } from '../../lib/hosts-bench.ts';
import { openTerminal, hasTerminals, keys } from '../../lib/terminal.ts';
import { makeKey, passphrase } from '../../lib/signing-world.ts';

const bench = openBench();
let alpha: BenchHost;
let beta: BenchHost;
/** The signer's key, made by init without a passphrase. */
let operator = '';

beforeAll(async () => {
  [alpha, beta] = await Promise.all([bench.lay('alpha'), bench.lay('beta')]);
  await formMesh([alpha, beta]);
  operator = join(bench.folder(), 'config', 'memd', 'operator_ed25519');
}, 120_000);

interface Answer {
  readonly status: string;
  readonly claim?: { readonly id: string; readonly level: string; readonly host: string };
}

async function agreed(subject: string): Promise<Answer> {
  await converge([alpha, beta]);
  const answers = await Promise.all([alpha, beta].map((host) => host.ctl('recall', subject, '--json')));
  const [first, second] = answers.map(({ stdout }) => JSON.parse(stdout) as Answer);
  expect({ status: second?.status, claim: second?.claim }).toEqual({ status: first?.status, claim: first?.claim });
  const [here, there] = await Promise.all([alpha, beta].map((host) => host.json<{ root: string }>('status')));
  expect(there?.root).toBe(here?.root);
  return first ?? { status: '' };
}

const say = (host: BenchHost, subject: string, value: string): Promise<{ id: string }> =>
  host.json('assert', subject, '--value', value, '--home-ref', 'file:a.md');

test('alpha carries the approval of what beta said: the same event, signed on both', async () => {
  const { id } = await say(beta, 'endpoint/db', '5432');
  await agreed('endpoint/db');
  const signed = await alpha.json('sign', '--event', id, '--yes');
  expect(signed).toMatchObject({ id, host: 'alpha', status: 'served', supersedes: [] });
  expect(await agreed('endpoint/db')).toMatchObject({ status: 'served', claim: { id, level: 'signed', host: 'beta' } });
  const shown = await beta.json<{ lines: readonly object[] }>('show', id);
  expect(shown.lines).toMatchObject([{ log: 'alpha', auth: { valid: true } }, { log: 'beta' }]);
});

test('drafted on alpha and handed in on beta, after beta learned more: the park ends on both', async () => {
  const { id } = await say(alpha, 'endpoint/mail', '25');
  await say(beta, 'endpoint/mail', '587');
  expect((await agreed('endpoint/mail')).status).toBe('parked');
  const file = join(bench.folder(), 'mail.json');
  await alpha.json('sign', 'endpoint/mail', '--accept', id, '--prepare', file);
  execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', operator, '-n', 'memd-event', file], { stdio: 'ignore' });
  await say(beta, 'endpoint/mail', '465');
  const finished = await beta.json<{ notes: readonly string[] }>('sign', '--finish', file);
  expect(finished).toMatchObject({ host: 'beta', notes: [expect.stringMatching(/1 claim beside it says otherwise/)] });
  expect(await agreed('endpoint/mail')).toMatchObject({ status: 'contested', claim: { level: 'signed' } });
  await alpha.json('sign', 'endpoint/mail', '--retract', '--yes');
  expect((await agreed('endpoint/mail')).status).toBe('served');
});

test.skipIf(!hasTerminals)(
  'a signer of few subjects, with a passphrase, at a terminal beside memd; appends go on meanwhile',
  async () => {
    const dana = makeKey(join(bench.folder(), 'dana'), passphrase);
    await alpha.json('signer', 'add', `${dana}.pub`, '--as', 'dana', '--scopes', 'ssh-route/*', '--yes');
    await say(alpha, 'ssh-route/mini', 'bastion');
    await say(beta, 'ssh-route/mini', 'direct');
    await agreed('ssh-route/mini');
    const memctl = join(import.meta.dirname, '../../../bin/memctl');
    const command = [process.execPath, memctl, '--home', beta.home, 'sign', '--key', dana];
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: bench.folder(),
      XDG_CONFIG_HOME: join(bench.folder(), 'config'),
    };
    const person = openTerminal(command, { env, cwd: bench.folder() });
    await person.see(/1 subject unresolved[^]*none: leave/);
    person.type(keys.enter);
    await person.see(/what is right\?[^]*leave it parked/);
    person.type(keys.enter);
    await person.see(/To be signed, as dana[^]*Sign this\?/);
    await say(beta, 'note/meanwhile', 'x');
    person.type('y');
    await person.see(/Enter passphrase/);
    person.type(`${passphrase}${keys.enter}`);
    await person.see(/signed assert ssh-route\/mini [0-9a-f]+ by dana/);
    expect(await person.ended()).toBe(0);
    expect(await agreed('ssh-route/mini')).toMatchObject({ status: 'served', claim: { level: 'signed' } });
    expect(
      await beta.refused(6, [
        'sign',
        'endpoint/db',
        '--retract',
        '--supersedes',
        (await agreed('endpoint/db')).claim?.id ?? '',
        '--key',
        dana,
        '--yes',
      ]),
    ).toMatchObject({ code: 'SIGNER_SCOPE' });
  },
  60_000,
);

test('a revoked signer signs nothing any more, and what it prepared before is refused', async () => {
  const erin = makeKey(join(bench.folder(), 'erin'), '');
  await alpha.json('signer', 'add', `${erin}.pub`, '--as', 'erin', '--yes');
  const file = join(bench.folder(), 'erin.json');
  await alpha.json(
    'sign',
    'note/erin',
    '--value',
    'x',
    '--home-ref',
    'file:a.md',
    '--key',
    `${erin}.pub`,
    '--prepare',
    file,
  );
  execFileSync('ssh-keygen', ['-Y', 'sign', '-q', '-f', erin, '-n', 'memd-event', file], { stdio: 'ignore' });
  await alpha.json('signer', 'revoke', 'erin', '--yes');
  expect(await alpha.refused(6, ['sign', '--finish', file])).toMatchObject({
    code: 'APPROVAL_REFUSED',
    message: expect.stringMatching(/erin was revoked/),
  });
  expect(await alpha.refused(6, ['sign', 'note/erin', '--value', 'x', '--key', erin, '--yes'])).toMatchObject({
    code: 'SIGNER_UNKNOWN',
    message: expect.stringMatching(/erin was revoked/),
  });
});
