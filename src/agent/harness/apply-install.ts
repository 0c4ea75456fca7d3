/** Carries out a plan: the launcher before anything that calls it, the record of what was really done last. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { hooksFolder, launcherFile, type Environment, type InstallScope } from './harness-files.ts';
import { isSamePlace, readRecord, recordFile, type Install, type InstalledFile } from './install-record.ts';
import { launcherScript } from './launcher.ts';
import type { Plan, PlannedFile } from './plan-install.ts';
import { readTextFile, removeEmptyFolders, replaceTextFile } from './settings-file.ts';

/** Everything that does not depend on the harness. */
export interface InstallContext {
  readonly env: Environment;
  /** Absolute folder of the user. */
  readonly user: string;
  /** Absolute home folder of memd. */
  readonly home: string;
  /** Absolute paths of the running Node and of bin/memctl. */
  readonly node: string;
  readonly memctl: string;
  readonly version: string;
}

/** Path and text of the launcher of a home. */
export function launcherOf({ env, user, home, node, memctl, version }: InstallContext): { file: string; text: string } {
  const file = launcherFile(hooksFolder(env, user), home);
  return { file, text: launcherScript({ node, memctl, home, timeout: findTimeout(), version }) };
}

/** A `timeout` that can also kill; '' where there is none (macOS has none of its own). */
function findTimeout(): string {
  const found = ['/usr/bin/timeout', '/bin/timeout'].find((file) => fs.existsSync(file));
  if (found === undefined) return '';
  return spawnSync(found, ['-k', '1', '5', 'true'], { stdio: 'ignore' }).status === 0 ? found : '';
}

/** What an earlier install at this place recorded. */
export function knownInstall(context: InstallContext, scope: InstallScope): Install | undefined {
  return readRecord(hooksFolder(context.env, context.user)).record.installs.find((one) => isSamePlace(one, scope));
}

/** Installs: the launcher, the files, the record. @returns the paths that changed. */
export function applyInstall(context: InstallContext, scope: InstallScope, plan: Plan): readonly string[] {
  const launcher = launcherOf(context);
  const changed: string[] = [];
  const before = readTextFile(launcher.file);
  if (before !== launcher.text || !isExecutable(launcher.file)) {
    replaceTextFile({ file: launcher.file, before, after: launcher.text });
    fs.chmodSync(launcher.file, 0o755);
    changed.push(launcher.file);
  }
  const known = knownInstall(context, scope);
  const kept = (known?.files ?? []).filter(({ file }) => plan.files.every((one) => one.file !== file));
  const done: InstalledFile[] = [...kept];
  try {
    for (const planned of plan.files) {
      const made = replaceWhereNew(planned, changed);
      const { file, kind, created, insertions } = planned;
      const folders = known?.files.find((one) => one.file === file)?.folders ?? [];
      done.push({ file, kind, created, insertions, folders: [...folders, ...made] });
    }
  } finally {
    const { home, version } = context;
    writeRecord(context, scope, { ...scope, home, launcher: launcher.file, version, files: done });
  }
  return changed;
}

function replaceWhereNew({ file, before, after }: PlannedFile, changed: string[]): readonly string[] {
  if (before === after) return [];
  changed.push(file);
  return replaceTextFile({ file, before, after });
}

/** Uninstalls: the files, the record, and the launcher when nothing else calls it. @returns the paths that changed. */
export function applyUninstall(context: InstallContext, scope: InstallScope, plan: Plan): readonly string[] {
  const changed: string[] = [];
  const known = knownInstall(context, scope);
  for (const planned of plan.files) {
    replaceWhereNew(planned, changed);
    const folders = known?.files.find(({ file }) => file === planned.file)?.folders ?? [];
    if (planned.after === undefined) removeEmptyFolders(folders);
  }
  // A folder that was made for one file may have held another of ours.
  for (const { folders } of known?.files ?? []) removeEmptyFolders(folders);
  const launcher = known?.launcher ?? launcherOf(context).file;
  const left = writeRecord(context, scope, undefined);
  if (left.every((one) => one.launcher !== launcher) && fs.existsSync(launcher)) {
    fs.rmSync(launcher);
    changed.push(launcher);
  }
  removeEmptyFolders([path.dirname(launcher)]);
  return changed;
}

/** Puts an install into the record, or takes it out. @returns what stands in it now. */
function writeRecord(context: InstallContext, scope: InstallScope, install: Install | undefined): readonly Install[] {
  const folder = hooksFolder(context.env, context.user);
  const { record, text } = readRecord(folder);
  const others = record.installs.filter((one) => !isSamePlace(one, scope));
  const installs = install === undefined ? others : [...others, install];
  const after = installs.length === 0 ? undefined : `${JSON.stringify({ v: 1, installs }, null, 2)}\n`;
  if (after !== text) replaceTextFile({ file: recordFile(folder), before: text, after, mode: 0o600 });
  return installs;
}

function isExecutable(file: string): boolean {
  return ((fs.statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o111) !== 0;
}
