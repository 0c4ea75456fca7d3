import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { planImport, type StandingEvent } from '../../../src/agent/import/plan-import.ts';
import { readImport } from '../../../src/agent/import/read-import.ts';
import { eventId, makeBody, type BodyInput } from '../../../src/core/event.ts';
import { importNoteBytesMax } from '../../../src/core/limits.ts';
import { isOperatingError } from '../../../src/store/errors.ts';
import { withOutsideVectors } from '../../lib/outside-vectors.ts';

const fixture = join(import.meta.dirname, '../../fixtures/claude-memory');
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'memctl-import-'));
  folders.push(folder);
  return folder;
}

function copyOfFixture(): string {
  const folder = tempFolder();
  cpSync(fixture, folder, { recursive: true });
  return folder;
}

function tempFile(name: string, content: string | Uint8Array): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, content);
  return path;
}

/** A log of one host, as far as an import looks at it. */
function logOf(): { standing: StandingEvent[]; append: (events: readonly BodyInput[], session: string) => void } {
  const standing: StandingEvent[] = [];
  return {
    standing,
    append: (events, session) => {
      for (const event of events) {
        const nonce = standing.length.toString(16).padStart(32, '0');
        const made = makeBody(event, {
          mesh: 'a'.repeat(64),
          host: 'alpha',
          session,
          at: '2026-01-02T03:04:05.678Z',
          nonce,
        });
        if (!made.ok) throw new Error(made.detail);
        standing.push({ id: eventId(made.value), body: made.value });
      }
    },
  };
}

function existingIn(standing: readonly StandingEvent[]): (subject: string) => readonly StandingEvent[] {
  return (subject) => standing.filter(({ body }) => body.subject === subject);
}

