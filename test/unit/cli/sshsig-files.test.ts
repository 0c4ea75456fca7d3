/** The files that stock OpenSSH is given: their form, and what is never written. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { allowedSignersText, armored, writeApprovals } from '../../../src/cli/sshsig-files.ts';
import { policyValue } from '../../../src/cli/commands/policy.ts';
import { looksLikePrivateKey } from '../../../src/crypto/ssh-key.ts';
import { shellWord } from '../../../src/cli/shell-word.ts';
import { wordList } from '../../../src/cli/signing-options.ts';
import { armorToBlob } from '../../../src/crypto/sshsig.ts';
import type { ApprovalJson, ApprovalsJson, SignerJson } from '../../../src/daemon/api/api-types.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { craig, sshsigOf, testSigner, type TestSigner } from '../../lib/trust-ops.ts';

const by = { signer: 'craig', key: craig.key.public.fingerprint };
const at = '2026-07-27T15:04:05.000Z';
const dana = testSigner('dana', 2);

function signerJson({ name, key }: TestSigner, rest: Partial<SignerJson> = {}): SignerJson {
  const origin = { op: 'aa'.repeat(32), by, at };
  const texts = { name, key: key.public.fingerprint, publicKey: key.text };
  return { ...texts, scopes: ['*'], status: 'active', rank: 0, revocations: [], ...origin, ...rest };
}

function approvalOf(signer: TestSigner, message: string, rest: Partial<ApprovalJson> = {}): ApprovalJson {
  return {
    signer: signer.name,
    key: signer.key.public.fingerprint,
    publicKey: signer.key.text,
    signerStatus: 'active',
    sshsig: sshsigOf(signer.key, message, 'memd-event'),
    verdict: 'ok',
    carriedBy: [{ log: 'alpha', seq: 1 }],
    ...rest,
  };
}

const held = (approvals: readonly ApprovalJson[], message = '{"a":1}'): ApprovalsJson => {
  return { id: 'bb'.repeat(32), namespace: 'memd-event', message, approvals };
};

describe('allowed_signers', () => {
  test('one line for each active signer; a revoked one is a comment that says by whom', () => {
    const op = 'cc'.repeat(32);
    const revoked = signerJson(dana, { status: 'revoked', revocations: [{ op, by, at, marks: {} }] });
    expect(allowedSignersText('ab12', [signerJson(craig), revoked]).split('\n')).toEqual([
      '# signers of memd mesh ab12',
      `craig namespaces="memd-event,memd-trust" ${craig.key.text}`,
      `# revoked by craig, trust op ${op}: dana namespaces="memd-event,memd-trust" ${dana.key.text}`,
      '',
    ]);
  });
});

describe('armor', () => {
  test('is what reading it back takes, for blobs of every length around a full line', () => {
    for (let bytes = 1; bytes < 160; bytes += 1) {
      const blob = Buffer.alloc(bytes, bytes).toString('base64');
      expect(armorToBlob(armored(blob))).toEqual({ ok: true, value: blob });
    }
  });
});

describe('the files of one event', () => {
  test('message without a newline at its end, a signature each, also for two by one signer', () => {
    const dir = join(temporaryFolder(), 'proof');
    const { approvals } = writeApprovals(
      dir,
      held([approvalOf(craig, 'a'), approvalOf(dana, 'a'), approvalOf(craig, 'b')]),
    );
    expect(readdirSync(dir).toSorted()).toEqual(['allowed_signers', 'craig-2.sig', 'craig.sig', 'dana.sig', 'message']);
    expect(readFileSync(join(dir, 'message'), 'utf8')).toBe('{"a":1}');
    expect(approvals.map(({ command }) => command)).toEqual(
      [
        ['craig', 'craig'],
        ['dana', 'dana'],
        ['craig', 'craig-2'],
      ].map(
        ([name, file]) =>
          `ssh-keygen -Y verify -f ${dir}/allowed_signers -I ${name} -n memd-event -s ${dir}/${file}.sig < ${dir}/message`,
      ),
    );
  });

  test('a folder with a blank and a quote is quoted for the shell', () => {
    const dir = join(temporaryFolder(), "it's here");
    const [written] = writeApprovals(dir, held([approvalOf(craig, 'a')])).approvals;
    expect(written?.command).toContain(`-f '${dir.replace("'", "'\\''")}/allowed_signers'`);
  });

  test('a key that no signer has gets no line and no command: there is nothing to verify it against', () => {
    const dir = join(temporaryFolder(), 'proof');
    const stranger = approvalOf(dana, 'a', { publicKey: null, signerStatus: 'unknown', verdict: 'unknown' });
    const { approvals } = writeApprovals(dir, held([stranger]));
    expect(approvals[0]).toMatchObject({ command: null, verdict: 'unknown' });
    expect(readFileSync(join(dir, 'allowed_signers'), 'utf8')).toMatch(/^# dana: no signer/);
  });

  test('a folder with something in it is not touched, and neither is anything for an event without approval', () => {
    const dir = join(temporaryFolder(), 'proof');
    mkdirSync(dir);
    writeFileSync(join(dir, 'mine'), 'x');
    expect(() => writeApprovals(dir, held([approvalOf(craig, 'a')]))).toThrow(/is not empty/);
    expect(readdirSync(dir)).toEqual(['mine']);
    const none = join(temporaryFolder(), 'none');
    expect(() => writeApprovals(none, held([]))).toThrow(/no line carries an approval/);
    expect(() => writeApprovals(none, held([approvalOf(craig, 'a')], ''))).toThrow(/not held here/);
    expect(() => statSync(none)).toThrow(/ENOENT/);
  });
});

describe('words of the command line', () => {
  test('a value is a number only in its usual form', () => {
    expect(['12', '0', '-3', '012', '1e3', '1.5', '', '9007199254740993', 'x'].map(policyValue)).toEqual([
      12,
      0,
      -3,
      '012',
      '1e3',
      '1.5',
      '',
      '9007199254740993',
      'x',
    ]);
  });

  test('lists take blanks and leave out what is empty', () => {
    expect(wordList(' a, b ,,c')).toEqual(['a', 'b', 'c']);
    expect(wordList('')).toEqual([]);
  });

  test('a shell word is quoted only where that is needed', () => {
    expect(['/a/b-c.d', '', "a b'c"].map(shellWord)).toEqual(['/a/b-c.d', "''", "'a b'\\''c'"]);
  });

  test.each([
    ['OpenSSH', '-----BEGIN OPENSSH PRIVATE KEY-----'],
    ['its first bytes alone', 'b3BlbnNzaC1rZXktdjEAAAAABG5vbmU'],
    ['PEM', '-----BEGIN RSA PRIVATE KEY-----'],
    ['PKCS8, encrypted', '-----BEGIN ENCRYPTED PRIVATE KEY-----'],
    ['PuTTY', 'PuTTY-User-Key-File-3: ssh-ed25519'],
  ])('a private key of form %s is known as one; a public key is not', (_, text) => {
    expect(looksLikePrivateKey(text)).toBe(true);
    expect(looksLikePrivateKey(craig.key.text)).toBe(false);
  });
});
