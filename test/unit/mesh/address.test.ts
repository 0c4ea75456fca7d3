import { expect, test } from 'vitest';
import { parsePeerAddress, printPeerAddress } from '../../../src/mesh/address.ts';

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
  '',
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