describe('import of a Claude Code memory folder', () => {
  test('every note becomes one claim, feedback a lesson and the rest a note with a home', async () => {
    const { kind, events } = await readImport(fixture);
    expect(kind).toBe('claude-memory');
    expect(events.map(({ kind, subject, home }) => [kind, subject, home])).toEqual([
      ['lesson', 'lesson/label-cables', undefined],
      ['lesson', 'lesson/crontab-files', undefined],
      ['lesson', 'lesson/utc-in-tickets', undefined],
      ['assert', 'note/print-server', 'file:ops/SERVICES.md#printing'],
      ['assert', 'note/lab-switch', 'file:ops/NETWORK.md'],
      ['assert', 'note/index-build', 'file:memory/index-build.md'],
      ['assert', 'note/reader-habits', 'file:memory/reader-habits.md'],
      ['assert', 'note/tape-robot', 'file:memory/tape-robot.md'],
      ['lesson', 'lesson/groessen-in-mm', undefined],
      ['assert', 'note/not-in-the-index', 'file:memory/not-in-the-index.md'],
    ]);
    expect(events[1]).toEqual({
      kind: 'lesson',
      subject: 'lesson/crontab-files',
      content: 'Never edit a live crontab; install a file',
      hook: '`crontab -r` sits next to `-e` on the keyboard',
      text: 'Keep it in the repository, install it with `crontab FILE`.',
    });
    expect(events[4]?.content, 'quotes around a value are not part of it').toBe(
      'The lab switch is reached through bastion-2',
    );
    expect(events[6]?.content, 'a folded value is one line').toBe('Maria prefers diffs over prose');
  });

  test('whatever is left out is named with its reason, and what is odd is noted', async () => {
    const { skipped, noted } = await readImport(fixture);
    expect(skipped.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'MEMORY.md line 13: a second row for label-cables.md; line 3 counts',
      'MEMORY.md line 14: its link leaves the folder',
      'MEMORY.md lines 15-16: not a row that links to a note: write it as a note to import it',
      'MEMORY.md line 12: its file never-written.md does not exist',
      'notes.txt: not a .md file',
      'latin-1.md: not UTF-8 text',
      'no-colon.md: line 3 of its front matter is no "key: value"',
      'open-front-matter.md: its front matter never closes',
      'too-long.md: its text has 26399 bytes, more than 24000: split it',
      'zero-bytes.md: the file is empty',
    ]);
    expect(noted.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'not-in-the-index.md: it has no type: imported as a note',
      'not-in-the-index.md: the index does not list it',
      'not-in-the-index.md: its name "label-cables" is also that of label-cables.md',
    ]);
  });

  test('links, folders, pipes and oversized files are named and never opened', async () => {
    const folder = copyOfFixture();
    const secret = tempFile('secret.md', '---\nname: s\ndescription: stolen\n---\n');
    symlinkSync(secret, join(folder, 'link.md'));
    symlinkSync(tempFolder(), join(folder, 'linked-folder'));
    execFileSync('mkfifo', [join(folder, 'pipe.md')]);
    writeFileSync(join(folder, 'huge.md'), '');
    truncateSync(join(folder, 'huge.md'), importNoteBytesMax + 1);
    writeFileSync(join(folder, 'odd\u001b[31m.md'), 'a\u0007b');
    writeFileSync(join(folder, '---.md'), 'no slug');
    writeFileSync(join(folder, 'Label_Cables.md'), '---\ntype: feedback\ndescription: twin\n---\n');
    const { events, skipped } = await readImport(folder);
    const why = new Map(skipped.map(({ what, why }) => [what, why]));
    expect(why.get('link.md')).toBe('a symbolic link, which an import never follows');
    expect(why.get('linked-folder')).toBe('a symbolic link, which an import never follows');
    expect(why.get('pipe.md')).toBe('not a regular file');
    expect(why.get('huge.md')).toMatch(/^262145 bytes, more than the 262144/);
    expect(why.get('odd [31m.md'), 'the remark itself is safe to print').toBe('it holds the control character U+0007');
    expect(why.get('---.md')).toBe('its name has no letter or digit to make a subject of');
    expect(why.get('Label_Cables.md')).toMatch(/^it would be lesson\/label-cables, which label-cables.md already is/);
    expect(JSON.stringify(events)).not.toContain('stolen');
  });

  test('a symbolic link in the place of the index is not followed either; the notes are imported without rows', async () => {
    const folder = copyOfFixture();
    rmSync(join(folder, 'MEMORY.md'));
    symlinkSync('/etc/hostname', join(folder, 'MEMORY.md'));
    const { events, skipped } = await readImport(folder);
    expect(skipped[0]).toEqual({
      what: 'MEMORY.md',
      why: 'a symbolic link, which an import never follows; the notes are imported without their index rows',
    });
    expect(events).toHaveLength(10);
  });

  test('a zero-byte index is named: it never reads as an empty memory', async () => {
    const folder = copyOfFixture();
    truncateSync(join(folder, 'MEMORY.md'), 0);
    const { events, skipped } = await readImport(folder);
    expect(skipped[0]?.why).toBe('the file is empty; the notes are imported without their index rows');
    expect(events).toHaveLength(10);
  });

  test('a description that is too long for content goes to the text, and an unclosed quote stays', async () => {
    const folder = tempFolder();
    const long = `${'word '.repeat(900)}end`;
    writeFileSync(join(folder, 'MEMORY.md'), '- [Title](long.md) — hook\n');
    writeFileSync(join(folder, 'long.md'), `---\ndescription: ${long}\ntype: user\n---\nbody\n`);
    writeFileSync(join(folder, 'quote.md'), '---\ndescription: "half\ntype: user\n---\n');
    const { events, skipped } = await readImport(folder);
    expect(skipped).toEqual([]);
    expect(events[0]).toMatchObject({ content: 'Title', hook: 'hook', text: `${long}\n\nbody` });
    expect(events[1]).toMatchObject({ content: '"half' });
  });

  test('the index file itself may be given instead of the folder', async () => {
    expect(await readImport(join(fixture, 'MEMORY.md'))).toEqual(await readImport(fixture));
  });
});

