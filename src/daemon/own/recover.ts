/**
 * A host that goes on after its log was forked, its keys were lost or stolen, or its home was copied. A signer gives it new
 * keys and says by a pin up to where its log stands; here the home takes the keys, leaves what stood behind the pin, and says
 * again what was said on any branch. Every step can be done again: what a crash interrupts is done at the next look.
 */
import type { Logger } from 'pino';
import { pinCuts, pinFor, settlesFork } from '../../core/recovery.ts';
import type { Charter, CharterHost } from '../../core/trust/charter.ts';
import { printHostRequest } from '../../mesh/enrol/enrol.ts';
import type { Heads } from '../../mesh/heads.ts';
import { createLocks } from '../../mesh/fetch/log-lock.ts';
import { peersOf } from '../../mesh/node.ts';
import type { ObjectGate } from '../../mesh/object-gate.ts';
import { listBranches } from '../../store/logs/fork-branches.ts';
import { isOperatingError } from '../../store/errors.ts';
import type { HostKeys } from '../../store/home/keys.ts';
import { createNextKeys, forgetLastSshKey, readLastSshKey, takeNextKeys } from '../../store/home/next-keys.ts';
import type { AppendedJson, RecoverJson } from '../api/api-types.ts';
import type { AppendQueue } from './append-queue.ts';
import type { Beliefs } from '../beliefs/beliefs.ts';
import type { LogCut } from '../beliefs/log-book.ts';
import { approvedBeyond, dropBranch, unsaid, type BranchPlace } from './branches.ts';
import type { LocalFault } from '../engine.ts';
import type { Machine } from './machine.ts';
import type { Transaction } from './own-log.ts';
import { Refusal } from '../refusal.ts';
import { requireNotRevoked } from './revoked-host.ts';

type Progress = (text: string) => void;

export interface Recovery {
  /** Makes the new keys, and says what a signer is to decide on. Refuses HOST_REVOKED. */
  readonly prepare: () => Promise<RecoverJson>;
  /** Puts this home under what the trust set says of logs and of its own keys. Never throws for what can be done later. */
  readonly settle: (progress: Progress) => Promise<void>;
  /** How many events stand on branches of this host that count no more, and nowhere else. */
  readonly unsaid: () => Promise<number>;
  /** Appends what this host said on branches that count no more. */
  readonly sayAgain: () => Promise<readonly AppendedJson[]>;
  /** A peer said which trust set it holds. */
  readonly heard: (heads: Heads) => void;
  /** Key that this host shows to who dials it: the old one until some peer knows of the new. */
  readonly serverKey: () => string;
  readonly faults: () => readonly LocalFault[];
}

export interface RecoveryOptions extends BranchPlace {
  readonly host: string;
  /** What it told of itself when it was made. */
  readonly address: string;
  readonly beliefs: Beliefs;
  readonly gate: ObjectGate;
  readonly queue: AppendQueue<Transaction, readonly AppendedJson[]>;
  readonly machine: Machine;
  readonly keys: () => HostKeys;
  /** Told that the key files are other ones. */
  readonly onKeys: () => Promise<void>;
  readonly log: Logger | undefined;
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { home, host, trust, beliefs, keys, log } = options;
  const self = (): CharterHost | undefined => trust().charter.hosts.get(host);
  /** Hash of the trust set that each peer said it holds. */
  const told = new Map<string, string>();
  let looked = '';
  const locks = createLocks();

  const takeKeys = async (): Promise<boolean> => {
    const named = self();
    if (named === undefined || !(await takeNextKeys(home, named))) return false;
    await options.machine.bind();
    await options.onKeys();
    log?.info({ host }, 'this host has new keys');
    return true;
  };
  const showNewKey = async (): Promise<void> => {
    const { charter, kept, hash } = trust();
    const known = peersOf(charter, host).length === 0 || [...told.values()].some((one) => one === kept || one === hash);
    if (!known || readLastSshKey(home) === undefined) return;
    await forgetLastSshKey(home);
    await options.onKeys();
  };
  const sayAgain = async (): Promise<readonly AppendedJson[]> => {
    const again = unsaid(options, await beliefs.fold(), host);
    return again.length === 0 ? [] : options.queue.submit({ events: [], session: 'recover', again });
  };
  const settle = async (progress: Progress): Promise<void> => {
    await dropCut(options, progress);
    await takeKeys();
    await showNewKey();
    if (isActive(self(), keys())) {
      try {
        if (settlesFork(trust(), host)) await sayAgain();
        looked = await sayApproved(options, looked);
      } catch (error) {
        // The disk is full, or the own log is not whole yet: the next look does it.
        if (!(error instanceof Refusal) && !isOperatingError(error)) throw error;
        log?.warn({ err: error }, 'cannot say again yet what was said behind a cut');
      }
    }
  };
  return {
    prepare: () => prepare(options),
    sayAgain,
    unsaid: async () => unsaid(options, await beliefs.fold(), host).length,
    settle: (progress) => locks.run('settle', () => settle(progress)),
    heard(heads) {
      told.set(heads.host, heads.trust.kept ?? heads.trust.hash);
      void showNewKey().catch((error: unknown) => log?.error({ err: error }, 'cannot give up the old key'));
    },
    serverKey: () => (readLastSshKey(home) ?? keys().ssh).pem,
    faults: () => keyFaults(self(), keys(), host),
  };
}

