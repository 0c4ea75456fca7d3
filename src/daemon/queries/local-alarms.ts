/** Alarms that are facts of this host: cut logs, rewound branches, faults of this home, what peers tried, charter conflicts. */
import type { Engine, LocalFault } from '../engine.ts';
import type { LogCut } from '../beliefs/log-book.ts';
import { cutSentence } from './incomplete.ts';

/** What `status` and a notification have in common. */
export interface LocalAlarm {
  readonly kind: string;
  readonly detail: string;
  /** Host that it is about, as `status` tells it. */
  readonly host?: string;
  /** Its identity beside kind and host: item or op; '' for none. No spaces. */
  readonly about: string;
  /** Who is to blame, or whose fact it is: of another host's home nobody else knows. */
  readonly blames: string | null;
}

export function localAlarms(engine: Engine, cuts: readonly LogCut[]): LocalAlarm[] {
  const { beliefs } = engine;
  const self = engine.identity.host;
  const files = beliefs.fileFault();
  const faults = files === undefined ? beliefs.headsFaults() : [...beliefs.headsFaults(), files];
  const own = onceFull([...engine.faults(), ...faults.map(({ code, message }) => ({ kind: code, detail: message }))]);
  return [
    ...own.map((fault) => ({ ...fault, about: '', blames: self })),
    ...cuts.map((cut) => ({
      kind: cut.code === 'HOLE' ? 'WITHHELD' : 'LOG_CUT',
      host: cut.log,
      detail: cutSentence(cut),
      about: `log:${cut.log}`,
      blames: self,
    })),
    ...divergenceAlarms(engine),
    ...engine.peerBook.alarms().map(({ code, detail, peer, log, op }) => ({
      kind: code,
      host: log ?? peer,
      detail: `${detail} (from ${peer})`,
      about: op === undefined ? '' : op.slice(0, 12),
      blames: log ?? peer,
    })),
    ...engine
      .charter()
      .conflicts.map(({ kind, item, detail }) => ({ kind, detail: `${item}: ${detail}`, about: item, blames: null })),
  ];
}

/** A full or read-only disk stops many things at once: that is one alarm, the first, which says what it means. */
function onceFull(faults: readonly LocalFault[]): readonly LocalFault[] {
  const isShut = ({ kind }: LocalFault): boolean => kind === 'DISK_FULL' || kind === 'DISK_READ_ONLY';
  const first = faults.find(isShut);
  return faults.filter((fault) => !isShut(fault) || fault === first);
}

/** Two hosts fold the same to different roots: a program or a disk is at fault on one of them, and neither knows which. */
function divergenceAlarms({ journal, identity }: Engine): LocalAlarm[] {
  const self = identity.host;
  return journal.divergences().map(({ host, n, at, theirs, ours }) => ({
    kind: 'DIVERGED',
    host,
    detail:
      `${self} and ${host} fold the same lines under the same trust set to different roots: ` +
      `${ours.slice(0, 12)} here, ${theirs.slice(0, 12)} in line ${n} of the view journal of ${host} (${at})`,
    about: self < host ? `${self}+${host}` : `${host}+${self}`,
    blames: null,
  }));
}
