/** docs/errors.md lists exactly the codes that the code has. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { operatingCodes } from '../../../src/store/errors.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const page = read('docs/errors.md');

/** Files in which the unions that other unions name are defined. */
const homes: Readonly<Record<string, string>> = {
  FetchPackFault: 'src/core/sync/peer.ts',
  ConnectionFault: 'src/core/sync/peer.ts',
  ViewFaultCode: 'src/core/sync/peer.ts',
  LineFault: 'src/core/line.ts',
  CanonicalFault: 'src/crypto/canonical.ts',
  InvalidCode: 'src/core/trust/validity.ts',
  KeyFault: 'src/core/trust/validity.ts',
};

/** Members of an exported union of string literals, those of the unions that it names included. */
function membersOf(file: string, name: string): string[] {
  const text = read(file);
  const [type, member] = name.split('.');
  const union =
    member === undefined
      ? new RegExp(`export type ${type} =([^;]*);`).exec(text)?.[1]
      : new RegExp(`export interface ${type} \\{[^}]*?readonly ${member}\\??:([^;]*);`).exec(text)?.[1];
  if (union === undefined) throw new Error(`${file} defines no ${name}`);
  return union
    .split('|')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .flatMap((part) => (part.startsWith("'") ? [part.slice(1, -1)] : membersOf(homes[part] ?? file, part)));
}

/** Every literal that is given as the code of an error in a folder. */
function literalsIn(folder: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  const texts = names.filter((name) => name.endsWith('.ts')).map((name) => read(join(folder, name)));
  return texts.flatMap((text) =>
    [...text.matchAll(/(?:\bcode: |\bwithHint\()'([A-Z][A-Z_]+)'/g)].map(([, code = '']) => code),
  );
}

function codesOf(source: string): string[] {
  const [file = '', name] = source.split('#');
  if (name === undefined) return [file];
  return name === 'literals' ? literalsIn(file) : membersOf(file, name);
}

const sections = page
  .split(/^## /m)
  .slice(1)
  .map((section) => {
    const title = section.split('\n')[0] ?? '';
    const sources = /<!-- codes: (.*?) -->/.exec(section)?.[1]?.split(' ') ?? [];
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map(([, code = '']) => code),
    );
    return { title, sources, rows, listed };
  });

const sorted = (codes: Iterable<string>): string[] => [...new Set(codes)].toSorted((a, b) => (a < b ? -1 : 1));

describe('docs/errors.md', () => {
  test('every section says which codes it lists', () => {
    expect(sections.length).toBeGreaterThan(8);
    expect(sections.filter(({ sources, listed }) => sources.length === 0 || listed.length === 0)).toEqual([]);
  });

  test.each(sections)('"$title" has every code of the code, and no other', ({ sources, listed }) => {
    expect(sorted(listed)).toEqual(sorted(sources.flatMap(codesOf)));
    expect(listed.length, 'no code twice').toBe(new Set(listed).size);
  });

  test('every code has a meaning', () => {
    const cells = sections.flatMap(({ rows }) => rows).map((row) => row.split(/(?<!\\)\|/).slice(2, -1));
    expect(cells.filter((row) => row.length === 0 || row.some((cell) => cell.trim() === ''))).toEqual([]);
  });

  test('the retry of an operating failure is that of the code', () => {
    const { rows = [] } = sections.find(({ title }) => title === 'Failures of this machine') ?? {};
    const said = rows.map((row) =>
      row
        .split('|')
        .map((cell) => cell.trim().replaceAll('`', ''))
        .slice(1, 3),
    );
    expect(Object.fromEntries(said)).toEqual(operatingCodes);
  });
});
