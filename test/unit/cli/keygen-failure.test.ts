import { describe, expect, test } from 'vitest';
import { judgeFailure, type Attempt, type KeygenEnd } from '../../../src/cli/sign/keygen-failure.ts';

const attempt: Attempt = { file: '/k/craig', terminal: true, agent: false, tries: 3, event: true };

function judge(
  end: Partial<KeygenEnd>,
  over: Partial<Attempt> = {},
): { code: string; message: string; again: boolean } {
  const { refusal, again } = judgeFailure({ code: 255, signal: null, stderr: '', ...end }, { ...attempt, ...over });
  expect(refusal.exit).toBe(6);
  expect(refusal.hint).toBeTruthy();
  return { code: refusal.code, message: refusal.message, again };
}

describe('why ssh-keygen made no signature', () => {
  const wrong = 'Load key "/k/craig": incorrect passphrase supplied to decrypt private key\r\n';
  const missing = Object.assign(new Error('spawn ssh-keygen ENOENT'), { code: 'ENOENT' });

  test('a wrong passphrase is worth another try on a terminal, and elsewhere needs one', () => {
    expect(judge({ stderr: wrong })).toMatchObject({ code: 'SIGN_FAILED', again: true });
    expect(judge({ stderr: `Enter passphrase: ${wrong}` }, { terminal: false })).toMatchObject({
      code: 'NO_TERMINAL',
      again: false,
    });
    expect(judge({ stderr: wrong }, { terminal: false }).message).toMatch(/neither a terminal nor an open window$/);
    expect(judge({ stderr: wrong }, { terminal: false, event: false }).message).toMatch(/and there is no terminal$/);
  });

  test.each<[string, Partial<KeygenEnd>, RegExp]>([
    ['no ssh-keygen', { code: null, error: missing }, /ssh-keygen is not on PATH/],
    ['interrupted', { code: null, signal: 'SIGINT' }, /cancelled/],
    ['nobody answered', { code: null, signal: 'SIGTERM' }, /nobody answered in time/],
    ['the agent was told no', { stderr: "Couldn't sign message: agent refused operation\n" }, /agent did not sign/],
    ['open to others', { stderr: 'Load key "/k/craig": bad permissions\n' }, /can be read by others/],
    ['of another user', { stderr: 'Load key "/k/craig": Permission denied\n' }, /cannot be read by this user/],
    ['no key', { stderr: 'Load key "/k/craig": invalid format\n' }, /no private key/],
    ['hardware that is not there', { stderr: 'Signing failed: device not found\n' }, /hardware key/],
    ['an old OpenSSH', { stderr: 'unknown option -- Y\nusage: ssh-keygen [-q]\n' }, /cannot sign/],
    ['anything else', { stderr: 'odd \u001B[31mthing\n' }, /failed: odd .*thing$/],
  ])('%s: said in words, and not tried again', (_, end, says) => {
    const { code, message, again } = judge(end);
    expect({ code, again }).toEqual({ code: 'SIGN_FAILED', again: false });
    expect(message).toMatch(says);
    expect(message).not.toContain('\u001B');
  });

  test('a public key file has its private half elsewhere', () => {
    const end = { stderr: 'No private key found for public key "/k/card.pub"\n' };
    expect(judge(end, { file: '/k/card.pub' }).message).toMatch(/private half of \/k\/card.pub is not here/);
  });
});
