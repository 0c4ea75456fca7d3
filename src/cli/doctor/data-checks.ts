/** Checks of what is stored: the repository, what was last seen of it, the logs, and what is derived from them. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { editedViews } from '../../daemon/queries/view-edits.ts';
import { runOrdinary } from '../../store/git/porcelain.ts';
import { openRepository } from '../../store/git/repository.ts';
import { readSeenHeads } from '../../daemon/beliefs/own-word.ts';
import { viewProblem } from '../../daemon/queries/verify-views.ts';
import { checkLastHead, checkLastTrust, readLastHeads, viewRewound } from '../../store/notes/last-heads.ts';
import { readNewestViewLine } from '../../store/logs/view-journal.ts';
import { viewLineHash } from '../../core/view-line.ts';
import { schemaVersion } from '../../store/database/database-rows.ts';
import { isReadOnly } from '../../store/home/disk-room.ts';
import { fine, NotChecked, wrong, type Check, type Finding } from './checks.ts';

const restore = 'stop memd, then memctl doctor --repair; docs/operations.md, Damage';

const repository: Check = {
  name: 'repository',
  inHome: true,
  look: async ({ home }) => {
    const { objectDir } = openRepository(home.repository);
    const empty = emptyObjects(objectDir);
    if (empty.length > 0) return wrong(`${empty.length} empty object files, the first ${empty[0]}`, restore);
    const args = ['fsck', '--connectivity-only', '--no-dangling', '--no-progress'];
    const { code, stdout, stderr } = await runOrdinary({
      args,
      cwd: home.repository,
      gitDir: home.repository,
      deadlineMs: 120_000,
    });
    const said = `${stdout}\n${stderr}`.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('notice:'));
    if (code === 0) return fine('git finds everything that branches name');
    return wrong(
      `git fsck: ${said.slice(0, 3).join('; ')}${said.length > 3 ? ` and ${said.length - 3} more` : ''}`,
      restore,
    );
  },
};

/** What a power cut leaves of an object that was not durable. git does not look into files that it only has to find. */
function emptyObjects(folder: string): string[] {
  const folders = readdirSync(folder).filter((name) => /^[0-9a-f]{2}$/.test(name));
  const files = folders.flatMap((name) => readdirSync(join(folder, name)).map((file) => join(folder, name, file)));
  return files.filter((file) => statSync(file, { throwIfNoEntry: false })?.size === 0);
}

const logs: Check = {
  name: 'logs',
  inHome: true,
  look: async (room) => {
    const snapshot = await room.snapshot();
    const { host } = room.identity();
    const bad = snapshot.logs.flatMap(({ problem }) => problem ?? []);
    const own = snapshot.logs.find((log) => log.host === host);
    if (own?.problem !== undefined) return wrong(`${own.problem}: nothing is appended until it is mended`, restore);
    if (bad.length > 0) return wrong(bad.join('; '), `what stands before is used; ${restore}`);
    return fine(snapshot.logs.map((log) => `${log.host}:${log.seq}`).join(' ') || 'none yet');
  },
};

const lastHeads: Check = {
  name: 'last heads',
  inHome: true,
  look: async (room) => {
    const snapshot = await room.snapshot();
    const { home } = room;
    const member = snapshot.trust.charter.hosts.get(room.identity().host);
    const opened = openRepository(home.repository);
    const { heads, state } = await readSeenHeads({ home, repository: opened, member, meshId: snapshot.mesh });
    const now = new Map(snapshot.logs.map((log) => [log.host, log]));
    for (const [host, last] of Object.entries(heads.logs)) {
      const log = now.get(host);
      checkLastHead(host, last, {
        oid: log?.oid ?? null,
        lines: log?.seq ?? 0,
        linkAt: (seq) => log?.links[seq - 1],
      });
    }
    const { oid, filesEver } = snapshot.trust;
    checkLastTrust(heads.trust, { oid: oid === '' ? null : oid, ops: filesEver });
    if (state !== 'read')
      return fine(`last-heads.json is ${state}: it is written again, and until then only the own log is compared`);
    return fine('no branch says less than it did');
  },
};

