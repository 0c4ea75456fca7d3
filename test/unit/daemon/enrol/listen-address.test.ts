import { describe, expect, test } from 'vitest';
import { addressToTell, chooseListen, parseListen } from '../../../../src/daemon/enrol/listen-address.ts';
import { requireHostName } from '../../../../src/daemon/identity.ts';

describe('the address that others are told', () => {
  test('is the name of the machine in the one form that a trust op may hold', () => {
    expect(addressToTell(undefined, null, 'MacBook-Pro.local')).toBe('ssh://macbook-pro.local:7422');
    expect(addressToTell(undefined, '[::]:7500', 'alpha')).toBe('ssh://alpha:7500');
  });

  test('is loopback when the server listens there only', () => {
    expect(addressToTell(undefined, '127.0.0.1:7501', 'alpha')).toBe('ssh://127.0.0.1:7501');
    expect(addressToTell(undefined, '[::1]:7501', 'alpha')).toBe('ssh://[::1]:7501');
  });

  test('is empty when nothing can be told', () => {
    expect(addressToTell(undefined, '127.0.0.1:0', 'alpha')).toBe('');
    expect(addressToTell(undefined, null, 'my_machine')).toBe('');
    expect(addressToTell('', null, 'alpha')).toBe('');
  });

  test.each(['foo', 'http://alpha:7422', 'ssh://Alpha:7422', 'ssh://alpha', 'ssh://-oProxy:1', 'ssh://alpha:70000'])(
    'is refused before anything is made: %s',
    (given) => {
      expect(() => addressToTell(given, null, 'alpha')).toThrow(/is not ssh:\/\/HOST:PORT/);
    },
  );
});

test('a host name that cannot be one is a wrong call', () => {
  requireHostName('alpha-2');
  for (const name of ['Alpha', '2alpha', 'al_pha', '', 'a'.repeat(32)])
    expect(() => requireHostName(name)).toThrow(/is not a name like/);
});

test('a mesh of one listens on loopback, of several on every interface, unless somebody decided', () => {
  expect(chooseListen(null, 1)).toEqual({ address: '127.0.0.1', port: 7422 });
  expect(chooseListen(null, 2)).toEqual({ address: '::', port: 7422 });
  expect(chooseListen('127.0.0.1:7501', 2)).toEqual(parseListen('127.0.0.1:7501'));
});
