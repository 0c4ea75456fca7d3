import { describe, expect, test } from 'vitest';
import { trustOpBytesMax } from '../../../../src/core/limits.ts';
import { classAddBody, genesisBody, hostAddBody, signerAddBody } from '../../../../src/core/trust/build.ts';
import { finishTrustOp, parseTrustOp, trustOpMessage, type TrustOp } from '../../../../src/core/trust/op.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../../../src/crypto/canonical.ts';
import { sha256Hex } from '../../../../src/crypto/hash.ts';
import { rsaPublicText } from '../../../lib/other-keys.ts';
import {
  approverOf,
  classAdd,
  craig,
  genesisOf,
  hostAdd,
  hostFields,
  must,
  signerAdd,
  stampOf,
  testKey,
  testSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const place = { mesh, by: craig, prev: [mesh], nonce: 1 };
const input = { mesh, by: approverOf(craig), prev: [mesh] };
const beta = hostAdd(place, 'beta', 11);

/** Code and detail of a text with some members of its body replaced; undefined removes one. */
function faultOf(op: TrustOp, changes: Readonly<Record<string, JsonValue | undefined>>, top: JsonObject = {}): string {
  const { auth, body } = JSON.parse(op.text) as { auth: JsonObject; body: JsonObject };
  const changed = JSON.parse(JSON.stringify({ ...body, ...changes })) as JsonObject;
  const parsed = parseTrustOp(canonicalJson({ auth, body: changed, ...top }));
  return parsed.ok ? 'ok' : `${parsed.code}: ${parsed.detail}`;
}

describe('trust op: text and id', () => {
  const all = [genesis, beta, signerAdd(place, testSigner('dana', 2), ['*']), classAdd(place, 'tool')];

  test.each(all.map((op) => [op.body.op, op] as const))('%s survives writing and reading', (_, op) => {
    const parsed = must(parseTrustOp(op.text));
    expect(parsed).toEqual(op);
    expect(parsed.id).toBe(sha256Hex(trustOpMessage(op.body)));
    expect(op.text).toBe(canonicalJson(JSON.parse(op.text) as JsonValue));
  });

  test('the id is over the body alone: another approval does not change it', () => {
    const again = must(finishTrustOp(beta.body as never, { ...approverOf(craig), sshsig: 'AAAA' }));
    expect(again.id).toBe(beta.id);
    expect(again.text).not.toBe(beta.text);
  });

  test('a text of another form is refused with the reason', () => {
    expect(parseTrustOp(` ${beta.text}`)).toMatchObject({ ok: false, code: 'NOT_CANONICAL' });
    expect(parseTrustOp(`${beta.text}\n`)).toMatchObject({ ok: false, code: 'NOT_CANONICAL' });
    expect(parseTrustOp('')).toMatchObject({ ok: false, code: 'NOT_CANONICAL' });
    expect(parseTrustOp('null')).toMatchObject({ ok: false, code: 'BAD_FIELD' });
    expect(parseTrustOp('{}')).toMatchObject({ ok: false, code: 'BAD_FIELD' });
    expect(parseTrustOp(`"${'x'.repeat(trustOpBytesMax)}"`)).toMatchObject({ ok: false, code: 'TOO_LONG' });
  });
});

describe('trust op: what is wrong is named', () => {
  test.each<[string, TrustOp, Readonly<Record<string, JsonValue | undefined>>, string]>([
    ['a missing member', beta, { ssh: undefined }, 'BAD_FIELD: ssh is missing'],
    ['an unknown member', beta, { extra: 1 }, 'BAD_FIELD: has the unknown member extra'],
    ['a bad name', beta, { name: 'Beta' }, 'BAD_FIELD: name must be a name like alpha-2 (a-z, 0-9, -, at most 31)'],
    ['unsorted prev', beta, { prev: [mesh, '0'.repeat(64)] }, 'BAD_FIELD: prev must be sorted, without repeats'],
    ['repeated prev', beta, { prev: [mesh, mesh] }, 'BAD_FIELD: prev must be sorted, without repeats'],
    ['no prev', beta, { prev: [] }, 'BAD_FIELD: prev must hold 1 to 64 entries'],
    ['a day that does not exist', beta, { at: '2026-02-29T00:00:00.000Z' }, 'BAD_FIELD: at must be an instant'],
    ['a key that is none', beta, { sign: 'ssh-ed25519 AAAA' }, 'BAD_KEY: '],
    ['a key in two places', beta, { ssh: testKey(11).text }, 'KEY_REPEATED: one key in two places of one op'],
    ['an address with a path', beta, { address: 'ssh://a:1/x' }, "BAD_FIELD: address must be '' or ssh://host:port"],
    ['a genesis with a mesh', genesis, { mesh }, 'BAD_FIELD: has the unknown member mesh'],
    ['a genesis without operator', genesis, { audiences: {} }, 'BAD_FIELD: audiences must declare operator'],
    ['an op without a name', beta, { op: undefined }, 'BAD_FIELD: op is missing'],
  ])('%s', (_, op, changes, fault) => {
    expect(faultOf(op, changes)).toContain(fault);
  });

  test('a class has both revise and claims or, in a genesis, neither', () => {
    const classes = (fields: JsonObject): string => faultOf(genesis, { classes: { tool: fields } });
    expect(classes({ description: '' })).toBe('ok');
    expect(classes({ description: '', revise: 'mesh', claims: 'fact' })).toBe('ok');
    expect(classes({ description: '', revise: 'mesh' })).toContain('claims is missing');
    expect(faultOf(classAdd(place, 'tool'), { claims: undefined })).toContain('claims is missing');
    expect(faultOf(classAdd(place, 'tool'), { description: 'two\tparts' })).toContain('NOT_CANONICAL');
  });

  test('an approval by somebody else than by', () => {
    const auth = { ...(beta.auth as never as JsonObject), signer: 'dana' };
    expect(faultOf(beta, {}, { auth })).toContain('AUTH_MISMATCH');
    expect(faultOf(genesis, { by: { ...approverOf(testSigner('craig', 2)) } })).toContain('AUTH_MISMATCH');
    expect(faultOf(beta, {}, { auth: { ...auth, extra: 1 } })).toContain('BAD_FIELD: auth has the unknown member');
  });

  test('a genesis whose signer could approve nothing', () => {
    const signer = { name: 'craig', key: craig.key.text, scopes: ['*'] };
    const made = genesisBody({ name: 'lab', by: approverOf(craig), signer, host: hostFields('alpha', 10) }, stampOf(0));
    expect(made).toMatchObject({ ok: false, code: 'NO_CHARTER_SIGNER' });
  });
});

describe('trust op: addresses', () => {
  const good = ['', 'ssh://alpha:7422', 'ssh://10.0.0.1:1', 'ssh://[::1]:65535', 'ssh://a.example-host.org:22'];
  const bad = [
    'alpha:7422',
    'ssh://alpha',
    'ssh://alpha:0',
    'ssh://alpha:65536',
    'ssh://alpha:007',
    'ssh://memd@alpha:1',
    'ssh://-oProxyCommand=x:1',
    'ssh://a..b:1',
    'ssh://Alpha:1',
    'ssh://::1:1',
    'ssh://[fe80::1%eth0]:1',
    'http://alpha:1',
    'ssh://a b:1',
  ];

  test.each(good)('%j is one', (address) => {
    expect(hostAddBody({ ...input, ...hostFields('beta', 11), address }, stampOf(1)).ok).toBe(true);
  });

  test.each(bad)('%j is none', (address) => {
    expect(hostAddBody({ ...input, ...hostFields('beta', 11), address }, stampOf(1)).ok).toBe(false);
  });
});

describe('trust op: bodies from what a person asked for', () => {
  test('lists are sorted and made unique, other members are left out', () => {
    const asked = { ...input, name: 'dana', key: testKey(2).text, scopes: ['purge', '*', 'charter', '*'], stray: 1 };
    const made = must(signerAddBody(asked, stampOf(1)));
    expect(made.scopes).toEqual(['*', 'charter', 'purge']);
    expect(Object.keys(made)).not.toContain('stray');
  });

  test('a signer may have a key of any type, a host only ed25519', () => {
    const key = rsaPublicText;
    expect(must(signerAddBody({ ...input, name: 'dana', key, scopes: ['*'] }, stampOf(1))).key).toBe(key);
    for (const member of ['sign', 'ssh'] as const) {
      const made = hostAddBody({ ...input, ...hostFields('beta', 11), [member]: key }, stampOf(1));
      expect(made).toEqual({ ok: false, code: 'BAD_KEY', detail: 'a host has ed25519 keys, this one is ssh-rsa' });
    }
  });

  test('a key that no approval is verified by is refused before anybody signs', () => {
    const dss = `ssh-dss ${Buffer.from('\0\0\0\u0007ssh-dss', 'latin1').toString('base64')}`;
    for (const key of [dss, 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQDH']) {
      expect(signerAddBody({ ...input, name: 'dana', key, scopes: ['*'] }, stampOf(1))).toMatchObject({
        ok: false,
        code: 'BAD_KEY',
      });
    }
  });

  test('a bad argument is refused like a foreign op with it', () => {
    const asked = { ...input, name: 'tool', description: 'two\nlines', revise: 'mesh', claims: 'fact' } as const;
    expect(classAddBody(asked, stampOf(1))).toMatchObject({ ok: false, code: 'BAD_FIELD' });
  });
});

describe('trust op: kinds that this version does not apply', () => {
  test('parse with their name, whatever else they say', () => {
    for (const op of ['host-rename', 'something-newer']) {
      const body = {
        at: stampOf(1).at,
        by: approverOf(craig) as never as JsonObject,
        mesh,
        nonce: stampOf(1).nonce,
        op,
        prev: [mesh],
        any: { thing: [1] },
      };
      const parsed = must(parseTrustOp(canonicalJson({ auth: beta.auth as never as JsonObject, body })));
      expect(parsed.unsupported).toBe(op);
    }
  });

  test('need a stem all the same', () => {
    expect(faultOf(beta, { op: 'host-rename', prev: [] })).toContain('BAD_FIELD: prev');
    expect(faultOf(beta, { op: 'HOST' })).toContain('BAD_FIELD: op');
  });

  test('a fork-proof has no approval, everything else has one', () => {
    expect(faultOf(beta, { op: 'fork-proof' })).toContain('a fork-proof has no auth');
    expect(parseTrustOp(`{"body":${trustOpMessage(beta.body)}}`)).toMatchObject({ ok: false, code: 'BAD_FIELD' });
  });
});
