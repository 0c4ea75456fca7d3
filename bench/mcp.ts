/** What an agent waits for: recall through `memctl mcp`, a real process with a real memd behind it, both eras. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { layHost } from '../drills/lib/hosts.ts';
import type { DrillProcess } from '../drills/lib/process.ts';
import { quantiles, timed, type Figure } from './lib/figures.ts';

const calls = 300;
const recallMsMax = 10;
const memctl = fileURLToPath(new URL('../bin/memctl', import.meta.url));

export async function benchMcp(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'memd-bench-'));
  const started: DrillProcess[] = [];
  try {
    const host = await layHost({ folder, name: 'alpha', started: (memd) => void started.push(memd) });
    await host.json('init', '--host', 'alpha', '--listen', host.address);
    await host.json('lesson', 'lesson/quote-paths', 'Quote every path');
    await host.start();
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      XDG_CONFIG_HOME: join(folder, 'config'),
      MEMD_HOME: host.home,
    };
    return [await recall('2025', env, folder), await recall('2026', env, folder)];
  } finally {
    for (const memd of started) await memd.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function recall(era: '2025' | '2026', env: Record<string, string>, cwd: string): Promise<Figure> {
  const mode = era === '2025' ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });
  const args = [memctl, 'mcp'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, cwd, stderr: 'ignore' }));
  const call = { name: 'recall', arguments: { subject: 'lesson/quote-paths' } };
  for (let warm = 0; warm < 20; warm += 1) await client.callTool(call);
  const figures: number[] = [];
  for (let index = 0; index < calls; index += 1) figures.push(await timed(() => client.callTool(call)));
  await client.close();
  const { p50, p95 } = quantiles(figures);
  return {
    what: `recall over MCP, era of ${era}, p50 of ${calls} (p95 ${p95.toFixed(2)} ms)`,
    value: p50,
    unit: 'ms',
    target: `≤ ${recallMsMax} ms`,
    met: p50 <= recallMsMax,
  };
}
