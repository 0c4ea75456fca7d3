import { expect, describe, test } from 'vitest';
import { parseHostRequest, printHostRequest } from '../../../src/mesh/enrol/enrol.ts';
import { canonicalJson } from '../../../src/crypto/canonical.ts';
import { testKey } from '../../lib/trust-ops.ts';

const good = { host: 'beta', sign: testKey(11).text, ssh: testKey(1_011).text, address: 'ssh://beta.local:7422' };
const line = printHostRequest(good);
const encode = (payload: unknown): string =>
  `memd-host:beta:${Buffer.from(typeof payload === 'string' ? payload : canonicalJson(payload as never)).toString('base64url')}`;
const { address, sign, ssh } = good;

describe('a host request', () => {
  test('is one short line of characters that survive chat, and reads back as what it was', () => {
    expect(line).toMatch(/^memd-host:beta:[A-Za-z0-9_-]+$/);
    expect(line.length).toBeLessThan(700);
    expect(parseHostRequest(line)).toEqual({ ok: true, value: good });
    expect(parseHostRequest(printHostRequest({ ...good, address: '' }))).toMatchObject({
      ok: true,
      value: { address: '' },
    });
  });

  test('survives line wrapping and white space around it', () => {
    const wrapped = `  ${line.slice(0, 80)}\r\n${line.slice(80, 160)}\n  ${line.slice(160)}\n`;
    expect(parseHostRequest(wrapped)).toEqual({ ok: true, value: good });
  });

  test('never carries a private key', () => {
    expect(() => printHostRequest({ ...good, sign: '-----BEGIN OPENSSH PRIVATE KEY-----' })).toThrow(/private key/);
  });

  test.each<[string, string]>([
    ['nothing', ''],
    ['another prefix', line.replace('memd-host', 'memd-hosts')],
    ['a cut line', line.slice(0, -3)],
    ['a changed character', line.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['a host name in capitals', line.replace(':beta:', ':Beta:')],
    ['a host name with a slash', line.replace(':beta:', ':../x:')],
    ['a fourth part', `${line}:x`],
    ['padding', `${line}=`],
    ['a very long line', `memd-host:beta:${'A'.repeat(5_000)}`],
    ['no JSON', encode('hello')],
    ['an array', encode([1])],
    ['a missing member', encode({ sign, ssh })],
    ['a further member', encode({ address, sign, ssh, x: '' })],
    ['a number as address', encode({ address: 7, sign, ssh })],
    ['a key with a comment', encode({ address, sign: `${sign} me`, ssh })],
    ['one key twice', encode({ address, sign, ssh: sign })],
    ['no key', encode({ address, sign: 'ssh-ed25519 AAAA', ssh })],
    ['an RSA key', encode({ address, sign: 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQ==', ssh })],
    ['another scheme', encode({ address: 'https://x', sign, ssh })],
    ['an option as address', encode({ address: 'ssh://-oProxyCommand=id:1', sign, ssh })],
    ['another spelling of the JSON', encode(`{"sign":"${sign}","ssh":"${ssh}","address":""}`)],
  ])('%s is refused with a sentence', (_name, text) => {
    const result = parseHostRequest(text);
    expect(result).toMatchObject({ ok: false, code: 'NOT_A_REQUEST' });
    expect(result.ok ? '' : result.detail).toMatch(/^[\u0020-\u007e…]{8,}$/);
  });

  test('no other line reads as the same request', () => {
    for (let at = 0; at < line.length; at++) {
      const changed = `${line.slice(0, at)}${line[at] === 'x' ? 'y' : 'x'}${line.slice(at + 1)}`;
      const result = parseHostRequest(changed);
      expect(result.ok && canonicalJson(result.value as never)).not.toBe(canonicalJson(good as never));
    }
  });
});
