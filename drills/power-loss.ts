/**
 * The power goes right after an acknowledgement. As root: the home on a loop-mounted ext4 whose image is copied while it
 * is mounted and mounted afresh, which is what a disk holds at that instant. Without root: the layer that drops what was
 * not flushed. `--cuts=N` (default 60), `--target=memd|writer`, `--layer` for the second kind also as root.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { realDisk } from '../src/store/disk.ts';
import { initRepository, openRepository, prepareRepository } from '../src/store/git/repository.ts';
import { createHome, homePaths } from '../src/store/home/home.ts';
import { createLogStore } from '../src/store/logs/log-store.ts';
import { droppingDisk } from '../test/lib/dropping-disk.ts';
import { createRandom } from '../test/lib/random.ts';
import { testLine, testLines } from '../test/lib/store-lines.ts';
import { openApi, type ApiConnection } from './lib/api.ts';
import { checkRepository, readLogWithGit } from './lib/check-log.ts';
import type { DrillContext } from './lib/drill.ts';
import { killProcess, pause, processesMentioning } from './lib/process.ts';
import { createTarget, type Target } from './lib/target.ts';

export const name = 'power-loss';
export const promise =
  'nothing acknowledged is missing after a power cut right after its acknowledgement, and git fsck is clean';

const cutsDefault = 60;
const imageBytes = 268_435_456;
const bulkEvents = 2_100;
/** Every so many cuts the target itself opens and verifies what was left, derived files included. */
const verifyEvery = 6;

function root(command: string, args: readonly string[]): void {
  execFileSync(command, [...args], { stdio: 'pipe' });
}

/** Why the real thing cannot be done here, or undefined. */
function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'loop devices are a Linux thing';
  if (process.getuid?.() !== 0) return 'not root';
  try {
    root('mkfs.ext4', ['-V']);
  } catch {
    return 'mkfs.ext4 is not installed (package e2fsprogs)';
  }
  try {
    root('losetup', ['--find']);
  } catch {
    return 'no loop device can be used here';
  }
  return undefined;
}

interface Mounted {
  readonly image: string;
  readonly point: string;
}

function mount(context: DrillContext, image: string, point: string, ...settings: readonly string[]): Mounted {
  mkdirSync(point, { recursive: true });
  root('mount', ['-o', ['loop', ...settings].join(), image, point]);
  context.onCleanup(() => unmount(point));
  return { image, point };
}

function unmount(point: string): void {
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      execFileSync('mountpoint', ['-q', point], { stdio: 'pipe' });
    } catch {
      return;
    }
    try {
      root('umount', [point]);
    } catch {
      execFileSync('sleep', ['0.1']);
    }
  }
  throw new Error(`${point} cannot be unmounted`);
}

/** Appends one to three events (every tenth time a bulk) and gives the contents that were acknowledged. */
async function appendOnce(context: DrillContext, api: ApiConnection, cut: number): Promise<string[]> {
  const count = cut % 10 === 9 ? bulkEvents : 1 + context.random.below(3);
  const contents = Array.from({ length: count }, (_, index) => `p${cut}-${index}`);
  const reply = await api.call('append', {
    events: contents.map((content) => ({ kind: 'lesson', subject: `lesson/${content}`, content })),
  });
  context.check(reply.error === undefined, `append ${cut} was refused: ${reply.error?.message}`);
  return contents;
}

function bodyContents(texts: readonly string[]): Set<string> {
  return new Set(texts.map((text) => (JSON.parse(text) as { body: { content?: string } }).body.content ?? ''));
}

/** A copy that finds the image changed under it is made again, at most so often. */
const copiesMax = 50;

/**
 * Copies the image while nobody writes to it: a copy that takes its time would be of no one moment, its journal newer than
 * what stands before it, which is what no power cut leaves. Nothing is flushed by it. The file system goes on by itself (it
 * empties its journal), so a copy counts when the image is read once more and is still the same.
 */
