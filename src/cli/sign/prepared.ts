/**
 * Signing on a machine without a mesh. `--prepare F` writes F, exactly the bytes to sign, and F.txt for whoever carries it;
 * `ssh-keygen -Y sign` makes F.sig, or memctl does; `--finish F` hands both in.
 */
import { existsSync, writeFileSync } from 'node:fs';
import { eventNamespace, parseBody } from '../../core/event.ts';
import { jsonDepthMax } from '../../core/limits.ts';
import { isJsonObject, parseCanonical } from '../../crypto/canonical.ts';
import { sha256Hex } from '../../crypto/hash.ts';
import { armorToBlob } from '../../crypto/sshsig.ts';
import { systemCode } from '../../store/errors.ts';
import type { SignDraftJson, SignedJson, SignRequest } from '../../daemon/api/sign-json.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { readTextInput } from '../read-input.ts';
import { openSigningKey, signFile } from '../signing.ts';
import { terminalText } from '../terminal-text.ts';
import { describeDraft } from './draft-text.ts';
import { showDraft } from './flow.ts';

/** What `--prepare` wrote. */
export interface PreparedJson {
  readonly file: string;
  readonly id: string;
  readonly subject: string;
  readonly supersedes: readonly string[];
  readonly namespace: typeof eventNamespace;
  /** The stock command that signs it. */
  readonly command: string;
}

/** Drafts an event into a file. With a key, its signer's scopes are looked at first; its private half is not needed. */
export async function prepareFile(
  cli: Cli,
  request: SignRequest,
  { file, key }: { readonly file: string; readonly key: string | undefined },
): Promise<PreparedJson> {
  const signer = key === undefined ? undefined : await openSigningKey(key);
  const known = signer === undefined ? {} : { key: signer.publicKey.fingerprint };
  const draft = await cli.call('sign.draft', { ...request, ...known });
  const command = `ssh-keygen -Y sign -f KEY -n ${eventNamespace} ${file}`;
  writeNew(file, draft.body);
  writeNew(`${file}.txt`, `${terminalText(explain(draft, command))}\n`);
  const { supersedes = [] } = JSON.parse(draft.body) as { readonly supersedes?: readonly string[] };
  return { file, id: draft.id, subject: draft.subject, supersedes, namespace: eventNamespace, command };
}

function explain(draft: SignDraftJson, command: string): string {
  return [
    ...describeDraft(draft, Date.now()),
    '',
    'The file beside this one holds exactly these bytes. Not one of them may change, a newline at its end neither.',
    `Sign it with stock OpenSSH:  ${command}`,
    'or with memctl, which shows it first:  memctl sign --file FILE --key KEY',
    'Then bring FILE and FILE.sig back to any host of the mesh:  memctl sign --finish FILE',
  ].join('\n');
}

/** Hands in a prepared file and its signature. */
export async function finishFile(
  cli: Cli,
  { file, signature = `${file}.sig` }: { readonly file: string; readonly signature: string | undefined },
): Promise<SignedJson> {
  const body = await readPrepared(file);
  const blob = armorToBlob(await readTextInput(signature));
  if (blob.ok) return cli.call('sign.submit', { body, sshsig: blob.value });
  throw refused(`${signature} is no signature as ssh-keygen -Y sign writes it`, `sign ${file} again`);
}

/** Signs a prepared file where it lies: no home, no mesh and no network are needed. Leaves FILE.sig. */
export async function signPrepared(
  cli: Cli,
  { file, key, yes }: { readonly file: string; readonly key: string; readonly yes: boolean | undefined },
): Promise<{ id: string; file: string; signature: string }> {
  const body = await readPrepared(file);
  const signing = await openSigningKey(key);
  const signature = `${file}.sig`;
  if (existsSync(signature))
    throw refused(`${signature} is there already`, `hand it in, or remove it: rm ${signature}`);
  const draft = draftOf(file, body);
  showDraft(cli, draft, { yes });
  await askToSign({ message: 'Sign this?', yes, task: 'look at it and say yes' });
  await signFile(signing, { namespace: eventNamespace, file });
  return { id: draft.id, file, signature };
}

async function readPrepared(file: string): Promise<string> {
  const text = await readTextInput(file);
  if (!text.endsWith('\n')) return text;
  throw refused(
    `${file} ends with a newline: it is not as it was written`,
    'copy the file as it is; an editor may add one',
  );
}

/** What can be said of a prepared file without the mesh that it is for. */
function draftOf(file: string, text: string): SignDraftJson {
  const parsed = parseCanonical(text, { depthMax: jsonDepthMax });
  const body = parsed.ok && isJsonObject(parsed.value) ? parseBody(parsed.value) : undefined;
  if (body?.ok !== true) throw refused(`${file} is no event that memctl sign --prepare wrote`, 'prepare it again');
  const { subject, mesh, supersedes = [] } = body.value;
  const none = { replaces: [], withdrawnBy: [], agrees: [], leaves: [], questions: [] };
  return {
    body: text,
    id: sha256Hex(text),
    subject,
    mesh,
    signer: null,
    existing: false,
    unknown: supersedes,
    ...none,
  };
}

function writeNew(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const exists = systemCode(error) === 'EEXIST';
    throw refused(
      exists ? `${file} is there already; nothing is overwritten` : `cannot write ${file}: ${systemCode(error)}`,
      'name another file: --prepare FILE',
    );
  }
}

function refused(message: string, hint: string): Refusal {
  return new Refusal({ code: 'INPUT_UNREADABLE', message, hint, exit: 2 });
}
