import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Engine } from '../../../../src/daemon/engine.ts';
import { indexTrust, trustAt } from '../../../../src/daemon/journal/trust-at.ts';
import { purgeWarnings } from '../../../../src/daemon/purge/purge-list.ts';
import { growTrust, readTrustState, type TrustState } from '../../../../src/daemon/trust/trust-keeper.ts';
import { initRepository, type Repository } from '../../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';
import { craig, genesisOf, hostAdd, placesIn, policySet, purge, skeletonAbout } from '../../../lib/trust-ops.ts';

const genesis = genesisOf();
const at = placesIn(genesis.id);
const addBeta = hostAdd(at(craig, [genesis]), 'beta', 11);
const purged = purge(at(craig, [addBeta]), { reason: 'secret', targets: [skeletonAbout('note/leak', 'word')] });

interface Grown {
  readonly folder: string;
  readonly repository: Repository;
  /** After each op. */
  readonly states: readonly TrustState[];
}

async function grown(): Promise<Grown> {
  const folder = temporaryFolder();
  const repository = await initRepository(join(folder, 'repo.git'), { host: 'alpha' });
  const policies = Array.from({ length: 20 }, (_, n) => policySet(at(craig, [purged], n), 'index.lines', n + 10));
  const states = [await readTrustState(repository, genesis.id)];
  for (const op of [genesis, addBeta, purged, ...policies]) {
    const before = states.at(-1) as TrustState;
    states.push((await growTrust(repository, before, { ops: [op], via: 'test', host: 'alpha' })).state);
  }
  return { folder, repository, states: states.slice(1) };
}

/** Of memd: what `status` asks about purges. `trust`: the hash that beta signed last. */
function engineOf({ repository, states }: Grown, trust: () => string): Engine {
  const now = states.at(-1) as TrustState;
  const engine = {
    repository,
    identity: { host: 'alpha' },
    trust: () => now,
    charter: () => now.charter,
    journal: { load: () => Promise.resolve(), newest: () => ({ at: '2026-07-27T12:00:00.000Z', trust: trust() }) },
    peerBook: { of: () => ({ lastContact: null, heads: null }) },
  };
  return engine as unknown as Engine;
}

describe('trust sets by their hash', () => {
  test('the index finds every set that is found one by one, and nothing else', async () => {
    const { repository, states } = await grown();
    const now = states.at(-1) as TrustState;
    const index = indexTrust(repository, now.set);
    await index.whole;
    for (const { hash } of states.slice(0, -1)) {
      const one = await trustAt(repository, now, hash);
      expect([...(index.find(hash)?.charter.purges.keys() ?? [])]).toEqual([
        ...(one?.charter.purges.keys() ?? ['none']),
      ]);
    }
    expect(index.find('e'.repeat(64))).toBeUndefined();
  });

  test('status reads nothing for a hash that names no set here: a host may write as many of them as it likes', async () => {
    const mesh = await grown();
    let junk = 0;
    const heard = engineOf(mesh, () => (junk += 1).toString(16).padStart(64, '0'));
    expect((await purgeWarnings(heard))[0]).toContain('every purge: beta;');
    rmSync(mesh.folder, { recursive: true });
    for (let line = 0; line < 600; line += 1) expect((await purgeWarnings(heard))[0]).toContain('every purge: beta;');
  });

  test('a host that signs an older set with the purge in it has carried it out', async () => {
    const mesh = await grown();
    const [, , withPurge] = mesh.states;
    expect(await purgeWarnings(engineOf(mesh, () => withPurge?.hash ?? ''))).toEqual([]);
    const [, before] = mesh.states;
    expect((await purgeWarnings(engineOf(mesh, () => before?.hash ?? '')))[0]).toContain('every purge: beta;');
  });
});
