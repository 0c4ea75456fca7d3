/** What the parts of a repair share: the home that it holds, where damage goes, and what is told at the end. */
import type { Config } from '../config/config-file.ts';
import { openDamagedFolder, type DamagedFolder } from '../../store/home/damaged-folder.ts';
import type { Repository } from '../../store/git/repository.ts';
import type { Home } from '../../store/home/home.ts';
import type { LeftJson, RepairedJson } from '../api/api-types.ts';

export interface RepairOptions {
  readonly home: Home;
  readonly now: Date;
  /** What this home once held and nobody has any more is given up. */
  readonly acceptLoss: boolean;
  readonly config: Config | undefined;
  readonly progress: (text: string) => void;
}

export interface RepairRoom extends RepairOptions {
  readonly aside: DamagedFolder;
  readonly repaired: readonly RepairedJson[];
  readonly left: readonly LeftJson[];
  /** Something is as it should be again. */
  readonly done: (what: string, detail: string) => void;
  /** Something is not, and a person must do this. */
  readonly leave: (what: string, detail: string, fix: string) => void;
  /** Objects that were damaged, by their ids: as long as one of them is not here again, what is not there proves nothing. */
  readonly lost: Set<string>;
  /** Objects were lost of which not even the ids are known. */
  lostUnknown: boolean;
}

/** A room with a repository in it. */
export interface RepositoryRoom extends RepairRoom {
  readonly repository: Repository;
  /** Peers are not asked: without keys none lets this host in. */
  readonly offline: boolean;
}

export function openRepairRoom(options: RepairOptions): RepairRoom {
  const repaired: RepairedJson[] = [];
  const left: LeftJson[] = [];
  return {
    ...options,
    aside: openDamagedFolder(options.home, options.now),
    repaired,
    left,
    done: (what, detail) => void repaired.push({ what, detail }),
    leave: (what, detail, fix) => void left.push({ what, detail, fix }),
    lost: new Set(),
    lostUnknown: false,
  };
}
