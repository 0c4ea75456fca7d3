/** Checks of the home: its folder, keys, lock, and the memd that runs on it. */
import { lstatSync, readFileSync } from 'node:fs';
import { counted } from '../../daemon/counted.ts';
import { readIdentity } from '../../daemon/identity.ts';
import { isUnprotectedKey } from '../../daemon/trust/signer-key.ts';
import { revokedText } from '../../mesh/ssh/ssh-login.ts';
import { openHome } from '../../store/home/home.ts';
import { readLockOwner } from '../../store/home/home-lock.ts';
import { readKeys } from '../../store/home/keys.ts';
import { isAlive } from '../../store/live-process.ts';
import { fine, NotChecked, wrong, type Check, type Room } from './checks.ts';

const home: Check = {
  name: 'home',
  look: ({ home: { dir } }) => {
    openHome(dir);
    return fine(`${dir}, closed to others`);
  },
};

const identity: Check = {
  name: 'identity',
  inHome: true,
  look: (room) => {
    const { host, mesh } = readIdentity(room.home);
    if (mesh === null) return wrong(`host ${host} has joined no mesh yet`, 'memctl join ssh://HOST:PORT --mesh ID');
    return fine(`host ${host} of mesh ${mesh}`);
  },
};

const keys: Check = {
  name: 'keys',
  inHome: true,
  look: async (room) => {
    const { sign, ssh } = readKeys(room.home);
    const { host } = room.identity();
    const member = (await room.snapshot()).trust.charter.hosts.get(host);
    if (member === undefined)
      return wrong(
        `the charter names no host ${host}`,
        'memctl import DIR prints the line for memctl host add, which a signer runs on any host of the mesh; then memctl fetch',
      );
    if (member.sign.text !== sign.publicKey.text || member.ssh.text !== ssh.publicKey.text)
      return wrong(
        `the keys are not those that the charter names for ${host}`,
        'restore keys/ from a backup of this host; if a signer gave it new ones elsewhere, this home is that host no more: move it aside, memctl host request --host NAME2',
      );
    return fine(`both are those of the charter, closed to others (${sign.publicKey.fingerprint})`);
  },
};

const charter: Check = {
  name: 'charter',
  inHome: true,
  look: async (room) => {
    const { hosts, signers, conflicts } = (await room.snapshot()).trust.charter;
    const { host } = room.identity();
    const self = hosts.get(host);
    if (self?.status === 'revoked')
      return wrong(
        revokedText(self),
        'move this home aside and enrol the machine under a new name: memctl host request --host NAME2',
      );
    const [first] = conflicts;
    if (first !== undefined)
      return wrong(
        `${counted(conflicts.length, 'conflict')}; first: ${first.kind} ${first.item}: ${first.detail}`,
        'memctl charter shows who said what; docs/errors.md, Alarms of this host',
      );
    const active = [...signers.values()].filter(({ status }) => status === 'active');
    return fine(
      `${counted(hosts.size, 'host')}, signers ${active.map(({ name }) => name).join(', ')}; nothing disagrees`,
    );
  },
};

const operatorKey: Check = {
  name: 'operator key',
  inHome: true,
  look: (room) => {
    const { signer } = room.identity();
    if (signer === null) return fine('no signer signs from this host');
    if (!isUnprotectedKey(signer.key)) return fine(`${signer.key} asks for a passphrase, or is not here`);
    return wrong(
      `${signer.key} has no passphrase: any process of this user, an agent too, can sign with it`,
      `memctl signer protect --key ${signer.key}`,
    );
  },
};

const lock: Check = {
  name: 'lock',
  inHome: true,
  look: async (room) => {
    const owner = readLockOwner(room.home);
    const held = lockPids(room.home.lock);
    const who =
      owner === undefined
        ? 'a process that left no note'
        : `${owner.program}, process ${owner.pid}, since ${owner.since}`;
    if (held === undefined) {
      if (owner === undefined) return fine('nobody has noted that he holds it');
      return isAlive(owner.pid) ? fine(`held by ${who}`) : fine(`free; ${who} ended without a word`);
    }
    if (held.length === 0) return fine('free');
    if (owner?.program === 'memd' && (await room.daemon().catch(() => undefined)) === undefined)
      return wrong(
        `held by ${who}, and it does not answer on its socket`,
        `look at its log; end it: kill ${owner.pid}`,
      );
    return fine(`held by ${who}`);
  },
};

/** Processes that hold a lock on a file, as the kernel has it; undefined where it does not say. */
function lockPids(file: string): readonly number[] | undefined {
  const status = lstatSync(file, { throwIfNoEntry: false });
  if (status === undefined) return [];
  try {
    return readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((words) => words[5]?.endsWith(`:${status.ino}`) === true && words[3] === 'WRITE')
      .map((words) => Number(words[4]));
  } catch {
    return undefined;
  }
}

const daemon: Check = {
  name: 'memd',
  inHome: true,
  look: async (room) => {
    const status = await room.daemon();
    if (status === undefined) return fine('it does not run: nothing is fetched or served; memctl works without it');
    const { line } = status;
    // What claims say of a subject is no fault of this machine: status and parks tell it.
    const alarms = status.alarms.filter(({ subject }) => subject === undefined);
    if (alarms.length === 0) return fine(line);
    return wrong(
      `${line}; first: ${alarms[0]?.kind} ${alarms[0]?.detail}`,
      'memctl status has every alarm; docs/operations.md',
    );
  },
};

const peers: Check = {
  name: 'peers',
  inHome: true,
  look: async (room) => {
    const status = await answering(room);
    if (status.peers.length === 0) return fine('a mesh of one host');
    const bad = status.peers.filter(({ state }) => state === 'down' || state === 'refused');
    if (bad.length === 0) return fine(status.peers.map(({ host, state }) => `${host} ${state}`).join(', '));
    return wrong(
      bad
        .map(
          ({ host, state, reason = '', lastContact }) =>
            `${host} ${state} (${reason}), last contact ${lastContact ?? 'never'}`,
        )
        .join('; '),
      'docs/errors.md, Peers, says what each reason asks for',
    );
  },
};

async function answering(room: Room) {
  const status = await room.daemon().catch(() => undefined);
  if (status === undefined) throw new NotChecked('memd does not answer');
  return status;
}

export const homeChecks: readonly Check[] = [home, identity, keys, charter, operatorKey, lock, daemon, peers];
