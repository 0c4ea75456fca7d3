import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { parseOriginalCommand } from '../../../src/mesh/ssh/exec-request.ts';
import { sshPipeFault } from '../../../src/mesh/ssh/system-ssh-fault.ts';
import { sshArguments, type SshdAddress } from '../../../src/mesh/ssh/system-ssh.ts';

const address: SshdAddress = { host: 'nas', port: 22, sshd: { user: 'me', path: '/srv/memd' } };
const access = {
  knownHosts: '/home/a b/100%/known_hosts',
  identities: () => ['/home/a b/keys/ssh_ed25519', '/k/last'],
};
const place = { address, knownHosts: '/c/known_hosts' };

test('stock ssh takes the words as they are meant: pinned keys, no agent, no settings of the user', () => {
  const args = sshArguments(address, access);
  const { stdout, status } = spawnSync('ssh', ['-G', ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'] ?? '' },
  });
  expect(status).toBe(0);
  const said = new Map(stdout.split('\n').map((line) => [line.split(' ')[0], line.slice(line.indexOf(' ') + 1)]));
  expect(Object.fromEntries(said)).toMatchObject({
    batchmode: 'yes',
    stricthostkeychecking: 'true',
    globalknownhostsfile: '/dev/null',
    identityagent: 'none',
    identitiesonly: 'yes',
    forwardagent: 'no',
    forwardx11: 'no',
    clearallforwardings: 'yes',
    updatehostkeys: 'false',
    user: 'me',
    hostname: 'nas',
  });
  // How a path with blanks is printed differs from version to version.
  expect(stdout).toMatch(/^userknownhostsfile "?\/home\/a b\/100%%?\/known_hosts"?$/m);
  expect(stdout.match(/^identityfile /gm)).toHaveLength(2);
  expect(args.slice(args.indexOf('--'))).toEqual(['--', 'nas', "memctl serve --stdio --home '/srv/memd'"]);
  expect(sshArguments({ ...address, sshd: { user: 'me', path: '/' } }, access).at(-1)).toBe('memctl serve --stdio');
});

test.each([
  [255, '@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.\n', 'HOST_KEY_MISMATCH'],
  [
    255,
    'No ED25519 host key is known for nas and you have requested strict checking.\nHost key verification failed.\n',
    'HOST_KEY_UNKNOWN',
  ],
  [255, 'me@nas: Permission denied (publickey).\n', 'REFUSED_KEY'],
  [255, 'ssh: connect to host nas port 22: Connection refused\n', 'UNREACHABLE'],
  [255, 'ssh: Could not resolve hostname nas: Name or service not known\n', 'UNREACHABLE'],
  [255, 'ssh: connect to host nas port 22: Connection timed out\n', 'TIMEOUT'],
  [255, 'Timeout, server nas not responding.\n', 'TIMEOUT'],
  [255, 'kex_exchange_identification: Connection closed by remote host\n', 'CLOSED'],
  [255, '', 'PROTOCOL'],
  [127, 'sh: 1: memctl: not found\n', 'REFUSED_COMMAND'],
  [75, 'memctl: memd serves no peers at this moment\n', 'BUSY'],
  [1, 'memctl: there is no memd home at /srv/memd\n', 'REFUSED_COMMAND'],
  [0, '', 'CLOSED'],
  [137, '', 'CLOSED'],
])('exit code %i with %j is %s', (code, stderr, fault) => {
  expect(sshPipeFault({ code, stderr }, place)).toMatchObject({ ok: false, code: fault });
});

test('an unknown host key names the file, and the commands that compare and pin it', () => {
  const { detail } = sshPipeFault({ code: 255, stderr: 'Host key verification failed.\n' }, place) as {
    detail: string;
  };
  expect(detail).toContain('mkdir -p /c && ssh-keyscan -t ed25519 -p 22 nas >> /c/known_hosts');
  expect(detail).toContain('ssh-keygen -lf -');
});

test('what a far end says comes without control characters', () => {
  const { detail } = sshPipeFault({ code: 1, stderr: '\u001b[2Jgone\u0007\n' }, place) as { detail: string };
  expect(detail).toBe('[2Jgone');
});

test.each([
  ['', { kind: 'pipe', home: undefined }],
  ['memctl serve --stdio', { kind: 'pipe', home: undefined }],
  ["memctl serve --stdio --home '/srv/memd'", { kind: 'pipe', home: '/srv/memd' }],
  ['memd heads', { kind: 'command', command: 'heads' }],
  ["git-upload-pack '/log'", { kind: 'command', command: 'upload-pack' }],
])('the original command %j is %j', (text, meaning) => {
  expect(parseOriginalCommand(text)).toEqual(meaning);
});

test.each([
  'sh',
  'memctl serve --stdio; id',
  "memctl serve --stdio --home ''",
  "memctl serve --stdio --home '/a' --peer x",
  "memctl serve --stdio --home '/a'b'",
  'memctl status',
  "git-upload-pack '/etc'",
  'memctl serve --stdio\n',
])('the original command %j is refused', (text) => expect(parseOriginalCommand(text)).toBeUndefined());
