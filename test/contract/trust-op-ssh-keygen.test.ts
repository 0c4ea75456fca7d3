/** What `ssh-keygen` signs counts here, and what counts here `ssh-keygen` verifies: no part of memd is needed to check. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostAddBody } from '../../src/core/trust/build.ts';
import { finishTrustOp, trustOpMessage } from '../../src/core/trust/op.ts';
import { addOps, emptyTrustSet } from '../../src/core/trust/set.ts';
import { ed25519PrivatePem } from '../../src/crypto/ssh-key.ts';
import { armorToBlob } from '../../src/crypto/sshsig.ts';
import { approverOf, craig, genesisOf, hostAdd, hostFields, must, stampOf } from '../lib/trust-ops.ts';

const genesis = genesisOf();
const place = { mesh: genesis.id, prev: [genesis.id] };
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'memd-trust-'));
  writeFileSync(join(folder, 'key'), ed25519PrivatePem(craig.key.seed, 'craig'), { mode: 0o600 });
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function keygen(args: readonly string[], message: string): string {
  return execFileSync('ssh-keygen', args, { input: message, cwd: folder, encoding: 'utf8', timeout: 20_000 });
}

test.each(['sha256', 'sha512'])('an op signed by ssh-keygen (%s) is valid', (hash) => {
  const body = must(hostAddBody({ ...place, by: approverOf(craig), ...hostFields('beta', 11) }, stampOf(1)));
  const armor = keygen(['-Y', 'sign', '-f', 'key', '-n', 'memd-trust', '-O', `hashalg=${hash}`], trustOpMessage(body));
  const op = must(finishTrustOp(body, { ...approverOf(craig), sshsig: must(armorToBlob(armor)) }));
  expect(addOps(emptyTrustSet(genesis.id), [genesis, op]).added).toEqual([genesis.id, op.id]);
});

test('an op that is valid here verifies with ssh-keygen, over the body in its text', () => {
  const op = hostAdd({ ...place, by: craig, nonce: 1 }, 'beta', 11);
  const { auth } = JSON.parse(op.text) as { auth: { sshsig: string } };
  const body = op.text.slice(op.text.indexOf(',"body":') + 8, -1);
  const wrapped = auth.sshsig.replaceAll(/.{70}/g, '$&\n');
  writeFileSync(join(folder, 'sig'), `-----BEGIN SSH SIGNATURE-----\n${wrapped}\n-----END SSH SIGNATURE-----\n`);
  writeFileSync(join(folder, 'signers'), `craig ${craig.key.text}\n`);
  const args = ['-Y', 'verify', '-f', 'signers', '-I', 'craig', '-n', 'memd-trust', '-s', 'sig'];
  expect(keygen(args, body)).toContain('Good "memd-trust" signature for craig');
});