describe('import of JSON lines', () => {
  const good = '{"kind":"lesson","subject":"lesson/a","content":"x"}';

  test('a broken line is named by its number and does not stop the others', async () => {
    const path = tempFile(
      'facts.jsonl',
      [
        good,
        '{"kind":"lesson"',
        '',
        '[1]',
        '{"kind":"lesson","kind":"assert","subject":"lesson/b","content":"x"}',
        '{"kind":"assert","subject":"note/c","value":"v","home":"file:c.md","host":"beta"}',
        '{"kind":"assert","subject":"note/c","value":"v"}',
        '{"kind":"assert","subject":"Note/C","value":"v","home":"file:c.md"}',
        '{"kind":"assert","subject":"note/c","value":"v","home":"file:c.md","session":"mine"}\r',
        `{"kind":"lesson","subject":"lesson/d","content":"${'x'.repeat(33_000)}"}`,
      ].join('\n'),
    );
    const { kind, events, skipped, noted } = await readImport(path);
    expect(kind).toBe('jsonl');
    expect(events.map(({ subject }) => subject)).toEqual(['lesson/a', 'note/c']);
    expect(skipped.map(({ what, why }) => `${what}: ${why}`)).toEqual([
      'facts.jsonl line 2: not JSON',
      'facts.jsonl line 4: not a JSON object',
      'facts.jsonl line 5: a key stands twice in it',
      'facts.jsonl line 6: it has host: from a log, not a plain event',
      expect.stringMatching(/^facts.jsonl line 7: .*home/),
      expect.stringMatching(/^facts.jsonl line 8: .*subject/),
      expect.stringMatching(/^facts.jsonl line 10: 330\d\d bytes, more than/),
    ]);
    expect(noted).toEqual([{ what: 'facts.jsonl line 9', why: 'its session is replaced by import:jsonl' }]);
  });

  test('bytes that are not UTF-8 spoil their own line only', async () => {
    const path = tempFile(
      'x.jsonl',
      Buffer.concat([Buffer.from(`${good}\n`), Buffer.from([0x7b, 0xff, 0x7d, 0x0a]), Buffer.from(good)]),
    );
    const { events, skipped } = await readImport(path);
    expect(events).toHaveLength(2);
    expect(skipped).toEqual([{ what: 'x.jsonl line 2', why: 'not UTF-8 text' }]);
  });

  test('a line separator inside a string does not split a line', async () => {
    const path = tempFile('x.jsonl', '{"kind":"lesson","subject":"lesson/a","content":"one\u2028two"}\n');
    expect((await readImport(path)).events[0]?.content).toBe('one\u2028two');
  });

  test('something that is neither is refused by name', async () => {
    for (const path of [tempFile('x.bin', 'hello'), tempFolder(), join(tempFolder(), 'nothing')]) {
      const error: unknown = await readImport(path).catch((error: unknown) => error);
      expect(isOperatingError(error, 'IMPORT_UNREADABLE') && error.message).toContain(path);
    }
  });
});

