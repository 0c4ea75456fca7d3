/** Checks of what starts memd and of what asks it: the service, and the hooks of agent harnesses. */
import { homedir } from 'node:os';
import { harnessNames } from '../../agent/harness/harness.ts';
import { installStatus, type InstallStatus } from '../../agent/harness/install-status.ts';
import { readHookLog } from '../../store/notes/hook-log.ts';
import { installContext, readSkill } from '../install-context.ts';
import { serviceStatus } from '../service/service.ts';
import { fine, wrong, type Check } from './checks.ts';

const service: Check = {
  name: 'service',
  look: async ({ home, env }) => {
    const {
      state,
      active,
      enabled,
      manager,
      linger,
      unit,
      home: served,
    } = await serviceStatus({ home: home.dir, env });
    if (state === 'not installed') return fine('not installed: memd runs when somebody starts it');
    if (served !== null && served !== home.dir) return fine(`it runs another home, ${served}`);
    if (state !== 'installed') return wrong(`${unit} is ${state}`, 'memctl service status');
    if (manager && active !== 'active')
      return wrong(`it is ${active}`, 'journalctl --user -u memd -n 50; systemctl --user start memd');
    if (manager && enabled !== true) return wrong('it is not enabled', 'memctl service install');
    if (linger === false) return wrong('it stops at logout and does not start at boot', 'loginctl enable-linger');
    return fine(manager ? 'installed and running' : 'installed; the service manager does not answer here');
  },
};

const hooks: Check = {
  name: 'hooks',
  look: ({ home, env }) => {
    const context = { ...installContext(home.dir), env };
    const found = harnessNames.map((harness) =>
      installStatus(context, { harness, level: 'user', folder: homedir() }, readSkill()),
    );
    const there = found.filter(({ state }) => state !== 'not installed');
    if (there.length === 0) return fine('in no harness: agent sessions start without memory');
    const bad = there.filter(({ state, selfTest }) => state !== 'installed' || selfTest?.ok === false);
    const said = there.map(describe).join(', ');
    return bad.length === 0 ? fine(said) : wrong(said, 'memctl agent status');
  },
};

function describe({ harness, state, selfTest }: InstallStatus): string {
  const works =
    selfTest === undefined ? '' : selfTest.ok ? ', works' : `, NOT WORKING: ${selfTest.line ?? selfTest.detail ?? ''}`;
  return `${harness} ${state}${works}`;
}

const weekMs = 7 * 86_400_000;

/** Looked at before the hooks are tried, which may add to it. */
const hookFailures: Check = {
  name: 'hook failures',
  inHome: true,
  look: ({ home, now }) => {
    const recent = readHookLog(home).filter(({ at }) => now - Date.parse(at) < weekMs);
    const last = recent.at(-1);
    if (last === undefined) return fine('none in 7 days');
    const { harness, event, outcome, why, at } = last;
    return wrong(
      `${recent.length} in 7 days did less than they should; the last, ${at}: ${harness} ${event} ${outcome}: ${why}`,
      `${home.hooksLog} has them all`,
    );
  },
};

export const aroundChecks: readonly Check[] = [service, hookFailures, hooks];
