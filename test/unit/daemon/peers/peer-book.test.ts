import { expect, test } from 'vitest';
import { createPeerBook } from '../../../../src/daemon/peers/peer-book.ts';
import type { Heads } from '../../../../src/mesh/heads.ts';
import type { PeerOutcome } from '../../../../src/mesh/node.ts';

const heads = (host: string, addresses: Record<string, string>): Heads => ({
  mesh: '0'.repeat(64),
  host,
  heads: { alpha: { oid: '1'.repeat(40), seq: 9, link: '2'.repeat(64) } },
  trust: { oid: '1'.repeat(40), hash: '3'.repeat(64) },
  addresses,
  version: '1',
});
const up = (peer: string, said: Heads): PeerOutcome => ({
  peer,
  state: 'up',
  newEvents: 0,
  lines: {},
  trustAdded: [],
  alarms: [{ code: 'HEADS_WRONG', peer, detail: 'x' }],
  heads: said,
});

test('the word of one host about where another is counts last, its word about itself first', () => {
  const book = createPeerBook();
  const lie = heads('mallory', { beta: 'ssh://10.6.6.6:1', mallory: 'ssh://10.0.0.9:7422' });
  book.heard('mallory', lie);
  book.note(up('mallory', lie), 'now');
  expect([book.hints('beta'), book.relayed('beta')]).toEqual([[], ['ssh://10.6.6.6:1']]);
  expect(book.hints('mallory')).toEqual(['ssh://10.0.0.9:7422']);
  book.heard('beta', heads('beta', { beta: 'ssh://10.0.0.2:7422' }));
  expect(book.hints('beta')).toEqual(['ssh://10.0.0.2:7422']);
  book.heard('beta', heads('beta', {}));
  expect(book.hints('beta')).toEqual([]);
});

test('where a host answered comes before what it tells, and that before where it dialled from', () => {
  const book = createPeerBook();
  book.heard('beta', heads('beta', { beta: 'ssh://10.0.0.2:7422' }));
  book.seenAt('beta', '::ffff:10.0.0.7', 7422);
  expect(book.hints('beta')).toEqual(['ssh://10.0.0.2:7422', 'ssh://10.0.0.7:7422']);
  book.reachedAt('beta', 'ssh://10.0.0.7:7422');
  expect(book.hints('beta')).toEqual(['ssh://10.0.0.7:7422', 'ssh://10.0.0.2:7422']);
});

test('an address that means something on one link only is no hint; an IPv6 one is in brackets', () => {
  const book = createPeerBook();
  book.seenAt('beta', 'fe80::1%eth0', 7422);
  expect(book.hints('beta')).toEqual([]);
  book.seenAt('beta', '2001:db8::7', 7423);
  expect(book.hints('beta')).toEqual(['ssh://[2001:db8::7]:7423']);
});

test('nothing is known of a host that left the charter, also when it comes back', () => {
  const enrolled = new Set(['beta']);
  const book = createPeerBook((host) => enrolled.has(host));
  const said = heads('beta', { beta: 'ssh://10.0.0.2:7422' });
  book.heard('beta', said);
  book.note(up('beta', said), 'now');
  book.claimed('beta', { seq: 1, link: '2'.repeat(64) });
  expect([book.alarms(), book.proofs()]).toMatchObject([[{ peer: 'beta' }], [{ peer: 'beta', line: { seq: 1 } }]]);
  enrolled.clear();
  expect([book.of('beta'), book.hints('beta'), book.alarms(), book.proofs()]).toEqual([undefined, [], [], []]);
  enrolled.add('beta');
  expect([book.of('beta'), book.hints('beta')]).toEqual([undefined, []]);
});

test('what was proven of our own log stays so, whatever the peer says later; a mere claim leaves nothing', () => {
  const book = createPeerBook();
  book.claimed('beta', 'looking');
  book.claimed('beta', 'unproven');
  expect(book.proofs()).toEqual([]);
  const line = { seq: 2, link: '4'.repeat(64) };
  book.claimed('beta', 'looking');
  book.claimed('beta', line);
  book.claimed('beta', 'unproven');
  book.note({ peer: 'beta', state: 'down', newEvents: 0, lines: {}, trustAdded: [], alarms: [] }, 'now');
  expect(book.proofs()).toEqual([{ peer: 'beta', line }]);
});

test('a peer that answers and never has anything new is not one that had: three answers, not one', () => {
  const book = createPeerBook();
  book.note({ ...up('beta', heads('beta', {})), newEvents: 2 }, '2026-07-01T00:00:00.000Z');
  for (let day = 2; day < 5; day += 1) book.note(up('beta', heads('beta', {})), `2026-07-0${day}T00:00:00.000Z`);
  expect(book.of('beta')).toMatchObject({
    state: 'up',
    lastContact: '2026-07-04T00:00:00.000Z',
    lastNewEvent: '2026-07-01T00:00:00.000Z',
  });
});

test('where a host was is still known after a restart, and is tried first', () => {
  const book = createPeerBook();
  book.note(up('beta', heads('beta', {})), '2026-07-01T00:00:00.000Z');
  book.reachedAt('beta', 'ssh://10.0.0.7:7422');
  const later = createPeerBook(() => true, book.remembered());
  later.heard('beta', heads('beta', { beta: 'ssh://10.0.0.2:7422' }));
  expect(later.hints('beta')).toEqual(['ssh://10.0.0.7:7422', 'ssh://10.0.0.2:7422']);
});

test('what is asked of each of 200 hosts looks up that host alone', () => {
  const names = Array.from({ length: 200 }, (_, number) => `host-${number}`);
  let looks = 0;
  const book = createPeerBook((host) => {
    looks += 1;
    return host !== 'gone';
  });
  for (const name of [...names, 'gone']) {
    book.heard(name, heads(name, { [name]: 'ssh://10.0.0.2:7422' }));
    book.note(up(name, heads(name, {})), 'now');
  }
  for (const name of names) expect([book.of(name), book.said(name), book.hints(name)]).not.toContain(undefined);
  expect(looks).toBe(3 * names.length);
  expect([book.of('gone'), book.said('gone'), book.hints('gone')]).toEqual([undefined, undefined, []]);
});
