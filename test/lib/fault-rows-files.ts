/** Rows of the fault table: the home itself, its keys, its notes and small logs. */
import fs from 'node:fs';
import path from 'node:path';
import { appendBounded, readBounded } from '../../src/store/notes/bounded-log.ts';
import { tryRoom } from '../../src/store/home/disk-room.ts';
import { noteFineLine, readFineLines } from '../../src/store/logs/fine-journal.ts';
import { lockHome } from '../../src/store/home/home-lock.ts';
import { createHome, openHome, type Home } from '../../src/store/home/home.ts';
import { noteHook, readHookLog } from '../../src/store/notes/hook-log.ts';
import { injectedOf, noteInjected, type InjectedRecord } from '../../src/store/notes/injected-log.ts';
import { createKeys, readKeys } from '../../src/store/home/keys.ts';
import {
  damagedLastHeads,
  readLastHeads,
  setAsideLastHeads,
  writeLastHeads,
  type LastHeads,
} from '../../src/store/notes/last-heads.ts';
import { bindMachine, checkMachine } from '../../src/store/home/machine-marker.ts';
import {
  createNextKeys,
  forgetLastSshKey,
  readLastSshKey,
  readNextKeys,
  takeNextKeys,
} from '../../src/store/home/next-keys.ts';
import { readPeerMemory, writePeerMemory } from '../../src/store/notes/peer-memory.ts';
import { readPurgeNote, writePurgeNote } from '../../src/store/notes/purge-note.ts';
import { noteExport, readExportNotes } from '../../src/store/notes/export-note.ts';
import { readManifestFloor, writeManifestFloor } from '../../src/store/notes/manifest-floor.ts';
import type { ManifestFloor } from '../../src/core/manifest-floor.ts';
import { sweepHome } from '../../src/store/home/sweep.ts';
import { read, some } from './fault-finds.ts';
import type { FaultRow, Found } from './fault-rows.ts';
import { viewLines } from './view-lines.ts';

const floorOf = (ops: number): ManifestFloor => ({
  mesh: 'a'.repeat(64),
  trust: { hash: 'b'.repeat(64), ops },
  hosts: new Map(),
});

const homeRow: FaultRow = {
  name: 'a new home',
  before: (home) => fs.rmSync(home.dir, { recursive: true }),
  write: (home) => createHome(home.dir),
  find(home) {
    if (!fs.existsSync(home.dir)) return 'old';
    openHome(home.dir);
    return [home.keys, home.views, home.logs].every((folder) => fs.existsSync(folder)) ? 'new' : 'between';
  },
  durable: true,
  mayBeBetween: true,
};

const lockRow: FaultRow = {
  name: 'the lock and its note',
  write: (home) => lockHome(home, { program: 'test', now: new Date(0) }).release(),
  find(home) {
    lockHome(home, { program: 'test', now: new Date(0) }).release();
    return 'new';
  },
  durable: false,
};

const markerRow: FaultRow = {
  name: 'the marker of the machine',
  write: (home) => bindMachine(home, { machineId: null }),
  find(home) {
    const state = checkMachine(home, null);
    // Laid out anew by the power cut: another file with the same bytes, and whole.
    if (state === 'same' || state === 'copied') return 'new';
    if (read(home.marker) !== undefined) throw new Error(`the marker is there and says ${state}`);
    return 'old';
  },
  durable: true,
};

