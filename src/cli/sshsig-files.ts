/**
 * Approvals as files for stock OpenSSH: allowed_signers, the signed message, one armored signature for each approval, and
 * the command that verifies them. Nothing of ours is needed to run it.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalsJson, SignerJson } from '../daemon/api/api-types.ts';
import { requireFreeFolder } from '../daemon/backup/export.ts';
import { Refusal } from '../daemon/refusal.ts';
import { diskError } from '../store/errors.ts';
import { shellWord } from './shell-word.ts';

/** What approvals are made for. memd-handoff is no statement of the mesh. */
const namespaces = 'memd-event,memd-trust';

/** How an allowed_signers file of ours begins. */
export const allowedSignersHead = '# signers of memd mesh ';

/** Characters of base64 in a line, as `ssh-keygen -Y sign` writes them. */
const armorColumns = 70;

/** One line of an allowed_signers file. Pure. */
export function allowedSignerLine(name: string, publicKey: string): string {
  return `${name} namespaces="${namespaces}" ${publicKey}`;
}

/**
 * An allowed_signers file for `ssh-keygen -Y verify`. Signers that were revoked stand in it as comments: the file knows no
 * log positions, and what they approved before stands only by those. Pure.
 */
export function allowedSignersText(mesh: string, signers: readonly SignerJson[]): string {
  const lines = signers.map(({ name, publicKey, status, revocations }) => {
    const line = allowedSignerLine(name, publicKey);
    const by = revocations.map(({ op, by }) => `by ${by.signer}, trust op ${op}`).join('; ');
    return status === 'active' ? line : `# revoked ${by}: ${line}`;
  });
  return [`${allowedSignersHead}${mesh}`, ...lines, ''].join('\n');
}

/** The armor that `ssh-keygen` writes around a signature. Pure. */
export function armored(sshsig: string): string {
  const lines = sshsig.match(new RegExp(`.{1,${armorColumns}}`, 'g')) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

/** One approval on disk. */
export interface WrittenApproval {
  readonly signer: string;
  readonly key: string;
  /** What this host makes of it. */
  readonly verdict: string;
  readonly file: string;
  /** Verifies it, in a shell; null for a key that no signer of the mesh has. */
  readonly command: string | null;
}

export interface WrittenApprovals {
  readonly id: string;
  readonly dir: string;
  readonly approvals: readonly WrittenApproval[];
}

/** Writes the files into a folder that is not there yet, or is empty. Refuses FOLDER_IN_USE, NOT_SIGNED. */
export function writeApprovals(dir: string, held: ApprovalsJson): WrittenApprovals {
  const { id, approvals, message } = held;
  if (approvals.length === 0 || message === '') throw notSigned(held);
  requireFreeFolder(dir);
  const files = approvals.map(({ signer }, at) => {
    const nth = approvals.slice(0, at).filter((one) => one.signer === signer).length;
    return `${signer}${nth === 0 ? '' : `-${nth + 1}`}.sig`;
  });
  try {
    mkdirSync(dir, { recursive: true });
    writeFileSync(join(dir, 'message'), message);
    writeFileSync(join(dir, 'allowed_signers'), keysOf(held));
    for (const [at, { sshsig }] of approvals.entries()) writeFileSync(join(dir, files[at] ?? ''), armored(sshsig));
  } catch (error) {
    throw diskError(error, 'write', dir);
  }
  return {
    id,
    dir,
    approvals: approvals.map(({ signer, key, verdict, publicKey }, at) => {
      const file = files[at] ?? '';
      const command = publicKey === null ? null : verifyCommand(dir, { signer, file, namespace: held.namespace });
      return { signer, key, verdict, file: join(dir, file), command };
    }),
  };
}

/** A revoked signer's key too: whether the approval stands is the fold's to say, that it was made is shown by this. */
function keysOf({ approvals }: ApprovalsJson): string {
  const lines = approvals.flatMap(({ signer, publicKey, signerStatus }) => {
    if (publicKey === null) return [`# ${signer}: no signer of this mesh has the key of this approval`];
    const note = signerStatus === 'active' ? [] : [`# ${signer} is ${signerStatus} now`];
    return [...note, allowedSignerLine(signer, publicKey)];
  });
  return [...new Set(lines), ''].join('\n');
}

/** The stock command, as a shell takes it. Pure. */
function verifyCommand(
  dir: string,
  { signer, file, namespace }: { readonly signer: string; readonly file: string; readonly namespace: string },
): string {
  const path = (name: string): string => shellWord(join(dir, name));
  return `ssh-keygen -Y verify -f ${path('allowed_signers')} -I ${signer} -n ${namespace} -s ${path(file)} < ${path('message')}`;
}

function notSigned({ id, message }: ApprovalsJson): Refusal {
  const why = message === '' ? 'what was approved is not held here' : 'no line carries an approval of it';
  return new Refusal({
    code: 'NOT_SIGNED',
    message: `${id} cannot be verified by a signature: ${why}`,
    hint: `memctl show ${id.slice(0, 12)}`,
    exit: 7,
  });
}
