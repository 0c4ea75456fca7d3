/** One new commit from a peer behind a plain sshd, beside the same peer reached at its memd. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openApi } from '../drills/lib/api.ts';
import { enrol, layHost, type TestHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { sshdProgram, startPlainSshd, type PlainSshd } from '../test/lib/plain-sshd.ts';
import { quantiles, ratioFigure, timed, type Figure } from './lib/figures.ts';

const rounds = 30;

/** No figure where openssh-server is not installed. */
export async function benchPlainSshd(): Promise<Figure[]> {
  if (sshdProgram === undefined) {
    process.stderr.write('SKIPPED plain-sshd: openssh-server is not installed\n');
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  const sshd = await startPlainSshd({ folder: join(folder, 'sshd') });
  try {
    // A configuration each: only beta dials through the sshd.
    const lay = (name: string): Promise<TestHost> =>
      layHost({
        folder,
        name,
        environment: { XDG_CONFIG_HOME: join(folder, `config-${name}`) },
        started: (memd) => void started.push(memd),
      });
    const [alpha, beta, gamma] = [await lay('alpha'), await lay('beta'), await lay('gamma')];
    await form(alpha, [beta, gamma], { sshd, folder });
    return await measure(alpha, { beta, gamma });
  } finally {
    for (const memd of started) await memd.end();
    await sshd.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function form(
  alpha: TestHost,
  others: readonly [TestHost, TestHost],
  { sshd, folder }: { readonly sshd: PlainSshd; readonly folder: string },
): Promise<void> {
  const { mesh } = await alpha.json<{ mesh: string }>('init', '--host', 'alpha', '--listen', alpha.address);
  await alpha.start();
  for (const host of others) await enrol(alpha, host, mesh);
  sshd.authorize(...(await alpha.json<{ lines: string[] }>('serve', '--authorized-keys')).lines);
  const config = join(folder, 'config-beta', 'memd');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'known_hosts'), sshd.knownHost());
  writeFileSync(join(config, 'config.toml'), `[peers]\nalpha = "${sshd.url()}"\n`);
  for (const host of others) await host.start();
}

async function measure(
  alpha: TestHost,
  { beta, gamma }: { readonly beta: TestHost; readonly gamma: TestHost },
): Promise<Figure[]> {
  const [from, through, direct] = await Promise.all(
    [alpha, beta, gamma].map(({ home }) => openApi(join(home, 'memd.sock'))),
  );
  if (from === undefined || through === undefined || direct === undefined) throw new Error('three were opened');
  const fetch = (to: typeof through): Promise<number> =>
    timed(async () => requireUp(await to.call('fetch', { peer: 'alpha' })));
  let said = 0;
  const news = async (to: typeof through): Promise<number> => {
    said += 1;
    await from.call('append', {
      events: [{ kind: 'lesson', subject: `lesson/bench-${said}`, content: `rule ${said} `.repeat(40) }],
    });
    return fetch(to);
  };
  await Promise.all([through, direct].map(fetch));
  const idle = await compare(
    () => fetch(through),
    () => fetch(direct),
  );
  const one = await compare(
    () => news(through),
    () => news(direct),
  );
  for (const api of [from, through, direct]) api.close();
  return [figure('cycle with nothing new', idle), figure('append, and a cycle that brings it', one)];
}

interface Compared {
  readonly value: number;
  readonly floor: number;
}

/** Turn by turn, so that the load of the machine is on both. */
async function compare(through: () => Promise<number>, direct: () => Promise<number>): Promise<Compared> {
  const [values, floors]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    values.push(await through());
    floors.push(await direct());
  }
  return { value: quantiles(values).p50, floor: quantiles(floors).p50 };
}

function figure(what: string, { value, floor }: Compared): Figure {
  return ratioFigure({
    what: `${what}, through a plain sshd, p50 of ${rounds}`,
    value,
    unit: 'ms',
    floor: { what: 'the same to memd itself', value: floor },
    atMost: 3,
  });
}

function requireUp(reply: { readonly result?: unknown }): void {
  const { peers } = reply.result as { peers: { state: string }[] };
  if (peers[0]?.state !== 'up') throw new Error(`the cycle gave ${JSON.stringify(peers)}`);
}
