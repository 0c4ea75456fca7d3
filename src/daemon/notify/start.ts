/** The notifications of a running memd, and trying a notifier out. */
import type { Logger } from 'pino';
import { printable } from '../../store/errors.ts';
import type { Answer, Params } from '../api/api-types.ts';
import type { Engine, LocalFault } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { testMessage } from './message.ts';
import { notesOf } from './notes-port.ts';
import { createNotifying, type Notifying } from './notifying.ts';
import { sendMessage, type Send } from './send.ts';

const running = new WeakMap<Engine, Notifying>();

/** Creates them; nothing is told before `ready`. */
export function startNotifying(engine: Engine, log: Logger): Notifying {
  const notifying = createNotifying({
    engine,
    notifiers: engine.config?.notifiers ?? [],
    notes: notesOf(engine),
    send: sendMessage,
    log,
  });
  running.set(engine, notifying);
  notifying.start().catch((error: unknown) => log.error({ err: error }, 'cannot notify'));
  return notifying;
}

/** Notifiers of this memd that fail; none without one. */
export function notifierFaults(engine: Engine): readonly LocalFault[] {
  return running.get(engine)?.faults() ?? [];
}

/** Sends a test message by one notifier or all, and says what came of each. Refuses NOTIFIER_UNKNOWN. */
export async function tryNotifiers(
  engine: Engine,
  { name }: Params<'notify.test'>,
  send: Send = sendMessage,
): Promise<Answer<'notify.test'>> {
  const all = engine.config?.notifiers ?? [];
  const chosen = all.filter((one) => name === undefined || one.name === name);
  if (chosen.length === 0) throw unknownNotifier(engine, name);
  const { host } = engine.identity;
  const results = await Promise.all(
    chosen.map(async (one) => {
      const message = testMessage({ mesh: engine.meshId, host, at: new Date().toISOString() }, one.name);
      const reason = await send(one, message).then(
        () => undefined,
        (error: unknown) => printable(error instanceof Error ? error.message : String(error), 200),
      );
      const { name: notifier, kind } = one;
      return { notifier, kind, ok: reason === undefined, ...(reason === undefined ? {} : { reason }) };
    }),
  );
  return { results };
}

function unknownNotifier({ config }: Engine, name: string | undefined): Refusal {
  const names = (config?.notifiers ?? []).map((one) => one.name);
  return new Refusal({
    code: 'NOTIFIER_UNKNOWN',
    message: name === undefined ? 'this host has no notifier' : `this host has no notifier ${name.slice(0, 40)}`,
    hint:
      names.length > 0
        ? `known: ${names.join(', ')}; memd reads config.toml at its start`
        : `add [[notifier]] to ${config?.file ?? 'config.toml'} and restart memd: docs/config.md`,
    exit: 7,
  });
}
