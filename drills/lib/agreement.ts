/** Hosts that hold the same believe the same, byte for byte. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { viewNames, type ViewName } from '../../src/core/views/render.ts';
import type { DrillContext } from './drill.ts';
import type { TestHost } from './hosts.ts';

/** A view file as it is right now: memd answers before it has written what it answers. */
export function viewOn({ home }: TestHost, view: ViewName): string {
  return readFileSync(join(home, 'views', 'operator', view), 'utf8');
}

/** Requires equal roots and views, byte for byte. */
export async function requireEqual(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  const roots = await Promise.all(hosts.map(async (host) => (await host.json<{ root: string }>('status')).root));
  context.check(new Set(roots).size === 1, `roots are equal: ${roots.join(' ')}`);
  // Views are written behind the answers; who asks for the index has them written first.
  for (const host of hosts) await host.json('index');
  for (const view of viewNames) {
    const files = hosts.map((host) => viewOn(host, view));
    context.check(new Set(files).size === 1, `${view} is the same, byte for byte, on all hosts`);
  }
  context.evidence(`root ${roots[0]?.slice(0, 16)} on all three; ${viewNames.join(', ')} byte-identical`);
}
