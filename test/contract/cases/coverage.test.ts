/**
 * Every case from the field, sections A to D, has a test that does what it says to try and asserts what it calls right.
 * Here is which one: the title begins with the letter of the case, so that a case is found by searching for it.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const outside = fileURLToPath(new URL('../../../../shared/cases/cases.md', import.meta.url));
const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');

/** File and the beginning of a title, or of the promise of a drill. */
type Place = readonly [file: string, says: string];

const e2e = (name: string, says: string): Place => [`test/e2e/${name}.test.ts`, says];
const drill = (name: string, says: string): Place => [`drills/${name}.ts`, says];

const cases: Readonly<Record<string, readonly Place[]>> = {
  A2: [
    e2e('write-path', 'A2: 6 processes append 200 events of 20 KB each at once'),
    e2e('write-path', 'A2: the same without memd'),
    e2e('peer-logs', 'A2: two lines in one'),
  ],
  A3: [e2e('mcp', 'A3, D9: two agents on one home at once'), e2e('write-path', 'A3: two clients with 20 writes each')],
  A4: [
    e2e('damaged-home', 'A4: a copy without its final newline'),
    e2e('peer-logs', 'A4: no newline at the end'),
    ['test/unit/store/notes/bounded-log.test.ts', 'A4: a record that was torn'],
  ],
  A5: [e2e('peer-logs', 'A5: a torn line in the middle')],
  A6: [e2e('damaged-home', 'A6: a hand edit of the index'), e2e('damaged-home', 'A6: an edit is found too')],
  A7: [e2e('offline-twins', 'A7: a consolidation replaces what it read')],
  A9: [
    drill('corrupt-store', 'whatever the disk did to a store'),
    e2e('damaged-home', 'A9: one flipped bit anywhere'),
    e2e('damaged-home', 'A9: SIGKILL in the middle of a rebuild'),
    e2e('damaged-home', 'A9: a flood of readers'),
    e2e('repair', 'A9: what is derived: database'),
    e2e('local-socket', 'A9: a home held by another process without a socket'),
  ],
  A10: [
    e2e('write-path', 'A10: what was acknowledged is there after SIGKILL'),
    e2e('sync-flag', 'A10: sync: the answer names the event'),
    drill('power-loss', 'nothing acknowledged'),
  ],
  A11: [e2e('write-path', 'A11: a correction is one event')],
  B1: [
    drill('zero-byte', 'a file that is empty or filled with NUL is found'),
    e2e('repair-from-peers', 'B1: %s comes back from a peer'),
    e2e('repair', 'B1: the newest commit is empty'),
    e2e('repair', 'B1: the branch is filled with NUL'),
    e2e('backup-held', 'B1: a copy that is damaged is made whole by a backup'),
    e2e('damaged-home', 'B1: the commit at the head of the own log is truncated'),
    e2e('damaged-home', 'B1: the branch of the own log is empty'),
    e2e('peer-logs', 'B1: the branch of a peer is empty'),
  ],
  B3: [
    drill('stale-locks', 'a lock that a crash left is no obstacle'),
    e2e('damaged-home', 'B3, B7: locks that a crash left behind'),
    e2e('repair', 'B3, B7: a lock of git that somebody has open stays'),
  ],
  B4: [e2e('write-path', 'B4: reading with git'), e2e('write-path', 'B4: an agent commits 500 times')],
  B6: [
    e2e('git-around', 'B6: a global gpgsign with a signer that sleeps'),
    e2e('plain-sshd', 'C5, B6: a bare PATH, no agent'),
  ],
  B7: [
    e2e('write-path', 'B7: 10 000 loose objects and a maintenance.lock'),
    e2e('damaged-home', 'B7: git never maintains'),
    ['test/unit/daemon/maintain/maintenance.test.ts', 'B7: a lock of somebody else'],
  ],
  B8: [
    e2e('peer-logs', 'B8: a rewritten log is refused'),
    e2e('repair-from-peers', "B8: another host's branch that a hand moved"),
    drill('rewritten-history', 'a host resets and rewrites its branch'),
  ],
  B10: [e2e('peer-logs', 'B10: a conflict marker')],
  B11: [e2e('git-around', 'B11: a clone by plain git'), e2e('peer-logs', 'B11: line ends made CR LF')],
  B13: [
    e2e('git-around', 'B13 (needs root): a home or repository of another user'),
    e2e('git-around', 'B13 (needs root): a repository that changes hands'),
    drill('wrong-owner', 'a home, key, branch, object or socket of another user'),
  ],
  B14: [e2e('offline-twins', 'B14: what a session on one machine was told')],
  B15: [e2e('peers-in-trouble', 'B15: with every way to a peer gone')],
  B16: [e2e('git-around', 'B16: homes share no file')],
  C1: [
    e2e('peers-in-trouble', 'C1: one peer of five'),
    e2e('plain-sshd', 'C1, C2: an ssh that hangs'),
    e2e('mesh/routes', 'C1: a fetch that never ends'),
    e2e('mesh/sync', 'C1: a silent peer'),
  ],
  C2: [
    e2e('plain-sshd', 'C1, C2: an ssh that hangs'),
    e2e('nobody-there', 'C2: signing with such a key and an empty agent'),
    e2e('nobody-there', 'C2: a transport key that was given one'),
  ],
  C4: [
    e2e('peers-in-trouble', 'C4: a peer whose host key changed'),
    e2e('plain-sshd', 'C4: a host key that has changed'),
    e2e('mesh/routes', 'C4: where only others answer'),
  ],
  C5: [
    e2e('nobody-there', 'C5: PATH=/usr/bin:/bin'),
    e2e('plain-sshd', 'C5, B6: a bare PATH, no agent'),
    e2e('service', 'C5, C6: service: under a real service manager'),
  ],
  C6: [
    e2e('service', 'C5, C6: service: under a real service manager'),
    e2e('nobody-there', 'C6 (needs a mount namespace): a home that is hidden'),
    ['test/unit/cli/unit-text.test.ts', 'C5, C6: absolute paths'],
  ],
  C7: [
    e2e('peers-in-trouble', 'C7: a peer that answers and has said nothing new'),
    ['test/unit/daemon/queries/health.test.ts', 'C7: health: a peer that answers and brings nothing'],
  ],
  C9: [['test/harness/sessions.test.ts', 'C9: a session starts within 200 ms']],
  D2: [e2e('forked-host', 'D2: whoever syncs with both'), drill('cloned-host', 'the whole home folder copied')],
  D4: [
    e2e('forked-host', 'D4: the fork stops the forked log alone'),
    e2e('forked-host', 'D4: one act of a signer ends it'),
    e2e('forked-host', 'D4: the other machine goes on as well'),
  ],
  D5: [
    e2e('recovered-host', 'D5: a copied home is read-only'),
    e2e('restored-home', 'D5: the first append after a restore'),
    drill('restored-backup', 'a host restored from an old copy'),
  ],
  D6: [e2e('mesh/sync', 'D6: what one peer says that it holds moves no cursor')],
  D7: [e2e('offline-twins', 'D7: two machines write 20 facts each')],
  D8: [
    e2e('repeated-keys', 'D8: a line, a trust op, a view line and the heads'),
    e2e('repeated-keys', 'D8: a line of append, of import and of the socket'),
    e2e('repeated-keys', 'D8: a config.toml'),
    e2e('repeated-keys', 'D8: the files of the home'),
  ],
  D9: [e2e('mcp', 'A3, D9: two agents on one home at once')],
};

