import { expect, test } from 'vitest';
import type { Charter, CharterHost } from '../../../src/core/trust/charter.ts';
import { isPeerOf, peersOf } from '../../../src/mesh/node.ts';

test('a peer is a host of the charter that is neither this one nor revoked, looked up or listed', () => {
  const host = (name: string, status: CharterHost['status']): [string, CharterHost] => [
    name,
    { name, status } as CharterHost,
  ];
  const charter: Pick<Charter, 'hosts'> = {
    hosts: new Map([
      host('alpha', 'active'),
      host('beta', 'active'),
      host('gamma', 'revoked'),
      host('delta', 'forked'),
    ]),
  };
  expect(peersOf(charter, 'alpha')).toEqual(['beta', 'delta']);
  const names = [...charter.hosts.keys(), 'nobody'];
  expect(names.filter((name) => isPeerOf(charter, { self: 'alpha', name }))).toEqual(['beta', 'delta']);
});