const keyRows: readonly FaultRow[] = [
  {
    name: 'the keys of a host',
    write: (home) => createKeys(home, { host: 'alpha' }),
    find(home) {
      const there = [home.hostKey, home.sshKey].filter((file) => fs.existsSync(file)).length;
      if (there === 2) readKeys(home);
      return there === 2 ? 'new' : there === 1 ? 'between' : 'old';
    },
    durable: true,
    mayBeBetween: true,
  },
  {
    name: 'the next keys of a host',
    write: (home) => createNextKeys(home, 'alpha'),
    find(home) {
      const { sign, ssh } = readNextKeys(home);
      return sign !== undefined && ssh !== undefined
        ? 'new'
        : sign === undefined && ssh === undefined
          ? 'old'
          : 'between';
    },
    durable: true,
    mayBeBetween: true,
  },
  {
    name: 'the next keys in the place of the old ones',
    async before(home) {
      await createKeys(home, { host: 'alpha' });
      const { sign, ssh } = await createNextKeys(home, 'alpha');
      fs.writeFileSync(path.join(home.dir, 'named'), `${sign.publicKey.text}\n${ssh.publicKey.text}`);
    },
    write: (home) => takeNextKeys(home, namedKeys(home)),
    find(home) {
      // Whatever comes, a host has two keys that can be read, and its peers know one of its ssh keys.
      const { sign, ssh } = readKeys(home);
      const named = namedKeys(home);
      const taken = [sign.publicKey.text === named.sign.text, ssh.publicKey.text === named.ssh.text];
      if (taken[1] === true && readLastSshKey(home) === undefined)
        throw new Error('the ssh key that peers know is gone');
      return taken.every(Boolean) ? 'new' : taken.some(Boolean) ? 'between' : 'old';
    },
    durable: true,
    mayBeBetween: true,
  },
  {
    name: 'the last ssh key given up',
    before: (home) => fs.writeFileSync(path.join(home.keys, 'last_ssh_ed25519'), 'x', { mode: 0o600 }),
    write: (home) => forgetLastSshKey(home),
    find: (home) => (fs.existsSync(path.join(home.keys, 'last_ssh_ed25519')) ? 'old' : 'new'),
    durable: true,
  },
];

function namedKeys(home: Home): { sign: { text: string }; ssh: { text: string } } {
  const [sign = '', ssh = ''] = (read(path.join(home.dir, 'named')) ?? '').split('\n');
  return { sign: { text: sign }, ssh: { text: ssh } };
}

const headsOf = (seq: number): LastHeads => ({
  logs: { alpha: { oid: 'a'.repeat(40), seq, link: 'b'.repeat(64) } },
  trust: null,
});