describe('each place is where it is said to be', () => {
  const places = Object.entries(cases).flatMap(([id, list]) => list.map(([file, says]) => [id, file, says] as const));

  test.each(places)('%s: %s: %s', (id, file, says) => {
    expect(readFileSync(join(root, file), 'utf8')).toContain(says);
    if (file.startsWith('drills/')) {
      const [, name = ''] = /^drills\/(.*)\.ts$/.exec(file) ?? [];
      expect(readFileSync(join(root, '.ci/run'), 'utf8')).toMatch(new RegExp(`\\b${name}\\b`));
    } else expect(says).toMatch(new RegExp(`^([A-J]\\d+, )*${id}\\b[^:]*:`));
  });
});

test('cases A to D: each of the outside list has a test', ({ skip }) => {
  if (!existsSync(outside)) {
    const notice = 'NOT RUN: ../shared/cases/cases.md is not here, so the list cannot be compared';
    console.warn(notice);
    skip(notice);
  }
  const listed = [...readFileSync(outside, 'utf8').matchAll(/^- \*\*([A-D]\d+)\*\*/gm)].map(([, id = '']) => id);
  expect(listed.length).toBeGreaterThan(30);
  expect(listed.filter((id) => (cases[id] ?? []).length === 0)).toEqual([]);
  expect(Object.keys(cases).filter((id) => !listed.includes(id))).toEqual([]);
});
