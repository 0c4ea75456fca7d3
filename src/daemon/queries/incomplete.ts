/** Logs that are not whole on this host: what they said beyond is in no answer, which is not the same as never said. */
import type { StateDatabase } from '../../store/database/database.ts';
import type { Engine } from '../engine.ts';
import type { LogCut } from '../beliefs/log-book.ts';

/** Where logs are cut here, as the database has it. */
export function cutsIn(database: StateDatabase): readonly LogCut[] {
  return JSON.parse(database.meta()['cuts'] ?? '[]') as LogCut[];
}

/** The cut in a sentence, with host and line. */
export function cutSentence({ log, seq, code, detail }: LogCut): string {
  return `log ${log} is cut at line ${seq} (${code}): ${detail}`;
}

/** One sentence for every log that is cut or says less than it did; empty when all are whole. */
export function incompleteLogs(engine: Engine, database: StateDatabase): string[] {
  const rewound = engine.beliefs.headsFaults().map(({ message }) => message);
  return [...cutsIn(database).map(cutSentence), ...rewound];
}
