import { expect, test } from 'vitest';
import { createPeerBook } from '../../../src/daemon/peer-book.ts';
import type { Heads } from '../../../src/mesh/heads.ts';
import type { PeerOutcome } from '../../../src/mesh/node.ts';

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

test('the word of one host about where another is does not count, its word about itself does', () => {
  const book = createPeerBook();
  const lie = heads('mallory', { beta: 'ssh://10.6.6.6:1', mallory: 'ssh://10.0.0.9:7422' });
  book.heard('mallory', lie);
  book.note(up('mallory', lie), 'now');
  expect(book.hint('beta')).toBeUndefined();
  expect(book.hint('mallory')).toBe('ssh://10.0.0.9:7422');
  book.heard('beta', heads('beta', { beta: 'ssh://10.0.0.2:7422' }));
  expect(book.hint('beta')).toBe('ssh://10.0.0.2:7422');
  book.heard('beta', heads('beta', {}));
  expect(book.hint('beta')).toBeUndefined();
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
  expect([book.of('beta'), book.hint('beta'), book.alarms(), book.proofs()]).toEqual([undefined, undefined, [], []]);
  enrolled.add('beta');
  expect([book.of('beta'), book.hint('beta')]).toEqual([undefined, undefined]);
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
