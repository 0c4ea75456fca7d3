import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { trustIdleFilesMax, trustVoidMax } from '../../../../src/core/limits.ts';
import {
  signedOp,
  draftOp,
  growTrust,
  readTrustState,
  type TrustState,
} from '../../../../src/daemon/trust/trust-keeper.ts';
import { trustNamespace, trustOpMessage, type TrustOp } from '../../../../src/core/trust/op.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';
import {
  approverOf,
  craig,
  forkProof,
  genesisOf,
  hostAdd,
  hostFields,
  pinAt,
  placesIn,
  policySet,
  signerAdd,
  signerRevoke,
  skeletonAbout,
  sshsigOf,
  testKey,
  testSigner,
} from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const mesh = genesis.id;
const at = placesIn(mesh);
const dana = testSigner('dana', 2);
const addBeta = hostAdd(at(craig, [genesis]), 'beta', 11);
const addDana = signerAdd(at(craig, [addBeta]), dana, ['*', 'charter']);

async function stateOf(...ops: readonly TrustOp[]): Promise<{ repository: Repository; state: TrustState }> {
  const repository = await initRepository(join(temporaryFolder(), 'repo.git'), { host: 'alpha' });
  const empty = await readTrustState(repository, mesh);
  const { state } = await growTrust(repository, empty, { ops: [genesis, ...ops], via: 'test', host: 'alpha' });
  return { repository, state };
}

/** Drafts, signs and hands in, as a command does. */
async function approve(
  { repository, state }: { repository: Repository; state: TrustState },
  op: Parameters<typeof draftOp>[1]['op'],
  args: Readonly<Record<string, unknown>>,
): Promise<TrustState> {
  const body = draftOp(state, { op, args, key: approverOf(craig).key });
  const made = signedOp(trustOpMessage(body), sshsigOf(craig.key, trustOpMessage(body), trustNamespace));
  const grown = await growTrust(repository, state, { ops: [made], via: 'test', host: 'alpha' });
  expect(grown.report.added).toEqual([made.id]);
  return grown.state;
}

describe('trust keeper: drafts', () => {
  const { sign, ssh } = hostFields('beta', 20);
  const delegated = { host: 'beta', key: testKey(11).text, subjects: ['note/*'], kinds: ['assert'], from: 1, upto: 9 };

  test.each([
    ['host-add', hostFields('gamma', 12)],
    ['host-rekey', { name: 'beta', sign, ssh, pin: pinAt(mesh, 4) }],
    ['host-revoke', { name: 'beta', pin: pinAt(mesh, 4) }],
    ['signer-add', { name: 'erin', key: testKey(3).text, scopes: ['note/*'] }],
    ['signer-revoke', { name: 'dana', marks: { alpha: pinAt(mesh, 3) } }],
    ['class-add', { name: 'tool', description: '', revise: 'mesh', claims: 'fact' }],
    ['audience-add', { name: 'guests', includes: [] }],
    ['policy-set', { key: 'index.lines', value: 90 }],
    ['delegate', delegated],
    ['purge', { targets: [skeletonAbout('note/a', 'one')], reason: 'secret' }],
  ] as const)('%s is drafted, signed, counted, and read again from the branch', async (op, args) => {
    const start = await stateOf(addBeta, addDana);
    const state = await approve(start, op, args);
    expect(state.charter.conflicts).toEqual([]);
    const again = await readTrustState(start.repository, mesh);
    expect([again.hash, again.kept, again.files]).toEqual([state.hash, state.kept, state.files]);
    expect(again.hash).not.toBe(start.state.hash);
  });

  test.each([
    ['host-rekey', { name: 'beta', sign: testKey(11).text, ssh, pin: pinAt(mesh, 4) }, 'has had this sign key before'],
    ['host-revoke', { name: 'gamma', pin: pinAt(mesh, 4) }, 'there is no host gamma'],
    ['signer-revoke', { name: 'craig', marks: {}, leaveOut: [addDana.id] }, 'nobody could change the charter'],
    ['signer-revoke', { name: 'nobody', marks: {} }, 'there is no signer nobody'],
    ['delegate', { ...delegated, key: testKey(10).text }, 'not the sign key of beta'],
    ['policy-set', { key: 'index.lines' }, 'value'],
  ] as const)('%s with what would not count is refused before anybody signs', async (op, args, reason) => {
    const { state } = await stateOf(addBeta, addDana);
    expect(() => draftOp(state, { op, args, key: approverOf(craig).key })).toThrow(reason);
  });

  test('a revocation leaves out the ops that it is told to, so that they fall', async () => {
    const theirs = policySet(at(dana, [addDana], 5), 'index.lines', 1);
    const start = await stateOf(addBeta, addDana, theirs);
    const state = await approve(start, 'signer-revoke', { name: 'dana', marks: {}, leaveOut: [theirs.id] });
    expect(state.charter.policy.has('index.lines')).toBe(false);
    const kept = await approve(await stateOf(addBeta, addDana, theirs), 'signer-revoke', { name: 'dana', marks: {} });
    expect(kept.charter.policy.has('index.lines')).toBe(true);
  });

  test('a revocation may leave out all that its target did, and name nothing that other hosts may lack', async () => {
    const theirs = policySet(at(dana, [addDana], 5), 'index.lines', 1);
    const { state } = await stateOf(addBeta, addDana, theirs, hostAdd(at(craig, [theirs], 6), 'gamma', 12));
    const args = { name: 'dana', marks: {}, leaveOut: 'all' };
    expect(draftOp(state, { op: 'signer-revoke', args, key: approverOf(craig).key }).prev).toEqual([addDana.id]);
  });

  test('somebody who is no signer any more is not drafted for', async () => {
    const { state } = await stateOf(addBeta, addDana, signerRevoke(at(craig, [addDana]), 'dana'));
    const request = { op: 'policy-set', args: { key: 'k', value: 1 }, key: approverOf(dana).key } as const;
    expect(() => draftOp(state, request)).toThrow(/revoked|no signer/);
  });
});

