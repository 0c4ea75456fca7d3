/** verify: is what is stored what was signed, and is what is derived what follows from it? */
import { approvalsOf, createApprovalChecks } from '../beliefs/approval-checks.ts';
import { createFold, foldLines, readState, subjectsOf } from '../../core/fold/fold.ts';
import type { VerifiedLine } from '../../core/log.ts';
import { checkDatabase } from '../../store/database/database-check.ts';
import { checkObjects } from '../../store/git/maintenance.ts';
import { listViews } from '../../store/git/refs.ts';
import { checkPlainCopy } from '../../store/logs/plain-copies.ts';
import type { Problem } from '../../store/problem.ts';
import { viewFileState } from '../../store/view-files.ts';
import { manifestName } from '../../core/manifest.ts';
import { viewNames } from '../../core/views/render.ts';
import type { VerifyJson } from '../api/api-types.ts';
import { commitsOnDisk } from '../beliefs/commits-on-disk.ts';
import type { Engine } from '../engine.ts';
import { alarmRows, eventRows, lineRow, recordRows } from '../beliefs/fold-rows.ts';
import { counted } from '../counted.ts';
import { cutOf, readVerifiedLog, usableLines, vouchedOnly } from '../beliefs/log-book.ts';
import { viewProblem } from './verify-views.ts';

interface LogReport {
  readonly lines: readonly VerifiedLine[];
  readonly problems: readonly string[];
  readonly link: string;
}

interface Options {
  readonly deep: boolean;
  readonly progress: (text: string) => void;
}

/** Verifications beside running appends and fetches, before the last one has appends wait. */
const triesBeside = 2;

/**
 * Reads every log again from git and verifies it; folds it from nothing and compares roots. Deep: every host signature,
 * every object, every database row, every byte of every plain copy, every view file, every line of the view journals.
 * What moved meanwhile is no problem: then it is looked at again.
 */
export async function verify(engine: Engine, options: Options): Promise<VerifyJson> {
  for (let tries = 0; tries < triesBeside; tries += 1) {
    await engine.beliefs.settle();
    const before = momentOf(engine);
    const report = await engine.gate.use(() => verifyOnce(engine, options));
    const after = momentOf(engine);
    const stood = after.held === before.held && after.views === before.views;
    if (report.ok || (stood && after.held === after.onDisk)) return report;
  }
  return engine.alone(async () => {
    await engine.beliefs.settle();
    return verifyOnce(engine, options);
  });
}

interface Moment {
  readonly held: string;
  readonly onDisk: string;
  readonly views: string;
}

/**
 * What this host holds and what its branches say: they differ while an append or a fetch is between its two steps. View
 * journals move by themselves, and git calls a commit missing that came after it had listed the objects.
 */
function momentOf(engine: Engine): Moment {
  const { beliefs, repository } = engine;
  const trust = engine.trust();
  const { hash, charter } = trust;
  const text = (oids: Readonly<Record<string, string>>): string =>
    JSON.stringify([hash, ...[...charter.hosts.keys()].map((log) => oids[log] ?? null)]);
  const views = JSON.stringify([...listViews(repository)]);
  return { held: text(beliefs.book.oids()), onDisk: text(commitsOnDisk(repository, trust)), views };
}

async function verifyOnce(engine: Engine, { deep, progress }: Options): Promise<VerifyJson> {
  const logs: Record<string, { lines: number; link: string }> = {};
  const { charter, hash } = engine.trust();
  const problems: string[] = [];
  const checks = createApprovalChecks();
  const fold = createFold(charter, hash, checks.ports);
  const all: VerifiedLine[] = [];
  for (const host of charter.hosts.values()) {
    progress(`verifying log ${host.name}`);
    const report = await verifyLog(engine, host.name, deep);
    const held = engine.beliefs.book.tip(host.name)?.seq;
    if (report === undefined && held !== undefined)
      problems.push(`log ${host.name}: its branch is gone, and it was read here to line ${held}`);
    if (report === undefined) continue;
    logs[host.name] = { lines: report.lines.length, link: report.link };
    problems.push(...report.problems);
    for (const line of report.lines) all.push(line);
    checks.begin(approvalsOf(charter, report.lines));
  }
  await checks.settled();
  foldLines(fold, all);
  const { root } = readState(fold);
  const live = readState(await engine.beliefs.fold()).root;
  if (root !== live) problems.push(`root: folded from nothing it is ${root}, in memory it is ${live}`);
  if (deep) {
    progress('checking objects and derived files');
    const found = [...(await checkObjects(engine.repository)), ...checkRows(engine, fold, all), ...checkViews(engine)];
    problems.push(...found.map(sentence));
  }
  for (const host of charter.hosts.values()) {
    const problem = await viewProblem(engine.repository, host, { mesh: engine.meshId, deep });
    if (problem !== undefined) problems.push(problem);
  }
  problems.push(...engine.beliefs.headsFaults().map(({ message }) => message));
  return { ok: problems.length === 0, deep, logs, root, problems };
}

async function verifyLog(engine: Engine, log: string, deep: boolean): Promise<LogReport | undefined> {
  const host = engine.charter().hosts.get(log);
  const { purges } = engine.charter();
  const how = { meshId: engine.meshId, purged: purges, tellVouched: deep };
  const read = host && (await readVerifiedLog(engine.repository, host, how));
  if (read === undefined) return undefined;
  const lines = usableLines(read);
  const link = lines.at(-1)?.link ?? engine.meshId;
  const cut = cutOf(log, read);
  const { covered = 0, vouched = [] } = read.extension;
  const problems = [
    ...(cut === undefined ? [] : [`log ${log} line ${cut.seq}: ${cut.code}: ${cut.detail}`]),
    ...(vouched.length === 0 ? [] : [vouchedOnly(log, vouched)]),
    ...(covered === 0 ? [] : [`log ${log}: PURGE_DUE: ${counted(covered, 'line')} with a body that a purge names`]),
  ];
  const copies = deep
    ? checkPlainCopy(
        engine.home,
        log,
        read.extension.lines.map((line) => line.text),
      ).map(sentence)
    : [];
  return { lines, link, problems: [...problems, ...copies] };
}

function checkRows(
  engine: Engine,
  fold: ReturnType<typeof createFold>,
  lines: readonly VerifiedLine[],
): readonly Problem[] {
  const subjects = ['', ...subjectsOf(fold)];
  return checkDatabase(engine.beliefs.database, {
    events: eventRows(fold, subjects),
    records: recordRows(fold, subjects),
    lines: lines.map(lineRow),
    alarms: alarmRows(fold),
  });
}

function checkViews(engine: Engine): Problem[] {
  return [...engine.charter().audiences.keys()].flatMap((audience) =>
    [...viewNames, manifestName].flatMap((name) => {
      const state = viewFileState(engine.home, audience, name);
      // What may not be signed now has no manifest.
      if (state === 'as written' || (name === manifestName && state === 'missing')) return [];
      return [
        {
          file: `views/${audience}/${name}`,
          place: 'whole file',
          detail: state,
          hint: 'memctl rebuild writes it again; a hand edit is kept beside it',
        },
      ];
    }),
  );
}

function sentence({ file, place, detail }: Problem): string {
  return `${file}: ${place}: ${detail}`;
}