const headsRows: readonly FaultRow[] = [
  {
    name: 'last-heads.json',
    before: (home) => writeLastHeads(home, headsOf(1)),
    write: (home) => writeLastHeads(home, headsOf(2)),
    find(home) {
      const { heads, state } = readLastHeads(home);
      if (state !== 'read') throw new Error(`it is ${state}`);
      return heads.logs['alpha']?.seq === 2 ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'a damaged last-heads.json set aside',
    before: (home) => fs.writeFileSync(home.lastHeads, 'torn'),
    write(home) {
      if (fs.existsSync(home.lastHeads)) setAsideLastHeads(home);
    },
    find(home) {
      const found = [home.lastHeads, damagedLastHeads(home)].map(read);
      if (!found.includes('torn')) throw new Error('the evidence is gone');
      return found[0] === undefined ? 'new' : 'old';
    },
    durable: false,
  },
];

const noteRows: readonly FaultRow[] = [
  {
    name: 'purged.json',
    before: (home) => writePurgeNote(home, ['a'.repeat(64)]),
    write: (home) =>
      writePurgeNote(
        home,
        ['a', 'b'].map((digit) => digit.repeat(64)),
      ),
    find(home) {
      const done = readPurgeNote(home).length;
      if (done === 0) throw new Error('what was done is forgotten');
      return done === 2 ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'exports.json',
    before: (home) => noteExport(home, { dir: '/backup/a', at: '', trust: 'a'.repeat(64) }),
    write: (home) => noteExport(home, { dir: '/backup/b', at: '', trust: 'a'.repeat(64) }),
    find(home) {
      const notes = readExportNotes(home).length;
      if (notes === 0) throw new Error('an export is forgotten');
      return notes === 2 ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'manifest-floor.json',
    before: (home) => writeManifestFloor(home, floorOf(1)),
    write: (home) => writeManifestFloor(home, floorOf(2)),
    find(home) {
      const floor = readManifestFloor(home);
      if (floor === undefined || floor === 'damaged') throw new Error('what was seen is forgotten');
      return floor.trust.ops === 2 ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'peers.json',
    write: (home) =>
      writePeerMemory(home, new Map([['beta', { since: null, lastContact: null, lastNewEvent: null, holds: 3 }]])),
    find(home) {
      if (read(home.peerMemory) !== undefined && !readPeerMemory(home).has('beta')) throw new Error('it is torn');
      return readPeerMemory(home).has('beta') ? 'new' : 'old';
    },
    durable: true,
  },
  {
    name: 'the trial whether there is room',
    write(home) {
      const fault = tryRoom(home);
      if (fault !== undefined) throw fault;
    },
    find: () => 'new',
    durable: false,
  },
];

const [fineLine] = viewLines('alpha', 1);

const injected: InjectedRecord = {
  at: 'now',
  harness: 'h',
  event: 'e',
  source: 's',
  session: 'one',
  agent: '',
  scope: '*',
  audience: 'operator',
  head: [],
  view: 'v',
};

const boundedRows: readonly FaultRow[] = [
  {
    name: 'a bounded log, which begins a new file',
    before: (home) => fs.writeFileSync(path.join(home.dir, 'small.log'), '{"n":1}\n{"n":2}\n'),
    write: (home) => appendBounded(path.join(home.dir, 'small.log'), '{"n":3}', 10),
    find: (home) => lastLineIs(readBounded(path.join(home.dir, 'small.log')), '{"n":3}'),
    durable: false,
  },
  {
    name: 'a bounded log, which goes on',
    before: (home) => fs.writeFileSync(path.join(home.dir, 'small.log'), '{"n":1}\n{"n":2}\n'),
    write: (home) => appendBounded(path.join(home.dir, 'small.log'), '{"n":3}', 1_000),
    find: (home) => lastLineIs(readBounded(path.join(home.dir, 'small.log')), '{"n":3}'),
    durable: false,
  },
  {
    name: 'the fine journal',
    write: (home) => fineLine && noteFineLine(home, fineLine),
    find: (home) => ([...readFineLines(home)].length > 0 ? 'new' : 'old'),
    durable: false,
  },
  {
    name: 'hooks.log',
    write(home) {
      if (!noteHook(home, { at: 'now', harness: 'h', event: 'e', outcome: 'failed', why: 'w' }))
        throw new Error('not noted');
    },
    find: (home) => (readHookLog(home).length > 0 ? 'new' : 'old'),
    durable: false,
  },
  {
    name: 'injected.jsonl',
    write: (home) => noteInjected(home, injected),
    find: (home) => (injectedOf(home, injected.session).length > 0 ? 'new' : 'old'),
    durable: false,
  },
];

/** Every line is whole or the torn rest of a write that failed, which takes no other with it. */
function lastLineIs(lines: readonly string[], last: string): Found {
  const torn = lines.filter((line) => !/^\{"n":\d\}$/.test(line) && !last.startsWith(line));
  if (torn.length > 0) throw new Error(`glued: ${torn.join(' | ')}`);
  return lines.includes(last) ? 'new' : 'old';
}

const remains = ['repo.git/refs/memd/x', 'keys/host_ed25519.tmp-1', 'logs/.alpha.jsonl.tmp-1', 'forks/a.jsonl.tmp-1'];

const sweepRow: FaultRow = {
  name: 'the sweep of what a crash left',
  before(home) {
    for (const name of remains) {
      fs.mkdirSync(path.dirname(path.join(home.dir, name)), { recursive: true });
      fs.writeFileSync(path.join(home.dir, name), 'x');
    }
  },
  write(home) {
    const lock = lockHome(home, { program: 'test', now: new Date(0) });
    try {
      sweepHome(lock);
    } finally {
      lock.release();
    }
  },
  find: (home) => some(remains.filter((name) => fs.existsSync(path.join(home.dir, name))).length, remains.length),
  durable: false,
  mayBeBetween: true,
};

export const fileRows: readonly FaultRow[] = [
  homeRow,
  lockRow,
  markerRow,
  ...keyRows,
  ...headsRows,
  ...noteRows,
  ...boundedRows,
  sweepRow,
];