/** A bad journal stops nothing: it is a record of what was believed. */
const journals: Check = {
  name: 'view journals',
  inHome: true,
  look: async (room) => {
    const { trust, mesh } = await room.snapshot();
    const opened = openRepository(room.home.repository);
    const told: string[] = [];
    for (const host of trust.charter.hosts.values()) {
      const problem = await viewProblem(opened, host, { mesh, deep: false });
      if (problem !== undefined) return wrong(problem, `replay of ${host.name} is not to be trusted; ${restore}`);
      const newest = await readNewestViewLine(opened, host.name);
      if (newest !== undefined) told.push(`${host.name}:${newest.n}`);
      if (host.name !== room.identity().host) continue;
      const now = newest === undefined ? undefined : { n: newest.n, hash: viewLineHash(newest) };
      const rewound = viewRewound(readLastHeads(room.home).heads.view, now);
      if (rewound !== undefined) return wrong(rewound, 'memctl fetch brings it back from peers');
    }
    return fine(told.join(' ') || 'none yet');
  },
};

const database: Check = {
  name: 'database',
  inHome: true,
  look: async ({ home }) => {
    if (!existsSync(home.database)) return fine('not made yet; it is derived');
    // Its write-ahead log cannot be opened there; a copy is read instead.
    if (isReadOnly(home.dir)) throw new NotChecked('the disk is read-only');
    const { default: Database } = await import('better-sqlite3');
    try {
      const opened = new Database(home.database, { readonly: true, fileMustExist: true, timeout: 2_000 });
      try {
        const version = Number(opened.pragma('user_version', { simple: true }));
        if (version !== schemaVersion) return fine(`of another version (${version}): made again at the next start`);
        const [said] = opened.pragma('quick_check(1)') as { quick_check: string }[];
        return said?.quick_check === 'ok'
          ? fine('sound; rows are checked when they are read')
          : damaged(said?.quick_check);
      } finally {
        opened.close();
      }
    } catch (error) {
      return damaged(error instanceof Error ? error.message : String(error));
    }
  },
};

function damaged(what = ''): Finding {
  return wrong(`state.sqlite: ${what}`, 'it is derived: memctl rebuild');
}

const views: Check = {
  name: 'views',
  inHome: true,
  look: ({ home }) => {
    const audiences = existsSync(home.views) ? readdirSync(home.views) : [];
    const edits = editedViews(home, audiences);
    if (edits.length === 0) return fine('as they were written');
    return wrong(edits.join('; '), 'say what the edit says with memctl; views are generated');
  },
};

/** Clocks of two machines differ by this much without a fault. */
const clockSlackMs = 5 * 60_000;
/** Nothing was ever written before this. */
const earliest = Date.UTC(2026, 0, 1);

const clock: Check = {
  name: 'clock',
  inHome: true,
  look: async (room) => {
    const fix =
      'set the clock (timedatectl); clocks decide nothing in the fold, but every age that is shown is of them';
    const said = new Date(room.now).toISOString();
    if (room.now < earliest) return wrong(`the clock says ${said}`, fix);
    const { logs: all } = await room.snapshot();
    const future = all.filter(({ at }) => Date.parse(at) - room.now > clockSlackMs);
    const own = future.find(({ host }) => host === room.identity().host);
    if (own !== undefined) return wrong(`it says ${said}, and this host's own last event ${own.at}`, fix);
    const [other] = future;
    if (other !== undefined)
      return wrong(
        `it says ${said}, and the last event of ${other.host} ${other.at}`,
        `${fix}, here or on ${other.host}`,
      );
    const newest = all
      .map(({ at }) => at)
      .toSorted((a, b) => (a < b ? -1 : 1))
      .at(-1);
    return fine(`it says ${said}; newest event ${newest === undefined || newest === '' ? 'none yet' : newest}`);
  },
};

export const dataChecks: readonly Check[] = [repository, logs, lastHeads, journals, database, views, clock];
