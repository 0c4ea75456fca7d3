import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { BodyInput } from '../../../../src/core/event.ts';
import type { AppendedJson, ClaimJson, ImportedJson } from '../../../../src/daemon/api/api-types.ts';
import { openEngine, type Engine } from '../../../../src/daemon/engine.ts';
import { handleRequest } from '../../../../src/daemon/api/handlers.ts';
import type { Refusal } from '../../../../src/daemon/refusal.ts';
import { runInit } from '../../../../src/cli/commands/init.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const token = `ghp_${'aB3'.repeat(12)}`;
const lesson = { kind: 'lesson', subject: 'lesson/x', content: 'Quote every path' } as const;

async function host(): Promise<{ engine: Engine; call: <T>(method: string, params: unknown) => Promise<T> }> {
  const folder = temporaryFolder();
  process.env['XDG_CONFIG_HOME'] = join(folder, 'config');
  await runInit(join(folder, 'home'), { host: 'alpha' });
  const engine = await openEngine({ home: join(folder, 'home'), daemon: false });
  onTestFinished(() => engine.close());
  return { engine, call: (method, params) => handleRequest(engine, method, params, () => undefined) as never };
}

const refused = (work: Promise<unknown>): Promise<Refusal> =>
  work.then(
    () => Promise.reject(new Error('it was appended')),
    (error: unknown) => error as Refusal,
  );

describe('secret gate on the write path', () => {
  test('one secret refuses its whole transaction, and only the ledger says that it was tried', async () => {
    const { call, engine } = await host();
    const events: BodyInput[] = [lesson, { ...lesson, subject: 'lesson/y', text: `use ${token}` }];
    const refusal = await refused(call('append', { events, session: 's1' }));
    expect(refusal).toMatchObject({ code: 'SECRET_FOUND', exit: 6 });
    expect(refusal.message).toBe(
      'event 2 of 2, lesson lesson/y: its text holds what looks like a secret (rule github); nothing of this was appended',
    );
    const { claims } = await call<{ claims: ClaimJson[] }>('log', {});
    expect(claims.map(({ kind, subject, content, session }) => [kind, subject, content, session])).toEqual([
      ['deny', 'lesson/y', 'secret/github', 's1'],
    ]);
    expect(await call('recall', { subject: 'lesson/y' })).toMatchObject({ status: 'none' });
    await engine.beliefs.settle();
    expect(readFileSync(join(engine.home.logs, 'alpha.jsonl'), 'utf8')).not.toContain(token);
  });

  test('trying again adds nothing to the ledger; another session does', async () => {
    const { call } = await host();
    const events = [{ ...lesson, content: token }];
    await refused(call('append', { events, session: 's1' }));
    await refused(call('append', { events, session: 's1' }));
    await Promise.all([1, 2, 3].map(() => refused(call('append', { events, session: 's2' }))));
    const { claims } = await call<{ claims: ClaimJson[] }>('log', {});
    expect(claims.map(({ session }) => session)).toEqual(['s1', 's2']);
  });

  test('transactions that wait for the same commit are judged each on its own', async () => {
    const { call } = await host();
    const append = (content: string): Promise<{ results: AppendedJson[] }> =>
      call('append', { events: [{ ...lesson, subject: `lesson/${content.slice(0, 1)}`, content }], session: 's' });
    const [first, second, third] = await Promise.allSettled([append('a'), append(`b ${token}`), append('c')]);
    expect([first?.status, second?.status, third?.status]).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const { claims } = await call<{ claims: ClaimJson[] }>('log', {});
    expect(claims.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
      'lesson lesson/a',
      'lesson lesson/c',
      'deny lesson/b',
    ]);
  });

  test('a secret in the subject or the session is written down nowhere', async () => {
    const { call } = await host();
    const slack = ['xoxb', '1234567890-1234567890-abcdefghij'].join('-');
    const inSubject = await refused(call('append', { events: [{ ...lesson, subject: `lesson/${slack}` }] }));
    expect(inSubject.message).not.toContain(slack);
    await refused(call('append', { events: [lesson], session: token }));
    const { claims } = await call<{ claims: ClaimJson[] }>('log', {});
    expect(claims.map(({ subject, session }) => [subject, session])).toEqual([['lesson/x', 'secret-gate']]);
  });

  test('an import leaves it out by name, takes the rest, and says the same the next time', async () => {
    const { call } = await host();
    const events = [lesson, { ...lesson, subject: 'lesson/y', content: token }];
    const params = { kind: 'jsonl', events, skipped: [] };
    const skipped = [{ what: 'lesson/y', why: 'its content holds what looks like a secret (rule github)' }];
    expect(await call('import', { ...params, dryRun: true })).toMatchObject({ new: 1, skipped });
    expect((await call<{ claims: ClaimJson[] }>('log', {})).claims).toEqual([]);
    expect(await call<ImportedJson>('import', params)).toMatchObject({ new: 1, unchanged: 0, skipped });
    expect(await call<ImportedJson>('import', params)).toMatchObject({ new: 0, unchanged: 1, skipped });
    const { claims } = await call<{ claims: ClaimJson[] }>('log', {});
    expect(claims.map(({ kind, session }) => `${kind} ${session}`)).toEqual([
      'lesson import:jsonl',
      'deny import:jsonl',
    ]);
  });

  test('an import whose subject was made of a name with a secret shows and keeps nothing of it', async () => {
    const { call } = await host();
    const entity = { kind: 'assert', subject: 'note/ghp-ab3ab3', content: 'x', names: [token], home: 'file:m.jsonl' };
    expect(await call('import', { kind: 'mcp-memory', events: [entity], skipped: [] })).toMatchObject({
      new: 0,
      skipped: [{ what: 'an event (assert)', why: 'its names holds what looks like a secret (rule github)' }],
    });
    expect((await call<{ claims: ClaimJson[] }>('log', {})).claims).toEqual([]);
  });

  test('the sentence "no API key in the build" is kept', async () => {
    const { call } = await host();
    await call('append', { events: [{ ...lesson, content: 'no API key in the build' }] });
    expect(await call('recall', { subject: 'lesson/x' })).toMatchObject({ status: 'served' });
  });
});
