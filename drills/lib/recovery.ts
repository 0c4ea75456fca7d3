/** What the drills of recovery ask of a host. */
import type { DrillContext } from './drill.ts';
import type { TestHost } from './hosts.ts';
import { until } from './live-mesh.ts';

export interface StatusAnswer {
  readonly root: string;
  readonly heads: Readonly<Record<string, { readonly seq: number }>>;
  readonly alarms: readonly { readonly kind: string; readonly detail: string }[];
}

export function statusOf(host: TestHost): Promise<StatusAnswer> {
  return host.json<StatusAnswer>('status');
}

/** The alarms that a log is forked. */
export async function forkAlarms(host: TestHost): Promise<readonly string[]> {
  const { alarms } = await statusOf(host);
  return alarms.filter(({ kind }) => kind === 'LOG_FORKED').map(({ kind, detail }) => `${kind} ${detail}`);
}

export async function servedOn(host: TestHost, subject: string): Promise<boolean> {
  const { code, stdout } = await host.ctl('recall', subject, '--json');
  return code === 0 && (JSON.parse(stdout) as { status: string }).status === 'served';
}

export async function charterHost(host: TestHost, of: string): Promise<{ status: string; end: number | null }> {
  const { hosts } = await host.json<{ hosts: { host: string; status: string; end: number | null }[] }>('charter');
  const found = hosts.find((one) => one.host === of);
  if (found === undefined) throw new Error(`${host.name} knows no host ${of}`);
  return found;
}

/** Fails the drill unless all of them believe the same. */
export async function rootsOf(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  const roots = await Promise.all(hosts.map(async (host) => (await statusOf(host)).root));
  const said = hosts.map(({ name }, index) => `${name} ${roots[index]?.slice(0, 12)}`).join(', ');
  context.check(new Set(roots).size === 1, `roots are equal: ${said}`);
  context.evidence(`roots are equal: ${said}`);
}

/** Waits until all of them believe the same, and tells it. */
export async function untilOneRoot(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  let said = '';
  await until('roots are equal', async () => {
    const roots = await Promise.all(hosts.map(async (host) => (await statusOf(host)).root));
    said = hosts.map(({ name }, index) => `${name} ${roots[index]?.slice(0, 12)}`).join(', ');
    return new Set(roots).size === 1 || said;
  });
  context.evidence(`roots are equal: ${said}`);
}

/** Waits until a host alarms nothing any more. */
export async function untilNoAlarm(host: TestHost, over: (alarm: string) => boolean = () => true): Promise<void> {
  await until(`${host.name} alarms nothing any more`, async () => {
    const left = (await alarmsOf(host)).filter(over);
    return left.length === 0 || left.join('; ');
  });
}

/** Every alarm that a host raises. */
export async function alarmsOf(host: TestHost): Promise<readonly string[]> {
  const { alarms } = await statusOf(host);
  return alarms.map(({ kind, detail }) => `${kind} ${detail}`);
}
