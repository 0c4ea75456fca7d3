import { describe, expect, test } from 'vitest';
import { isScope, mayGrant, scopeCovers } from '../../../../src/core/trust/scope.ts';

describe('scope: grammar', () => {
  test.each(['charter', 'purge', '*', 'ssh-route/*', '*/mini', 'note/a*b', 'note/one', 'a*'])(
    '%s is a scope',
    (scope) => {
      expect(isScope(scope)).toBe(true);
    },
  );

  test.each([
    '',
    'note',
    'Charter',
    'note/**',
    'note/ä',
    'note/a b',
    'note/[a]',
    'note/?',
    'x'.repeat(200) + '/*',
    'note/\n',
  ])('%j is none', (scope) => {
    expect(isScope(scope)).toBe(false);
  });
});

describe('scope: which subjects it covers', () => {
  test('a star stands for any run of characters, slashes and nothing included', () => {
    expect(scopeCovers(['*'], 'note/a/b')).toBe(true);
    expect(scopeCovers(['note/*'], 'note/a/b')).toBe(true);
    expect(scopeCovers(['*/mini'], 'ssh-route/mini')).toBe(true);
    expect(scopeCovers(['note/a*'], 'note/a')).toBe(true);
    expect(scopeCovers(['n*e/a*b*c'], 'note/axxbyybc')).toBe(true);
  });

  test('a glob covers whole subjects only', () => {
    expect(scopeCovers(['note/a'], 'note/ab')).toBe(false);
    expect(scopeCovers(['note/*'], 'notes/a')).toBe(false);
    expect(scopeCovers(['*/mini'], 'ssh-route/mini2')).toBe(false);
    expect(scopeCovers(['note/a.b'], 'note/axb')).toBe(false);
  });

  test('charter and purge cover no subject', () => {
    expect(scopeCovers(['charter', 'purge'], 'charter/x')).toBe(false);
    expect(scopeCovers([], 'note/a')).toBe(false);
  });

  test('a glob made to blow up matchers is answered in little time', () => {
    const scope = `${'a*'.repeat(74)}c`;
    expect(scopeCovers([scope], `${'a'.repeat(150)}b`)).toBe(false);
  });
});

describe('scope: what may be granted', () => {
  test('powers only by those who have them', () => {
    expect(mayGrant(['*', 'charter'], 'charter')).toBe(true);
    expect(mayGrant(['*', 'charter'], 'purge')).toBe(false);
    expect(mayGrant(['*'], 'charter')).toBe(false);
  });

  test('a glob inside one held glob', () => {
    expect(mayGrant(['*'], '*')).toBe(true);
    expect(mayGrant(['*'], 'note/*')).toBe(true);
    expect(mayGrant(['note/*'], 'note/a*')).toBe(true);
    expect(mayGrant(['note/*'], 'note/a')).toBe(true);
    expect(mayGrant(['n*'], 'note/*')).toBe(true);
  });

  test('never more than is held', () => {
    expect(mayGrant(['note/*'], '*')).toBe(false);
    expect(mayGrant(['note/*'], 'n*')).toBe(false);
    expect(mayGrant(['note/a'], 'note/*')).toBe(false);
    expect(mayGrant(['note/a*', 'note/b*'], 'note/*')).toBe(false);
    expect(mayGrant(['*/a'], '*')).toBe(false);
  });

  test('what may be granted covers nothing that the granter does not cover (all globs over a tiny alphabet)', () => {
    const letters = ['a', '/', '*'];
    let globs = [''];
    for (let length = 0; length < 4; length += 1)
      globs = ['', ...globs.flatMap((glob) => letters.map((letter) => glob + letter))];
    const scopes = [...new Set(globs)].filter(isScope);
    const subjects = scopes.filter((scope) => !scope.includes('*'));
    expect(scopes.length).toBeGreaterThan(50);
    const granted = scopes.flatMap((held) =>
      scopes.filter((scope) => mayGrant([held], scope)).map((scope) => [held, scope]),
    );
    const beyond = granted.flatMap(([held = '', wanted = '']) =>
      subjects.filter((subject) => scopeCovers([wanted], subject) && !scopeCovers([held], subject)),
    );
    expect(granted.length).toBeGreaterThan(scopes.length);
    expect(beyond).toEqual([]);
  });
});
