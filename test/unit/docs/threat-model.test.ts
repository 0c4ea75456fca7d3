/** docs/threat-model.md names every actor, and no test that is not there. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(join(root, 'docs/threat-model.md'), 'utf8');

const actors = [
  'Stranger on the network',
  'Enrolled but compromised host',
  'Compromised agent session',
  'Stolen host key',
  'Stolen signer key',
  'Hostile relay',
  'Malicious repository content',
  'Local other user',
];

interface Row {
  readonly attempt: string;
  readonly happens: string;
  readonly files: readonly string[];
}

const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n')[0] ?? '', section]),
);

function rowsOf(actor: string): Row[] {
  const lines = (sections.get(actor) ?? '').split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(1).map((line) => {
    const [, attempt = '', happens = '', shown = ''] = line.split('|').map((cell) => cell.trim());
    return { attempt, happens, files: [...shown.matchAll(/`([^`]+)`/g)].map(([, file = '']) => file) };
  });
}

test('the actors are those that the design names, and no other', () => {
  expect([...sections.keys()]).toEqual(actors);
});

describe.each(actors)('%s', (actor) => {
  test('every row says what happens and which test shows it, and each of these is there', () => {
    const rows = rowsOf(actor);
    expect(rows.length).toBeGreaterThanOrEqual(4);
    for (const { attempt, happens, files } of rows) {
      expect({ attempt, happens, files: files.length > 0 }).toEqual({
        attempt: expect.stringMatching(/./),
        happens: expect.stringMatching(/./),
        files: true,
      });
      expect(files.filter((file) => !/^(?:test|drills)\/.*\.ts$/.test(file) || !existsSync(join(root, file)))).toEqual(
        [],
      );
    }
  });

  test('what is not defended is said', () => {
    expect(sections.get(actor)?.split('Not defended:\n')[1]).toMatch(/^- \*\*/);
  });
});

test('files that are named in running text are there too', () => {
  const named = [...page.matchAll(/\b((?:test|drills)\/[\w/.-]+\.ts)\b/g)].map(([, file = '']) => file);
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
