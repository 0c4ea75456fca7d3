/** Rows of the fault table: what leaves a home as a backup. */
import fs from 'node:fs';
import path from 'node:path';
import { createFold } from '../../src/core/fold/fold.ts';
import { addOps, emptyTrustSet } from '../../src/core/trust/set.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { writeExport } from '../../src/daemon/backup/export.ts';
import type { FaultRow, Found } from './fault-rows.ts';
import { fakeCharter, fakePorts, trust } from './fold-builders.ts';
import { craig, genesisOf, hostAdd, placesIn } from './trust-ops.ts';

type ExportedMesh = Parameters<typeof writeExport>[0];

const genesis = genesisOf();
const add = hostAdd(placesIn(genesis.id)(craig, [genesis]), 'alpha', 11);
/** The parts that an export reads. */
export const exportedMesh: ExportedMesh = {
  identity: { host: 'alpha', mesh: genesis.id },
  mesh: genesis.id,
  trust: { set: addOps(emptyTrustSet(genesis.id), [genesis, add]).set, hash: trust },
  logs: [
    { host: 'alpha', seq: 2, link: 'a'.repeat(64), lines: ['one', 'two'], problem: undefined },
    { host: 'beta', seq: 1, link: 'b'.repeat(64), lines: [Buffer.from([0xff, 0x21])], problem: 'not UTF-8' },
  ],
  fold: createFold(fakeCharter(), trust, fakePorts),
} as unknown as ExportedMesh;

const names = ['logs/alpha.jsonl', 'logs/beta.jsonl', 'trust.jsonl'];

/** A folder of that name is a whole export, or there is none. */
function exportIn(folder: string): Found {
  if (!fs.existsSync(folder)) return 'old';
  const { files } = JSON.parse(fs.readFileSync(path.join(folder, 'manifest.json'), 'utf8')) as {
    files: Readonly<Record<string, { readonly sha256: string }>>;
  };
  for (const name of names)
    if (sha256Hex(fs.readFileSync(path.join(folder, name))) !== files[name]?.sha256) throw new Error(`${name} is torn`);
  return 'new';
}

export const backupRows: readonly FaultRow[] = [
  {
    name: 'an export',
    // Of a process that was killed: no process has this id.
    before: (home) => fs.mkdirSync(path.join(home.dir, 'export.tmp-4194305', 'logs'), { recursive: true }),
    async write(home) {
      const folder = path.join(home.dir, 'export');
      // It is in its place, and that it is could not be made durable: whoever was told so finds it there.
      if (exportIn(folder) === 'old') await writeExport(exportedMesh, { folder, at: '2026-07-27T12:00:00.000Z' });
    },
    find: (home) => exportIn(path.join(home.dir, 'export')),
    durable: true,
  },
];
