/** Hosts that hold the same believe the same, byte for byte. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { viewNames } from '../../src/core/views/render.ts';
import type { DrillContext } from './drill.ts';
import type { TestHost } from './hosts.ts';

/** Requires equal roots and views, byte for byte. */
export async function requireEqual(context: DrillContext, hosts: readonly TestHost[]): Promise<void> {
  const roots = await Promise.all(hosts.map(async (host) => (await host.json<{ root: string }>('status')).root));
  context.check(new Set(roots).size === 1, `roots are equal: ${roots.join(' ')}`);
  for (const view of viewNames) {
    const files = hosts.map((host) => readFileSync(join(host.home, 'views', 'operator', view)));
    context.check(
      files.every((file) => files[0]?.equals(file)),
      `${view} is the same, byte for byte, on all hosts`,
    );
  }
  context.evidence(`root ${roots[0]?.slice(0, 16)} on all three; ${viewNames.join(', ')} byte-identical`);
}