function isActive(self: CharterHost | undefined, keys: HostKeys): boolean {
  return self?.status === 'active' && self.sign.text === keys.sign.publicKey.text;
}

/** Lines behind a pin leave their log while nobody appends, fetches or is served. */
async function dropCut(options: RecoveryOptions, progress: Progress): Promise<void> {
  const { beliefs, trust, gate, queue } = options;
  await beliefs.fold();
  const due = (): readonly LogCut[] => pinCuts(beliefs.book.cuts(), trust().charter.hosts);
  if (due().length === 0) return;
  await gate.alone(() =>
    queue.alone(async () => {
      let dropped = false;
      for (const cut of due()) {
        progress(`log ${cut.log}: leaving what stands behind line ${cut.seq - 1}`);
        dropped = (await dropBranch(options, cut)) || dropped;
      }
      if (dropped) await beliefs.rebuild(progress);
    }),
  );
}

/** Approved bodies that no usable line carries. `looked`: what was looked through last; reading it again finds the same. */
async function sayApproved(options: RecoveryOptions, looked: string): Promise<string> {
  const { beliefs, trust, queue, home } = options;
  const fold = await beliefs.fold();
  const { book } = beliefs;
  const { charter, hash } = trust();
  const beyond = book.logs().flatMap((log) => {
    const [held, used] = [book.tip(log)?.seq ?? 0, book.head(log)?.seq ?? 0];
    return held > used && log !== options.host ? [{ log, from: used + 1, held }] : [];
  });
  const branches = [...charter.hosts.keys()].map((name) => listBranches(home, name).map(({ lines }) => lines.length));
  const now = JSON.stringify([hash, beyond, branches]);
  if (now === looked) return now;
  const again = await approvedBeyond(options, fold, beyond);
  if (again.length > 0) await queue.submit({ events: [], session: 'recover', again });
  return now;
}

async function prepare(options: RecoveryOptions): Promise<RecoverJson> {
  const { home, host, trust, beliefs, meshId } = options;
  const fold = await beliefs.fold();
  const { charter } = trust();
  const self = charter.hosts.get(host);
  if (self === undefined || self.status === 'revoked')
    throw new Refusal({
      code: self === undefined ? 'NOT_ENROLLED' : 'HOST_REVOKED',
      message: `host ${host} is ${self === undefined ? 'not in the charter' : 'revoked'}: no keys bring it back`,
      hint: 'move this home aside and enrol the machine under a new name: memctl host request --host NAME2',
      exit: 6,
    });
  const next = await createNextKeys(home, host);
  const [sign, ssh] = [next.sign.publicKey, next.ssh.publicKey];
  const pin = pinFor(beliefs.book, charter, host);
  return {
    host,
    line: printHostRequest({ host, sign: sign.text, ssh: ssh.text, address: self.address || options.address }),
    fingerprint: sign.fingerprint,
    sign: sign.text,
    ssh: ssh.text,
    pin: pin ?? { seq: 0, link: meshId },
    fork: self.fork,
    held: beliefs.book.tip(host)?.seq ?? 0,
    branches: listBranches(home, host).map(({ from, link, lines }) => ({ from, link, lines: lines.length })),
    unsaid: unsaid(options, fold, host).length,
  };
}

/** A home whose keys are not those of the charter is not that host any more. Pure. */
function keyFaults(self: CharterHost | undefined, keys: HostKeys, host: string): readonly LocalFault[] {
  if (self === undefined || self.status === 'revoked') return [];
  const fault = keyFault(self, keys, host);
  if (fault !== undefined) return [{ kind: 'KEYS_REPLACED', detail: fault }];
  return self.status === 'forked' ? [{ kind: 'HOST_FORKED', detail: forkedText(self) }] : [];
}

function keyFault(self: CharterHost, keys: HostKeys, host: string): string | undefined {
  if (self.sign.text === keys.sign.publicKey.text) return undefined;
  return `host ${host} has other keys since trust op ${self.op.slice(0, 12)} of signer ${self.by.signer}: this home is not that host any more`;
}

function forkedText({ name, fork, end }: CharterHost): string {
  return `host ${name} signed two lines of seq ${fork}: its log ends at line ${end} on every host until a signer settles it`;
}

/** Refuses NOT_ENROLLED, HOST_REVOKED, KEYS_REPLACED, HOST_FORKED: a line that cannot count must not look like one that was taken. */
export function requireOwnWord(charter: Charter, host: string, keys: HostKeys): void {
  requireNotRevoked(charter, host);
  const self = charter.hosts.get(host);
  if (self === undefined)
    throw new Refusal({
      code: 'NOT_ENROLLED',
      message: `the charter of this mesh names no host ${host}: a line of it would count nowhere`,
      hint: 'reading works; to write, a signer adds it: memctl host add LINE (memctl import DIR prints the line again); where that is done: memctl fetch',
      exit: 6,
    });
  const replaced = keyFault(self, keys, host);
  if (replaced !== undefined)
    throw new Refusal({
      code: 'KEYS_REPLACED',
      message: replaced,
      hint: 'move this home aside and enrol the machine under a new name: memctl host request --host NAME2',
      exit: 6,
    });
  if (self.status !== 'forked') return;
  throw new Refusal({ code: 'HOST_FORKED', message: forkedText(self), hint: 'memctl host recover', exit: 6 });
}
