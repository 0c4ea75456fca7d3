/** Installing memd as a service of the user: one unit file, and what systemd is told about it. */
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../daemon/config/config.ts';
import { readIdentity } from '../../daemon/identity.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { realDisk, replaceFile } from '../../store/disk.ts';
import { openHome } from '../../store/home/home.ts';
import { readLockOwner } from '../../store/home/home-lock.ts';
import { readPlainFile } from '../../store/safe-folder.ts';
import { programFolders } from './program-folders.ts';
import { lingers, openManager, setLinger, userName, type ServiceManager } from './systemctl.ts';
import {
  readUnit,
  sameUnit,
  unitFolder,
  unitText,
  type UnitNotes,
  type UnitSettings,
  type UnitState,
} from './unit-text.ts';

const packageRoot: string = fileURLToPath(new URL('../../../', import.meta.url));
const unitName = 'memd.service';

export interface ServiceContext {
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface Installed {
  readonly unit: string;
  /** `written`, or `unchanged` where the very text stood there. */
  readonly file: 'written' | 'unchanged';
  readonly enabled: boolean;
  readonly started: boolean;
  readonly linger: boolean | null;
  /** What is left to do, command by command. */
  readonly next: readonly string[];
  readonly notes: readonly string[];
}

export interface Uninstalled {
  readonly unit: string;
  readonly removed: readonly string[];
  readonly notes: readonly string[];
}

export interface ServiceStatus {
  readonly unit: string;
  readonly state: 'installed' | 'out of date' | 'edited' | 'foreign' | 'not installed';
  readonly home: string | null;
  /** Whether the user's service manager answers here; without it the rest is not known. */
  readonly manager: boolean;
  readonly enabled: boolean | null;
  readonly active: string | null;
  readonly pid: number | null;
  readonly linger: boolean | null;
  readonly notes: readonly string[];
}

/** Path of the unit of this user. */
export function unitFile({ env }: Pick<ServiceContext, 'env'>): string {
  return join(unitFolder(env, env['HOME'] ?? homedir()), unitName);
}

/** Writes the unit, enables and starts it. Refuses SERVICE_CONFLICT, SERVICE_UNSUPPORTED, NO_MESH, NOT_ENROLLED. */
export async function installService(
  context: ServiceContext,
  options: { readonly start: boolean; readonly linger: boolean },
): Promise<Installed> {
  requireSystemd();
  requireHost(context.home);
  const unit = unitFile(context);
  const current = unitHere(unit);
  if (current !== undefined) requireOurs(unit, current, context.home);
  const manager = await openManager(context.env);
  const wasLingering = lingers();
  const lingered = options.linger && wasLingering !== true ? await setLinger(true, context.env) : undefined;
  const before = current?.state === 'ours' ? current.notes : undefined;
  const notes: UnitNotes = {
    home: context.home,
    made: before?.made ?? missingFolders([dirname(unit), wantsFolder(unit)]),
    linger: before?.linger === true || lingered?.ok === true,
  };
  const file = await writeUnit(unit, textOf(context, notes));
  const done = manager.answers
    ? await startUnit(manager, context.home, { unit, file, start: options.start })
    : undefined;
  const linger = lingered?.ok === true ? true : (wasLingering ?? null);
  return {
    unit,
    file,
    enabled: done?.enabled ?? false,
    started: done?.started ?? false,
    linger,
    next: [
      ...(manager.answers ? [] : ['systemctl --user daemon-reload', 'systemctl --user enable --now memd']),
      ...(linger === true ? [] : [`loginctl enable-linger ${userName() ?? ''}`.trimEnd()]),
    ],
    notes: [
      ...(manager.answers ? [] : [`the user's service manager does not answer here (${manager.detail})`]),
      ...(linger === true ? [] : ['without linger memd stops when you log out and does not start at boot']),
      ...(lingered?.ok === false ? [`linger could not be turned on: ${lingered.detail}`] : []),
      ...(done?.notes ?? []),
    ],
  };
}

/** Stops and disables it and removes what the install wrote. Refuses SERVICE_CONFLICT for an edited or foreign unit. */
export async function uninstallService(
  context: ServiceContext,
  options: { readonly force: boolean },
): Promise<Uninstalled> {
  const unit = unitFile(context);
  const current = unitHere(unit);
  if (current === undefined) return { unit, removed: [], notes: ['it is not installed'] };
  if (current.state === 'foreign') throw conflict(`${unit} was not written by memctl`, 'look at it; remove it by hand');
  if (current.state === 'edited' && !options.force)
    throw conflict(`${unit} was edited after it was installed`, 'keep what you need of it, then: --force');
  const manager = await openManager(context.env);
  const stopped = manager.answers ? await manager.run(['disable', '--now']) : undefined;
  const link = join(wantsFolder(unit), unitName);
  const removed = [...(pointsTo(link, unit) ? [link] : []), unit];
  for (const file of removed) rmSync(file);
  const folders = current.notes.made.filter((folder) => removeEmpty(folder));
  if (manager.answers) await manager.reload();
  const lingered = current.notes.linger ? await setLinger(false, context.env) : undefined;
  return {
    unit,
    removed: [...removed, ...folders],
    notes: [
      ...(manager.answers
        ? []
        : [`the user's service manager does not answer here (${manager.detail}); a running memd goes on`]),
      ...(stopped?.ok === false ? [`systemctl: ${stopped.detail}`] : []),
      ...(lingered?.ok === true ? ['linger, which the install had turned on, is off again'] : []),
      `the home ${current.notes.home} is untouched`,
    ],
  };
}

/** How it stands. Changes nothing. */
export async function serviceStatus(context: ServiceContext): Promise<ServiceStatus> {
  const unit = unitFile(context);
  const current = unitHere(unit);
  const manager = await openManager(context.env);
  const shown = manager.answers && current !== undefined ? await manager.show() : undefined;
  const pid = Number(shown?.['MainPID'] ?? 0);
  const state = stateHere(context, unit, current);
  return {
    unit,
    state,
    home: current === undefined || current.state === 'foreign' ? null : current.notes.home,
    manager: manager.answers,
    enabled: shown === undefined ? null : shown['UnitFileState'] === 'enabled',
    active: shown?.['ActiveState'] ?? null,
    pid: pid > 0 ? pid : null,
    linger: lingers() ?? null,
    notes: [
      ...(manager.answers ? [] : [`the user's service manager does not answer here (${manager.detail})`]),
      ...(state === 'out of date' ? ['paths or settings have changed since: memctl service install'] : []),
      ...(shown?.['ActiveState'] === 'failed'
        ? [`it ended (${shown['Result'] ?? ''}): journalctl --user -u memd -n 50`]
        : []),
    ],
  };
}

function stateHere(context: ServiceContext, unit: string, current: UnitState | undefined): ServiceStatus['state'] {
  if (current === undefined) return 'not installed';
  if (current.state !== 'ours') return current.state;
  if (current.notes.home !== context.home) return 'installed';
  return sameUnit(readFileSync(unit, 'utf8'), textOf(context, current.notes)) ? 'installed' : 'out of date';
}

function textOf({ home, env }: ServiceContext, notes: UnitNotes): string {
  const template = readFileSync(join(packageRoot, 'systemd', unitName), 'utf8');
  return unitText(template, settingsOf(home, env), notes);
}

function settingsOf(home: string, env: NodeJS.ProcessEnv): UnitSettings {
  const user = env['HOME'] ?? homedir();
  const cache = env['XDG_CACHE_HOME'];
  const configHome = env['XDG_CONFIG_HOME'];
  return {
    node: process.execPath,
    memd: join(packageRoot, 'bin', 'memd'),
    home,
    configHome: configHome?.startsWith('/') === true ? configHome : undefined,
    cache: join(cache?.startsWith('/') === true ? cache : join(user, '.cache'), 'memd'),
    path: programFolders(['git', 'ssh', 'ssh-keygen', 'sh'], env['PATH'] ?? '').folders,
    targets: readConfig(env).targets.map(({ path }) => path),
  };
}

function requireSystemd(): void {
  if (process.platform === 'linux') return;
  throw new Refusal({
    code: 'SERVICE_UNSUPPORTED',
    message: `services are made for systemd only, not for ${process.platform}`,
    hint: 'start memd at login with the means of this system: memd --foreground',
  });
}

/** A service of a home that is no host yet would only fail and be started again. */
function requireHost(home: string): void {
  const { mesh, host } = readIdentity(openHome(home));
  if (mesh !== null) return;
  throw new Refusal({
    code: 'NOT_ENROLLED',
    message: `host ${host} has keys but no mesh yet`,
    hint: 'memctl join ssh://HOST:PORT --mesh ID, then install the service',
  });
}

function requireOurs(unit: string, current: UnitState, home: string): void {
  if (current.state === 'foreign') throw conflict(`${unit} was not written by memctl`, 'move it away first');
  if (current.state === 'edited')
    throw conflict(`${unit} was edited after it was installed`, 'memctl service uninstall --force, then install again');
  if (current.notes.home !== home)
    throw conflict(`${unit} runs memd for the home ${current.notes.home}`, 'memctl service uninstall first');
}

function conflict(message: string, hint: string): Refusal {
  return new Refusal({ code: 'SERVICE_CONFLICT', message, hint });
}

/** The unit that is installed; undefined where there is none. Fails with FILE_UNSAFE for a link or a device. */
function unitHere(unit: string): UnitState | undefined {
  const data = readPlainFile(unit);
  return data === undefined ? undefined : readUnit(data.toString('utf8'));
}

async function writeUnit(unit: string, text: string): Promise<Installed['file']> {
  if (readPlainFile(unit)?.toString('utf8') === text) return 'unchanged';
  mkdirSync(dirname(unit), { recursive: true });
  await replaceFile(realDisk, { file: unit, data: Buffer.from(text), mode: 0o644 });
  return 'written';
}

interface Started {
  readonly enabled: boolean;
  readonly started: boolean;
  readonly notes: readonly string[];
}

async function startUnit(
  manager: ServiceManager,
  home: string,
  { file, start }: { readonly unit: string; readonly file: Installed['file']; readonly start: boolean },
): Promise<Started> {
  const reloaded = await manager.reload();
  const enabled = await manager.run(['enable']);
  const faults = [reloaded, enabled].filter(({ ok }) => !ok).map(({ detail }) => `systemctl: ${detail}`);
  const { MainPID: pid } = await manager.show();
  const owner = readLockOwner(openHome(home));
  if (owner?.program === 'memd' && String(owner.pid) !== pid) {
    const other = `memd runs already as process ${owner.pid}, not as the service: kill ${owner.pid}, then systemctl --user start memd`;
    return { enabled: enabled.ok, started: false, notes: [...faults, other] };
  }
  if (!start) return { enabled: enabled.ok, started: false, notes: faults };
  const begun = await manager.run([file === 'written' ? 'restart' : 'start']);
  return {
    enabled: enabled.ok,
    started: begun.ok,
    notes: [...faults, ...(begun.ok ? [] : [`systemctl: ${begun.detail}; journalctl --user -u memd -n 50`])],
  };
}

function wantsFolder(unit: string): string {
  return join(dirname(unit), 'default.target.wants');
}

/** Those of these folders, and of what they stand in, that are not there, deepest first. */
function missingFolders(folders: readonly string[]): string[] {
  const missing = new Set<string>();
  for (const start of folders)
    for (let folder = start; !existsSync(folder); folder = dirname(folder)) missing.add(folder);
  return [...missing].toSorted((a, b) => b.length - a.length);
}

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

function pointsTo(link: string, file: string): boolean {
  const isLink = lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink && resolve(dirname(link), readlinkSync(link)) === file;
}
