import { expect, test } from 'vitest';
import { addressBook } from '../../../../src/daemon/engine-mesh.ts';

type Around = Parameters<typeof addressBook>[0];

/** What a host knows of where beta is. */
function bookOf(told: {
  readonly config?: string;
  readonly hints?: readonly string[];
  readonly charter?: string;
  readonly relayed?: readonly string[];
}): readonly string[] {
  const around = {
    config: { peers: new Map(told.config === undefined ? [] : [['beta', told.config]]) },
    peerBook: { hints: () => told.hints ?? [], relayed: () => told.relayed ?? [] },
    charter: () => ({ hosts: new Map([['beta', { address: told.charter ?? '' }]]) }),
  };
  return addressBook(around as unknown as Around)('beta');
}

test('addresses: what a person wrote down first, then what is known at first hand, the charter, what others say; each once', () => {
  const told = { config: 'ssh://a:1', hints: ['ssh://b:1', 'ssh://a:1'], charter: 'ssh://c:1', relayed: ['ssh://d:1'] };
  expect(bookOf(told)).toEqual(['ssh://a:1', 'ssh://b:1', 'ssh://c:1', 'ssh://d:1']);
});

test('an address behind a plain sshd counts where a person wrote it down, and nowhere else', () => {
  const sshd = 'ssh://me@nas/home/me';
  expect(bookOf({ config: sshd, charter: 'ssh://c:1' })).toEqual([sshd, 'ssh://c:1']);
  expect(bookOf({ hints: [sshd, 'ssh://b:1'], charter: sshd, relayed: [sshd] })).toEqual(['ssh://b:1']);
});

test('an address that cannot be used stays, so that somebody is told why', () => {
  expect(bookOf({ hints: ['ssh://me@nas'] })).toEqual(['ssh://me@nas']);
});