describe('import again', () => {
  test('the second run finds everything unchanged', async () => {
    const plan = await readImport(fixture);
    const log = logOf();
    const first = planImport(plan, { existing: existingIn(log.standing) });
    expect([first.new.length, first.unchanged, first.skipped]).toEqual([10, 0, plan.skipped]);
    log.append(first.new, 'import:claude-memory');
    const second = planImport(plan, { existing: existingIn(log.standing) });
    expect([second.new, second.unchanged]).toEqual([[], 10]);
  });

  test('a changed note supersedes the earlier imported one, there and back again', async () => {
    const folder = copyOfFixture();
    const note = join(folder, 'tape-robot.md');
    const log = logOf();
    const run = async (): Promise<readonly BodyInput[]> => {
      const planned = planImport(await readImport(folder), { existing: existingIn(log.standing) });
      log.append(planned.new, 'import:claude-memory');
      return planned.new;
    };
    await run();
    const first = log.standing.find(({ body }) => body.subject === 'note/tape-robot');
    writeFileSync(note, '---\ndescription: The tape robot is back\ntype: project\n---\n');
    expect((await run()).map(({ subject, supersedes }) => [subject, supersedes])).toEqual([
      ['note/tape-robot', [first?.id]],
    ]);
    const second = log.standing.at(-1);
    cpSync(join(fixture, 'tape-robot.md'), note);
    expect((await run()).map(({ subject, supersedes }) => [subject, supersedes])).toEqual([
      ['note/tape-robot', [second?.id]],
    ]);
    expect(await run()).toEqual([]);
  });

  test('a claim that was corrected or retracted since is not brought back', async () => {
    const plan = await readImport(fixture);
    const log = logOf();
    log.append(planImport(plan, { existing: existingIn([]) }).new, 'import:claude-memory');
    const retraction = ({ id, body }: StandingEvent): BodyInput => ({
      kind: 'retract',
      subject: body.subject,
      supersedes: [id],
    });
    log.append(log.standing.slice(0, 1).map(retraction), 'cli');
    expect(planImport(plan, { existing: existingIn(log.standing) }).new).toEqual([]);
  });

  test('what another session said on the subject is neither matched nor superseded', async () => {
    const plan = await readImport(fixture);
    const log = logOf();
    log.append(plan.events, 'cli');
    const planned = planImport(plan, { existing: existingIn(log.standing) });
    expect(planned.new).toEqual(plan.events);
  });

  test('JSON lines: a retraction and a repeated line count once, a changed claim replaces the one that is gone', () => {
    const log = logOf();
    const a: BodyInput = { kind: 'lesson', subject: 'lesson/a', content: 'old' };
    const retract: BodyInput = { kind: 'retract', subject: 'lesson/z', supersedes: ['f'.repeat(64)] };
    const run = (events: readonly BodyInput[]): readonly BodyInput[] => {
      const planned = planImport({ kind: 'jsonl', events, skipped: [] }, { existing: existingIn(log.standing) });
      expect(planned.new.length + planned.unchanged).toBe(events.length);
      log.append(planned.new, 'import:jsonl');
      return planned.new;
    };
    expect(run([a, a, retract])).toEqual([a, retract]);
    expect(run([a, retract])).toEqual([]);
    const [old] = log.standing;
    const b: BodyInput = { ...a, content: 'new' };
    expect(run([b, retract])).toEqual([{ ...b, supersedes: [old?.id] }]);
    expect(run([b, retract])).toEqual([]);
  });

  test('what the mesh does not take is left out by name instead of stopping the rest', () => {
    const events: readonly BodyInput[] = [
      { kind: 'lesson', subject: 'lesson/a', content: 'x' },
      { kind: 'lesson', subject: 'rule/b', content: 'x' },
    ];
    const objection = (event: BodyInput): string => (event.subject.startsWith('rule/') ? 'there is no class rule' : '');
    const planned = planImport({ kind: 'jsonl', events, skipped: [] }, { existing: () => [], objection });
    expect(planned.new).toEqual([events[0]]);
    expect(planned.skipped).toEqual([{ what: 'rule/b', why: 'there is no class rule' }]);
  });
});

withOutsideVectors('../samples/claude-memory', (folder) => {
  test('the sample memory: 21 notes imported, every damage named', async () => {
    const { events, skipped, noted } = await readImport(fileURLToPath(folder));
    expect(events.filter(({ kind }) => kind === 'lesson')).toHaveLength(12);
    expect(events.filter(({ kind }) => kind === 'assert')).toHaveLength(9);
    expect(skipped).toEqual([
      { what: 'MEMORY.md line 23', why: 'its file missing-note.md does not exist' },
      { what: 'broken-front-matter.md', why: 'its front matter never closes' },
      { what: 'empty-note.md', why: 'the file is empty' },
    ]);
    expect(noted.map(({ what }) => what)).toEqual(['orphan-note.md', 'orphan-note.md']);
    expect(events.find(({ subject }) => subject === 'lesson/branch-names')).toEqual({
      kind: 'lesson',
      subject: 'lesson/branch-names',
      content: 'Branch names: area/short-slug',
      hook: 'CI matches on the area',
      text: 'CI matches on the area.',
    });
    expect(events.find(({ subject }) => subject === 'note/ssh-mini')?.home).toBe('file:infra/FLEET.md#reachability');
  });
});
