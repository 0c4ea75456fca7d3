import { expect, test } from 'vitest';
import { isBehindSshd, parsePeerAddress, printPeerAddress } from '../../../src/mesh/ssh/address.ts';
import { cpuMs } from '../../lib/cpu-time.ts';

test.each([
  ['ssh://alpha:7422', 'alpha', 7_422],
  ['ssh://alpha', 'alpha', 7_422],
  ['ssh://memd@Alpha.Example:22', 'alpha.example', 22],
  ['ssh://192.0.2.7:1', '192.0.2.7', 1],
  ['ssh://[::1]:65535', '::1', 65_535],
  ['ssh://[fe80::1]', 'fe80::1', 7_422],
])('%s is an address', (url, host, port) => {
  const parsed = parsePeerAddress(url);
  expect(parsed).toEqual({ ok: true, value: { host, port } });
  if (parsed.ok) expect(parsePeerAddress(printPeerAddress(parsed.value))).toEqual(parsed);
});

test.each([
  ['ssh://me@nas/home/me/.local/share/memd', 'nas', 22, 'me', '/home/me/.local/share/memd'],
  ['ssh://me@nas/', 'nas', 22, 'me', '/'],
  ['ssh://memd@nas:2222/srv/memd/', 'nas', 2_222, 'memd', '/srv/memd'],
  ['ssh://me@[::1]:22/a', '::1', 22, 'me', '/a'],
])('%s leads through a plain sshd', (url, host, port, user, path) => {
  const parsed = parsePeerAddress(url);
  expect(parsed).toEqual({ ok: true, value: { host, port, sshd: { user, path } } });
  expect(isBehindSshd(url)).toBe(true);
  if (parsed.ok) expect(parsePeerAddress(printPeerAddress(parsed.value))).toEqual(parsed);
});

test.each([
  ['ssh://me@nas', 'name the home folder of memd there too: ssh://me@host/path'],
  ['ssh://nas/home', 'name the account'],
  ['ssh://memd@nas/log', 'the address for git clone'],
])('%s is none, and what is missing is said', (url, why) => {
  expect(isBehindSshd(url)).toBe(false);
  const parsed = parsePeerAddress(url);
  expect(parsed).toMatchObject({ ok: false });
  expect(parsed.ok ? '' : parsed.detail).toContain(why);
});

test('a path that is long and wrong at its end is refused at once', () => {
  const started = cpuMs();
  expect(parsePeerAddress(`ssh://me@nas/${'a'.repeat(1_000)}!`)).toMatchObject({ ok: false });
  expect(cpuMs() - started).toBeLessThan(1_000);
});

test.each([
  '',
  'ssh://-oProxyCommand=id@nas/a',
  'ssh://-l@nas/a',
  "ssh://me@nas/a'b",
  'ssh://me@nas/$(id)',
  'ssh://me@nas/a b',
  'ssh://me@nas/a/../b',
  'ssh://me@nas/..',
  'ssh://me@nas//etc',
  'ssh://me@nas/~me',
  'ssh://me@nas/a\n',
  'ssh://me@-nas/a',
  `ssh://me@nas/${'a'.repeat(2_000)}`,
  'alpha:7422',
  'ssh://',
  'ssh://:7422',
  'ssh://alpha:0',
  'ssh://alpha:65536',
  'ssh://alpha:7422/log',
  'ssh://root@alpha',
  'ssh://-oProxyCommand=id',
  'ssh://alpha-',
  'ssh://al pha',
  'ssh://alpha\n',
  'ssh://[::1',
  'ssh://::1',
  'https://alpha',
  'ext::sh -c id',
  'file:///tmp/x',
])('%j is none', (url) => {
  expect(parsePeerAddress(url)).toMatchObject({ ok: false, code: 'NOT_AN_ADDRESS' });
});
