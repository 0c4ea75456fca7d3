/** injected.jsonl: what each session was told, so that it can be told again exactly, and compared with what holds now. */
import { injectedBytesMax } from '../../core/limits.ts';
import { appendBounded, readBounded } from './bounded-log.ts';
import type { Home } from '../home/home.ts';

/** One text that was handed to a harness. `given` and the fold input are missing where memd was not there to say them. */
export interface InjectedRecord {
  /** ISO time, of this host's clock. */
  readonly at: string;
  readonly harness: string;
  readonly event: string;
  readonly source: string;
  readonly session: string;
  /** '' for the main agent. */
  readonly agent: string;
  /** Project scope, '*' for what holds everywhere, null where rows of every scope were shown. */
  readonly scope: string | null;
  readonly audience: string;
  /** Status line and notes: what the text says beside the views. */
  readonly head: readonly string[];
  /** sha256 of the text. */
  readonly view: string;
  readonly trust?: string;
  readonly heads?: Readonly<Record<string, { readonly seq: number; readonly link: string }>>;
  /** Subject, scope, id of the served claim or null, 1 when it was stale then. */
  readonly given?: readonly (readonly [string, string, string | null, 0 | 1])[];
}

/** Appends one record; throws system errors. */
export function noteInjected(home: Pick<Home, 'injected'>, record: InjectedRecord): void {
  appendBounded(home.injected, JSON.stringify(record), injectedBytesMax);
}

/** Records of one session, oldest first. */
export function injectedOf(home: Pick<Home, 'injected'>, session: string): readonly InjectedRecord[] {
  const named = `"session":${JSON.stringify(session)}`;
  return readBounded(home.injected).flatMap((line) => {
    if (!line.includes(named)) return [];
    try {
      const record = JSON.parse(line) as InjectedRecord;
      return record.session === session ? [record] : [];
    } catch {
      return [];
    }
  });
}
