/** The tour of README.md, pasted: its blocks run in one bash, with real processes, and print what the README shows. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../drills/lib/free-port.ts';
import { commandTable } from '../../src/cli/command-table.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const tourMs = 180_000;

interface Step {
  readonly commands: string;
  /** What the README shows under it; undefined when it shows nothing. */
  readonly shown: string | undefined;
}

/** The `sh` blocks between the two comments, each with the `text` block that follows it. */
function tourOf(text: string): Step[] {
  const [, tour = ''] = /<!-- tour:.*?-->(.*?)<!-- end of the tour -->/s.exec(text) ?? [];
  const steps: Step[] = [];
  for (const [, language, content = ''] of tour.matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    const before = steps.at(-1);
    if (language === 'sh') steps.push({ commands: content, shown: undefined });
    else if (before?.shown === undefined) steps.splice(-1, 1, { commands: before?.commands ?? '', shown: content });
  }
  return steps;
}

const mark = '@@ end of a block @@';

/** Runs the steps in one bash; nothing of the person who runs the test is in its environment. */
async function runTour(steps: readonly Step[], folder: string): Promise<string[]> {
  const ports = [String(await freePort()), String(await freePort())];
  // The build is that of `npm test`: to build, or even install, under the other tests would break them.
  const commands = steps.map((step) => step.commands.replace(/^npm run build$/m, ''));
  const script = commands.map((block) => `${block}\necho '${mark}'\n`).join('');
  const child = spawn('bash', ['-c', `exec 2>&1\n${portsIn(script, ['7431', '7432'], ports)}`], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: folder,
      TMPDIR: folder,
      NO_COLOR: '1',
    },
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const late = setTimeout(() => endGroup(child), tourMs);
  const closed = new Promise((done) => child.on('close', done));
  await new Promise((done) => child.on('exit', done));
  clearTimeout(late);
  const left = endGroup(child);
  // What was printed last may still be in the pipe.
  await closed;
  expect(left, 'the tour leaves no process behind').toBe(false);
  return portsIn(printed, ports, ['7431', '7432']).split(`${mark}\n`);
}

function portsIn(text: string, from: readonly string[], to: readonly string[]): string {
  return from.reduce((result, port, at) => result.replaceAll(`:${port}`, `:${to[at]}`), text);
}

/** @returns whether anything was still running. */
function endGroup({ pid }: ChildProcess): boolean {
  try {
    process.kill(-(pid ?? 0), 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

/** What differs from run to run is the same word in both. */
function withoutChance(text: string): string {
  return (
    text
      .replace(/\/[^\s:()]*\/tmp\.[A-Za-z0-9]+/g, 'BASE')
      .replace(/SHA256:[A-Za-z0-9+/]{43}/g, 'FINGERPRINT')
      .replace(/\b(?:[0-9a-f]{64}|[0-9a-f]{12})\b/g, 'ID')
      .replace(/read aloud: [a-z]+( [a-z]+)+/g, 'read aloud: WORDS')
      .replace(/\b\d+ (s|min) ago\b/g, 'AGO')
      // A scheduled fetch may have been quicker than the one that was asked for.
      .replace(/\b\d+ new\b/g, 'N new')
      .replace(/\bin [\d.]+ s\b/g, 'in SECONDS')
      .trim()
  );
}

/** What is shown, as a pattern: `…` stands for anything in a line, and alone in a line for any lines. */
function patternOf(shown: string): RegExp {
  const lines = withoutChance(shown).split('\n');
  const patterns = lines.map((line) =>
    line === '…' ? '(?:[^\n]*\n)*?' : `${line.split('…').map(literal).join('[^\n]*')}\n`,
  );
  return new RegExp(`^${patterns.join('')}$`);
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

describe('the tour of the README', () => {
  const steps = tourOf(readme);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'memctl-readme-')));
  let outputs: string[] = [];
  beforeAll(async () => {
    outputs = await runTour(steps, folder);
  }, tourMs + 10_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('has its blocks, and every block of output stands under commands', () => {
    expect(steps.length).toBeGreaterThan(7);
    expect(steps.filter(({ shown }) => shown !== undefined).length).toBeGreaterThan(4);
    expect(outputs).toHaveLength(steps.length + 1);
  });

  test.each(steps.map((step, at) => ({ ...step, at, first: step.commands.split('\n')[0] ?? '' })))(
    'block $at prints what the README shows: $first',
    ({ at, shown }) => {
      const printed = outputs[at] ?? '';
      if (shown !== undefined) expect(`${withoutChance(printed)}\n`).toMatch(patternOf(shown));
      else expect(printed).not.toMatch(/^(?:memctl|memd): /m);
    },
  );
});

describe('what works today', () => {
  const rows =
    readme
      .split('## What works today')[1]
      ?.split('\n')
      .filter((line) => /^\| .* \|$/.test(line)) ?? [];
  const verbs = (column: number): string[] =>
    rows.flatMap((row) => [...(row.split('|')[column] ?? '').matchAll(/`([a-z]+)/g)].map(([, verb = '']) => verb));

  test('every command that the README says works is one', () => {
    expect(verbs(1).length).toBeGreaterThan(20);
    expect(verbs(1).filter((verb) => !commandTable.has(verb))).toEqual([]);
  });

  test('no command that the README says is missing is there', () => {
    const addedBelow = new Set(['append', 'host', 'signer']);
    expect(verbs(2).filter((verb) => commandTable.has(verb) && !addedBelow.has(verb))).toEqual([]);
  });
});
