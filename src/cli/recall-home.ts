/** The home of a recalled claim, read in this process: with the rights of who asks, from where they stand. */
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import type { HomeRoot } from '../agent/homes/path-rules.ts';
import type { HomeReading } from '../agent/homes/reading.ts';
import type { Project } from '../agent/project.ts';
import type { RecallJson } from '../daemon/api/api-types.ts';
import type { Config } from '../daemon/config/config.ts';
import type { Refusal } from '../daemon/refusal.ts';

export type HomeJson = HomeReading & {
  /** Who could read it last, and when they said so: the host that observed it, else the one that claims it. */
  readonly last?: { readonly host: string; readonly at: string };
};

/** What `memctl recall --json` prints. */
export type RecalledJson = RecallJson & { readonly home?: HomeJson };

export interface Standing {
  /** Absolute home folder of memd. */
  readonly memd: string;
  readonly config: { readonly config: Config } | { readonly fault: Refusal };
  readonly project: Project | undefined;
  /** Fetch https homes too. */
  readonly check: boolean;
}

/** The answer with the home of its claim, where it has one. Homes of what is parked or quarantined are not read. */
export async function withHome(answer: RecallJson, standing: Standing): Promise<RecalledJson> {
  const ref = answer.claim?.home;
  if (ref === undefined) return answer;
  const reading = await readClaimHome(answer, ref, standing);
  const last = lastReader(answer);
  const home = reading.fresh || last === undefined ? reading : { ...reading, last };
  // This host sees that its own observation no longer holds: stale here and now, whatever the log says yet.
  const changed = reading.checked && !reading.fresh && answer.observed?.host === answer.host;
  return { ...answer, ...(changed && answer.status === 'served' ? { status: 'stale' as const } : {}), home };
}

function readClaimHome(answer: RecallJson, ref: string, standing: Standing): Promise<HomeReading> {
  const own = answer.observed?.host === answer.host ? { observed: answer.observed.digest } : {};
  return readHomeHere(ref, standing, { scope: answer.claim?.scope ?? '*', host: answer.host, ...own });
}

/** Whose home it is: the scope of what names it, the name of this host, and what this host last observed of it. */
export interface HomeOwner {
  readonly scope: string;
  readonly host: string;
  readonly observed?: string;
}

/** Reads a home from where the asker stands. Never throws for anything that a home can be. */
export async function readHomeHere(ref: string, standing: Standing, owner: HomeOwner): Promise<HomeReading> {
  const { config, memd, check } = standing;
  if ('fault' in config) return { ref, checked: false, fresh: false, reason: config.fault.message };
  const { readHome } = await import('../agent/homes/read-home.ts');
  return readHome(ref, {
    roots: await rootsFor(owner.scope, config.config, standing.project),
    closed: [memd, dirname(config.config.file)].flatMap((folder) => [folder, realFolder(folder)]),
    check,
    httpsHosts: config.config.homes.httpsHosts,
    ...owner,
  });
}

/** The project around the working folder, then the folders of the config; one place is one root. */
async function rootsFor(scope: string, config: Config, project: Project | undefined): Promise<readonly HomeRoot[]> {
  const here = project === undefined ? [] : [{ path: project.root, scope: project.scope }];
  const there = await Promise.all(
    config.homes.roots.map(async (path) => ({ path, scope: scope === '*' ? null : await scopeOfRoot(path, config) })),
  );
  return [...here, ...there.filter(({ path }) => realFolder(path) !== here[0]?.path)];
}

/** A root that is a project by itself is the first place to look for what is claimed of that project. */
async function scopeOfRoot(path: string, config: Config): Promise<string | null> {
  const { projectOf } = await import('../agent/project.ts');
  const project = await projectOf(path, { scopes: config.scopes, env: process.env });
  return project?.root === realFolder(path) ? project.scope : null;
}

function realFolder(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function lastReader({ observed, claim }: RecallJson): HomeJson['last'] {
  const last = observed ?? claim;
  return last === undefined ? undefined : { host: last.host, at: last.at };
}
