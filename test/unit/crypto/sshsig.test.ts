import { describe, expect, test } from 'vitest';
import { publicKeyOf, signEd25519, signingKeyFromSeed } from '../../../src/crypto/ed25519.ts';
import { ed25519PublicText, parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { armorToBlob, encodeSshsig, signedData, verifySshsig } from '../../../src/crypto/sshsig.ts';
import { readOutsideBytes, readOutsideJson, withOutsideVectors } from '../../lib/outside-vectors.ts';

const key = signingKeyFromSeed(new Uint8Array(32).fill(5));
const parsedKey = parseSshPublicKey(ed25519PublicText(publicKeyOf(key)));
if (!parsedKey.ok) throw new Error(parsedKey.detail);
const publicKey = parsedKey.value;
const namespace = 'memd-event';

function approve(message: string, hash: 'sha256' | 'sha512' = 'sha512'): string {
  const signature = signEd25519(key, signedData({ namespace, hash }, message));
  return encodeSshsig({ publicKey: publicKey.blob, namespace, hash, signatureType: 'ssh-ed25519', signature });
}

function verdict(sshsig: string, message = 'hello'): string {
  const answer = verifySshsig({ sshsig, namespace, message, key: publicKey });
  return answer.ok ? 'ok' : answer.code;
}

describe('verifySshsig', () => {
  test('what was approved verifies, with either hash', () => {
    expect(verdict(approve('hello'))).toBe('ok');
    expect(verdict(approve('hello', 'sha256'))).toBe('ok');
    expect(verdict(approve('hello'), 'Hello')).toBe('SIGNATURE');
  });

  test('no flipped bit of the whole blob goes unnoticed', () => {
    const blob = Buffer.from(approve('hello'), 'base64');
    for (let bit = 0; bit < blob.length * 8; bit += 1) {
      const flipped = Buffer.from(blob);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect([bit, verdict(flipped.toString('base64'))]).not.toEqual([bit, 'ok']);
    }
  });

  test('no cut, and nothing added, goes unnoticed', () => {
    const blob = Buffer.from(approve('hello'), 'base64');
    for (let length = 0; length < blob.length; length += 1) {
      expect(verdict(blob.subarray(0, length).toString('base64'))).not.toBe('ok');
    }
    expect(verdict(Buffer.concat([blob, Buffer.from([0])]).toString('base64'))).toBe('NOT_CANONICAL');
  });

  test('says what is wrong', () => {
    const blob = Buffer.from(approve('hello'), 'base64');
    const text = blob.toString('latin1');
    const changed = (from: string, to: string): string =>
      Buffer.from(text.replace(from, to), 'latin1').toString('base64');
    expect(verdict('*')).toBe('NOT_BASE64');
    expect(verdict('AAAA')).toBe('NOT_SSHSIG');
    expect(verdict(changed('\u0001\u0000\u0000\u00003', '\u0002\u0000\u0000\u00003'))).toBe('NOT_SSHSIG');
    expect(verdict(changed('memd-event', 'memd-trust'))).toBe('NAMESPACE');
    expect(verdict(changed('sha512', 'sha513'))).toBe('HASH_UNSUPPORTED');
    expect(verdict(changed('sha512\u0000', 'sha512\u0001'))).toBe('NOT_SSHSIG');
    const other = parseSshPublicKey(ed25519PublicText(publicKeyOf(signingKeyFromSeed(new Uint8Array(32).fill(6)))));
    if (!other.ok) throw new Error(other.detail);
    const answer = verifySshsig({ sshsig: approve('hello'), namespace, message: 'hello', key: other.value });
    expect(answer).toMatchObject({ ok: false, code: 'KEY_MISMATCH' });
  });
});

describe('armorToBlob', () => {
  const body =
    approve('hello')
      .match(/.{1,70}/g)
      ?.join('\n') ?? '';
  const armor = `-----BEGIN SSH SIGNATURE-----\n${body}\n-----END SSH SIGNATURE-----\n`;

  test('takes the armor of ssh-keygen, with or without the last newline', () => {
    expect(armorToBlob(armor)).toEqual({ ok: true, value: approve('hello') });
    expect(armorToBlob(armor.trimEnd())).toEqual({ ok: true, value: approve('hello') });
  });

  test('refuses every other spelling', () => {
    const others = [
      '',
      approve('hello'),
      ` ${armor}`,
      `\n${armor}`,
      `${armor}\n`,
      `${armor}x`,
      armor + armor,
      armor.replaceAll('\n', '\r\n'),
      armor.replace('BEGIN SSH', 'BEGIN PGP'),
      armor.replace('-----BEGIN SSH SIGNATURE-----\n', '-----BEGIN SSH SIGNATURE----- \n'),
      armor.replace(body, ''),
      armor.replace(body, body.replaceAll('\n', '')),
      armor.replace(body, `${body}=`),
      armor.replace(body, `${body}\n`),
    ];
    for (const other of others) expect(armorToBlob(other)).toMatchObject({ ok: false, code: 'NOT_ARMOR' });
  });
});

withOutsideVectors('sshsig', (folder) => {
  describe('outside vectors sshsig', () => {
    interface Row {
      readonly id: string;
      readonly file: string;
      readonly namespace: string;
      readonly principal: string;
      readonly message: string;
      readonly allowed_signers: string;
      readonly strict: 'pass' | 'fail' | 'either';
      /** By verifier and version. */
      readonly verdicts: Readonly<Record<string, string>>;
    }
    const rows = readOutsideJson(folder, 'expected.json') as readonly Row[];

    function answer(row: Row): string {
      const listed = Buffer.from(readOutsideBytes(folder, row.allowed_signers)).toString('utf8').trim().split('\n');
      const entry = listed.map((line) => line.split(' ')).find(([principal]) => principal === row.principal);
      if (entry === undefined) return 'no such signer';
      const key = parseSshPublicKey(`${entry[1]} ${entry[2]}`);
      if (!key.ok) return key.code;
      const armor = Buffer.from(readOutsideBytes(folder, row.file)).toString('latin1');
      const blob = armorToBlob(armor);
      if (!blob.ok) return blob.code;
      const message = readOutsideBytes(folder, row.message);
      const verdict = verifySshsig({ sshsig: blob.value, namespace: row.namespace, message, key: key.value });
      return verdict.ok ? 'pass' : verdict.code;
    }

    test.each(rows.map((row) => [row.id, row] as const))('%s', (_, row) => {
      const given = answer(row);
      if (row.strict !== 'either') expect([given, given === 'pass']).toEqual([given, row.strict === 'pass']);
      else expect(given).toMatch(eitherAs(row.id));
    });

    /** Where every verifier may choose, this one has chosen. */
    function eitherAs(id: string): RegExp {
      if (/^sk-.*-flags-0x/.test(id) || id.endsWith('-high-s')) return /^pass$/;
      return id === 'rsa-e3-good' ? /^WEAK_KEY$/ : /^NOT_ARMOR$/;
    }

    test('what passes here passes with every OpenSSH that was asked', () => {
      const asked = rows
        .filter((row) => answer(row) === 'pass')
        .flatMap(({ id, verdicts }) =>
          Object.entries(verdicts)
            .filter(([verifier]) => verifier.startsWith('OpenSSH'))
            .map(([verifier, verdict]) => `${id} ${verifier} ${verdict}`),
        );
      expect(asked.length).toBeGreaterThan(50);
      expect(asked.filter((line) => !line.endsWith(' pass'))).toEqual([]);
    });

    test('the rows hold good ones of every family, and many bad ones', () => {
      const passed = rows.filter((row) => answer(row) === 'pass');
      expect(new Set(passed.map((row) => row.allowed_signers.replace('allowed/', ''))).size).toBeGreaterThan(8);
      expect(rows.length).toBeGreaterThan(240);
    });
  });
});