describe('trust keeper: what is on the branch and not in the set', () => {
  test('void ops beyond the bound are no damage, and the branch does not seem to have shrunk', async () => {
    const many = Array.from({ length: trustVoidMax + 9 }, (_, index) =>
      policySet(at(dana, [addDana], 100 + index), 'index.lines', index),
    );
    const { repository, state } = await stateOf(addBeta, addDana, ...many);
    const revoke = signerRevoke(at(craig, [addDana]), 'dana');
    const grown = await growTrust(repository, state, { ops: [revoke], via: 'test', host: 'alpha' });
    expect(grown.state.set.held.size).toBe(4 + trustVoidMax);
    expect(grown.state.files.size).toBe(state.files.size + 1);
    const again = await readTrustState(repository, mesh);
    expect([again.unreadable, again.hash]).toEqual([[], grown.state.hash]);
    expect(again.files).toEqual(grown.state.files);
  });

  test('what a thief of a host key can make without end does not stay on the branch, and that it went is no rewind', async () => {
    const proof = (seq: number): TrustOp => forkProof(mesh, { host: 'beta', key: 11, source: addBeta.id, seq });
    const { repository, state } = await stateOf(addBeta);
    const files = Array.from({ length: trustIdleFilesMax }, (_, index) => index.toString(16).padStart(64, '0'));
    // As if each had once been the lowest: making them takes longer than the test is worth.
    const full: TrustState = {
      ...state,
      files: new Set([...state.files, ...files]),
      filesEver: state.filesEver + files.length,
    };
    const options = { via: 'test', host: 'alpha' };
    const still = await growTrust(repository, full, { ...options, ops: [proof(9)] });
    expect(still.state.files.size).toBe(state.files.size + trustIdleFilesMax + 1);
    const less = await growTrust(repository, still.state, { ...options, ops: [proof(7)] });
    expect([...less.state.files].toSorted()).toEqual([genesis.id, addBeta.id, proof(7).id].toSorted());
    expect(less.state.filesEver).toBe(still.state.filesEver + 1);
    const again = await readTrustState(repository, mesh);
    expect([again.files, again.hash]).toEqual([less.state.files, less.state.hash]);
    expect(again.filesEver).toBe(again.files.size + 1);
  });

  test('a fork-proof is stored with the ops, and a lower one beside it', async () => {
    const proof = (seq: number): TrustOp => forkProof(mesh, { host: 'beta', key: 11, source: addBeta.id, seq });
    const { repository, state } = await stateOf(addBeta, proof(7));
    expect(state.charter.hosts.get('beta')?.fork).toBe(7);
    const grown = await growTrust(repository, state, { ops: [proof(4), proof(9)], via: 'test', host: 'alpha' });
    expect(grown.report.added).toEqual([proof(4).id]);
    const again = await readTrustState(repository, mesh);
    expect([again.charter.hosts.get('beta')?.fork, again.hash]).toEqual([4, grown.state.hash]);
    expect((grown.state.charter.conflicts[0] as { kind: string }).kind).toBe('LOG_FORKED');
  });
});