async function copyOfOneMoment(
  context: DrillContext,
  pid: number,
  files: { image: string; copy: string },
): Promise<void> {
  const { image, copy } = files;
  process.kill(pid, 'SIGSTOP');
  try {
    for (let tries = 0; !isStopped(pid); tries += 1) {
      context.check(tries < 20_000, 'memd did not stop');
      await pause(1);
    }
    for (let tries = 0; ; tries += 1) {
      root('cp', ['--sparse=always', image, copy]);
      if (spawnSync('cmp', ['-s', image, copy]).status === 0) return;
      context.check(tries < copiesMax, 'the image does not come to rest');
    }
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

/** Whether every thread has stopped: one that is in the middle of a flush does so behind it. */
function isStopped(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((thread) => /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')));
}

/** Copies the image of the mounted home, mounts the copy, reads it with stock git. */
async function inspectCut(
  context: DrillContext,
  work: {
    folder: string;
    pid: number;
    mounted: Mounted;
    target: Target;
    acknowledged: readonly string[];
    verify: boolean;
  },
): Promise<void> {
  const { folder, pid, mounted, target, acknowledged, verify } = work;
  const copy = path.join(folder, 'cut.img');
  const point = path.join(folder, 'cut');
  await copyOfOneMoment(context, pid, { image: mounted.image, copy });
  mkdirSync(point, { recursive: true });
  root('mount', ['-o', 'loop', copy, point]);
  try {
    const home = path.join(point, path.relative(mounted.point, target.home));
    const held = bodyContents(readLogWithGit(home, target.host));
    const missing = acknowledged.filter((content) => !held.has(content));
    context.check(
      missing.length === 0,
      `${missing.length} acknowledged events are missing after the cut, first ${missing[0]}`,
    );
    checkRepository(home);
    const wrong = verify ? target.verify(home) : undefined;
    context.check(wrong === undefined, `${target.name} does not open what the cut left: ${wrong}`);
  } finally {
    unmount(point);
  }
}

async function runOnExt4(context: DrillContext, cuts: number): Promise<void> {
  const folder = context.temporaryFolder();
  const image = path.join(folder, 'disk.img');
  writeFileSync(image, '');
  truncateSync(image, imageBytes);
  root('mkfs.ext4', ['-q', image]);
  const mounted = mount(context, image, path.join(folder, 'disk'));
  const inside = path.join(mounted.point, 'm');
  mkdirSync(inside);
  const target = createTarget(context, inside);
  context.onCleanup(() => processesMentioning(folder).forEach(killProcess));
  context.step(`${target.name} on a loop-mounted ext4; ${cuts} cuts, each right after an acknowledgement`);
  const running = await target.start();
  context.onCleanup(() => running.process.end());
  const api = await openApi(running.socket);
  const acknowledged: string[] = [];
  for (let cut = 0; cut < cuts; cut += 1) {
    acknowledged.push(...(await appendOnce(context, api, cut)));
    const { pid } = running;
    await inspectCut(context, { folder, pid, mounted, target, acknowledged, verify: cut % verifyEvery === 0 });
    if (cut % 20 === 19) context.step(`${cut + 1} cuts: ${acknowledged.length} acknowledged events, none missing`);
  }
  api.close();
  await running.process.end();
  context.evidence(
    `${cuts} images copied right after an acknowledgement and mounted afresh: ${acknowledged.length} acknowledged events, 0 missing, git fsck --strict clean each time`,
  );
  proveThatItCanFail(context, folder);
}

/** The same cut with stock git alone: the drill must be able to see a loss, else its success says nothing. */
function proveThatItCanFail(context: DrillContext, folder: string): void {
  const image = path.join(folder, 'stock.img');
  writeFileSync(image, '');
  truncateSync(image, imageBytes / 4);
  root('mkfs.ext4', ['-q', image]);
  // Else the file system writes its journal every 5 s, and on a busy machine nothing would be lost by then.
  const mounted = mount(context, image, path.join(folder, 'stock'), 'commit=600');
  const dir = path.join(mounted.point, 'r.git');
  const git = (args: readonly string[], input?: string): string =>
    execFileSync('git', ['--git-dir', dir, '-c', 'core.fsync=all', ...args], {
      input: input ?? '',
      encoding: 'utf8',
      stdio: 'pipe',
    }).trim();
  execFileSync('git', ['init', '-q', '--bare', dir]);
  root('sync', ['-f', mounted.point]);
  let lost = 0;
  const rounds = 5;
  for (let round = 0; round < rounds; round += 1) {
    const from = round === 0 ? '' : `from ${git(['rev-parse', 'refs/heads/x'])}\n`;
    git(
      ['fast-import', '--quiet', '--done'],
      `commit refs/heads/x\ncommitter a <a@b> 1 +0000\ndata 1\nx\n${from}M 100644 inline a\ndata 2\n${round}\n\ndone\n`,
    );
    const head = git(['rev-parse', 'refs/heads/x']);
    root('cp', ['--sparse=always', image, path.join(folder, 'cut.img')]);
    root('mount', ['-o', 'loop', path.join(folder, 'cut.img'), path.join(folder, 'cut')]);
    const kept = path.join(folder, 'cut', 'r.git', 'refs', 'heads', 'x');
    if (!existsSync(kept) || execFileSync('cat', [kept], { encoding: 'utf8' }).trim() !== head) lost += 1;
    unmount(path.join(folder, 'cut'));
  }
  context.evidence(
    `for comparison, stock git fast-import with core.fsync=all: ${lost} of ${rounds} finished commits lost by the same cut`,
  );
  context.check(lost > 0, 'the cut loses nothing even without folder flushes, so it proves nothing here');
}

/** Without root: the store in this process over the dropping layer, worst case and by chance. */
async function runOnLayer(context: DrillContext, cuts: number): Promise<void> {
  const folder = context.temporaryFolder();
  const meshId = '0'.repeat(64);
  const disk = droppingDisk(realDisk, folder);
  const home = createHome(path.join(folder, 'home'));
  const repository = await initRepository(home.repository, { host: 'alpha', disk });
  disk.settle();
  const writer = await createLogStore({ repository, meshId }).openWriter('alpha');
  let lines = 0;
  context.step(`the store in this process, unflushed files and folders dropped; ${cuts} cuts`);
  for (let cut = 0; cut < cuts; cut += 1) {
    const count = cut % 10 === 9 ? bulkEvents : 1 + context.random.below(3);
    if (count === bulkEvents) await writer.appendBulk([testLines(lines + 1, count)]);
    else await writer.append(testLines(lines + 1, count));
    lines += count;
    const kept = path.join(context.temporaryFolder(), 'kept');
    disk.cutPower(kept, cut % 2 === 0 ? undefined : createRandom(context.random.below(2 ** 31)));
    const left = openRepository(homePaths(path.join(kept, 'home')).repository);
    await prepareRepository(left);
    const read = await createLogStore({ repository: left, meshId }).readLog('alpha');
    context.check(
      read.lines.length === lines && read.lines.every((text, index) => text === testLine(index + 1).text),
      `cut ${cut}: ${read.lines.length} of ${lines} lines`,
    );
    checkRepository(path.join(kept, 'home'));
    await pause(0);
  }
  context.evidence(
    `${cuts} cuts, half in the worst case and half by chance: ${lines} acknowledged lines, 0 missing, git fsck --strict clean each time`,
  );
}

export async function run(context: DrillContext): Promise<void> {
  const cuts = Number(context.options.get('cuts') || cutsDefault);
  const reason = context.options.has('layer') ? 'asked for by --layer' : whyNot();
  if (reason === undefined) return runOnExt4(context, cuts);
  context.step(`no loop-mounted ext4 (${reason}): the dropping layer instead`);
  return runOnLayer(context, cuts);
}
