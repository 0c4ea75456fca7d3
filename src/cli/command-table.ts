import type { Command } from 'commander';
import type { Cli } from './context.ts';

export interface CommandModule {
  makeCommand(cli: Cli): Command;
}

const claim = () => import('./commands/claim.ts');

/** Name → module. A module is loaded only when its command is the one that was asked for, or for the whole help. */
export const commandTable: ReadonlyMap<string, () => Promise<CommandModule>> = new Map<
  string,
  () => Promise<CommandModule>
>([
  ['init', () => import('./commands/init.ts')],
  ['host', () => import('./commands/host.ts')],
  ['leave', () => import('./commands/leave.ts')],
  ['join', () => import('./commands/join.ts')],
  ['charter', () => import('./commands/charter.ts')],
  ['signer', () => import('./commands/signer.ts')],
  ['policy', () => import('./commands/policy.ts')],
  ['audience', () => import('./commands/audience.ts')],
  ['sign', () => import('./commands/sign.ts')],
  ['unlock', () => import('./commands/unlock.ts')],
  ['class', () => import('./commands/class.ts')],
  ['purge', () => import('./commands/purge.ts')],
  ['assert', async () => ({ makeCommand: (await claim()).makeAssert })],
  ['lesson', async () => ({ makeCommand: (await claim()).makeLesson })],
  ['decide', async () => ({ makeCommand: (await claim()).makeDecide })],
  ['question', async () => ({ makeCommand: (await claim()).makeQuestion })],
  ['observe', () => import('./commands/observe.ts')],
  ['propose', async () => ({ makeCommand: (await claim()).makePropose })],
  ['retract', async () => ({ makeCommand: (await claim()).makeRetract })],
  ['append', () => import('./commands/append.ts')],
  ['recall', () => import('./commands/recall.ts')],
  ['log', () => import('./commands/log.ts')],
  ['search', () => import('./commands/search.ts')],
  ['why', () => import('./commands/why.ts')],
  ['blame', () => import('./commands/blame.ts')],
  ['show', () => import('./commands/show.ts')],
  ['parks', () => import('./commands/parks.ts')],
  ['status', () => import('./commands/status.ts')],
  ['index', () => import('./commands/index.ts')],
  ['replay', () => import('./commands/replay.ts')],
  ['diff', () => import('./commands/diff.ts')],
  ['verify', () => import('./commands/verify.ts')],
  ['fetch', () => import('./commands/fetch.ts')],
  ['maintain', () => import('./commands/maintain.ts')],
  ['rebuild', () => import('./commands/rebuild.ts')],
  ['serve', () => import('./commands/serve.ts')],
  ['mcp', () => import('./commands/mcp.ts')],
  ['export', () => import('./commands/export.ts')],
  ['doctor', () => import('./commands/doctor.ts')],
  ['notify', () => import('./commands/notify.ts')],
  ['service', () => import('./commands/service.ts')],
  ['import', () => import('./commands/import.ts')],
  ['hook', () => import('./commands/hook.ts')],
  ['agent', () => import('./commands/agent.ts')],
]);
