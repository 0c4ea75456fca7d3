/**
 * import of an export: what it holds and this home lacks is taken, line by line, as if a peer had sent it. Trust first, so
 * that the charter knows every host whose lines come next, and every purge. What is held here stays, whatever the backup
 * says; a backup of before a purge brings no body back. Done again it changes nothing, so a crash needs no repair.
 */
import { readState } from '../../core/fold/fold.ts';
import { charterOf, type Charter } from '../../core/trust/charter.ts';
import { addOps, keptOp, type Added } from '../../core/trust/set.ts';
import { printHostRequest } from '../../mesh/enrol/enrol.ts';
import { isOperatingError, OperatingError, printable } from '../../store/errors.ts';
import { forkProofOf } from '../../core/sync/fork-proof.ts';
import type { Answer, Params } from '../api/api-types.ts';
import { checkOpsAhead } from '../beliefs/approval-checks.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { backupOps, openBackup, type Backup, type BackupRemark } from './read-backup.ts';
import { restoreOneLog, type RestoredLog } from './restore-log.ts';

type Progress = (text: string) => void;

/** Remarks that are told one by one; the rest is counted. */
const remarksMax = 200;

/** Restores a backup into this home; with `dryRun` only says what it would do. Refuses BACKUP_FOREIGN. */
export async function restoreBackup(
  engine: Engine,
  { folder, dryRun = false }: Params<'restore'>,
  progress: Progress,
): Promise<Answer<'restore'>> {
  const backup = await openBackup(folder);
  requireMesh(backup, engine.meshId);
  const trust = await restoreTrust(engine, backup, { dryRun, progress });
  const remarks = [...backup.remarks, ...trust.remarks];
  const logs: Record<string, Omit<RestoredLog, 'remarks' | 'fork'>> = {};
  for (const host of backup.logs) {
    const member = trust.charter.hosts.get(host);
    if (member === undefined) {
      remarks.push({ what: `logs/${host}.jsonl`, why: 'the charter knows no host of that name' });
      continue;
    }
    progress(`restoring log ${host}`);
    const restore = (): Promise<RestoredLog> =>
      restoreOneLog(engine, backup, { member, purged: trust.charter.purges, dryRun }).catch(unreadableLog(host));
    // No append and no fetch meanwhile: both move the same branch.
    const { remarks: more, fork, ...done } = await engine.gate.alone(() => engine.alone(restore));
    const proof = fork === undefined ? undefined : forkProofOf(engine.meshId, member, fork);
    if (proof !== undefined && !dryRun) await engine.admitTrust([proof], engine.identity.host, progress);
    remarks.push(...more);
    logs[host] = done;
  }
  const all = Object.values(logs);
  return {
    kind: 'export',
    new: all.reduce((sum, one) => sum + one.new, 0),
    unchanged: all.reduce((sum, one) => sum + one.unchanged, 0),
    trust: { new: trust.new, unchanged: trust.unchanged },
    logs,
    skipped: shownRemarks(remarks),
    mesh: engine.meshId,
    host: engine.identity.host,
    root: readState(await engine.beliefs.fold()).root,
    ...standingOf(engine),
  };
}

function standingOf(engine: Engine): Pick<Answer<'restore'>, 'standing' | 'request'> {
  const { keys } = engine;
  const { host, address } = engine.identity;
  const sign = keys.sign.publicKey.text;
  const self = engine.charter().hosts.get(host);
  if (self?.sign.text === sign) return { standing: 'host' };
  if (self !== undefined) return { standing: 'archive' };
  return { standing: 'archive', request: printHostRequest({ host, sign, ssh: keys.ssh.publicKey.text, address }) };
}

/** One file that cannot be read costs that log, and no other. */
function unreadableLog(host: string): (error: unknown) => RestoredLog {
  return (error) => {
    if (!isOperatingError(error, 'IMPORT_UNREADABLE')) throw error;
    return { new: 0, unchanged: 0, mended: false, remarks: [{ what: `log ${host}`, why: error.message }] };
  };
}

function requireMesh({ folder, mesh }: Backup, ours: string): void {
  if (mesh === undefined || mesh === ours) return;
  throw new Refusal({
    code: 'BACKUP_FOREIGN',
    message: `${folder} is of mesh ${mesh}, this home of ${ours}; nothing was taken`,
    hint: 'another mesh needs another home: memctl --home DIR import …',
    exit: 6,
  });
}

interface RestoredTrust {
  readonly new: number;
  readonly unchanged: number;
  /** As it is now, or with `dryRun` as it would be. */
  readonly charter: Charter;
  readonly remarks: readonly BackupRemark[];
}

async function restoreTrust(
  engine: Engine,
  backup: Backup,
  { dryRun, progress }: { readonly dryRun: boolean; readonly progress: Progress },
): Promise<RestoredTrust> {
  const { ops, remarks } = trustOf(backup);
  const { set } = engine.trust();
  const fresh = ops.filter(({ id }) => keptOp(set, id) === undefined);
  const unchanged = ops.length - fresh.length;
  if (fresh.length === 0) return { new: 0, unchanged, charter: engine.charter(), remarks };
  const report = dryRun
    ? addOps(set, fresh, '', await checkOpsAhead(fresh))
    : await engine.admitTrust(fresh, engine.identity.host, progress);
  const charter = dryRun ? charterOf(report.set) : engine.charter();
  const added = report.added.length + report.unsupported.length;
  return { new: added, unchanged, charter, remarks: [...remarks, ...refusedOps(report)] };
}

/** A backup without a trust set is one all the same: this home may know every host of it. */
function trustOf(backup: Backup): ReturnType<typeof backupOps> {
  try {
    return backupOps(backup);
  } catch (error) {
    if (!(error instanceof OperatingError)) throw error;
    return { ops: [], remarks: [{ what: 'trust.jsonl', why: error.message }] };
  }
}

function refusedOps({ dropped, pending }: Added): readonly BackupRemark[] {
  // What a revocation made void later is no damage.
  const bad = dropped.filter(({ code }) => code !== 'VOID_FULL');
  return [
    ...bad.map(({ id, code, detail }) => ({ what: `trust op ${id.slice(0, 12)}`, why: `${detail} (${code})` })),
    ...pending.map((id) => ({ what: `trust op ${id.slice(0, 12)}`, why: 'it names ops that are not there' })),
  ];
}

function shownRemarks(remarks: readonly BackupRemark[]): readonly BackupRemark[] {
  const shown = remarks.slice(0, remarksMax).map(({ what, why }) => ({ what: printable(what), why: printable(why) }));
  const more = remarks.length - shown.length;
  return more === 0 ? shown : [...shown, { what: 'and more', why: `${more} more remarks` }];
}
