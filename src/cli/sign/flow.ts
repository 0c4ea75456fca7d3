/** From what a person wants to say to a signed event: draft where the logs are, look, sign here, hand in. */
import { eventNamespace } from '../../core/event.ts';
import { homePaths } from '../../store/home/home.ts';
import type { SignDraftJson, SignedJson, SignRequest } from '../../daemon/api/sign-json.ts';
import { rememberedKey } from '../approve.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';
import { shortId } from '../output.ts';
import { openSigningKey, signWithKey } from '../signing.ts';
import { terminalText } from '../terminal-text.ts';
import { describeDraft } from './draft-text.ts';
import { openWindowFor, type Window } from '../../daemon/unlock-window.ts';

export interface SignOptions {
  /** Key file; undefined takes the one that init remembered. */
  readonly key: string | undefined;
  /** Do not ask; the passphrase is asked for all the same. */
  readonly yes: boolean | undefined;
}

/**
 * Signs one event and appends it. The home is held while it is drafted and while it is handed in, and not while a person
 * looks and types: what changes meanwhile is said afterwards.
 */
export async function signEvent(cli: Cli, request: SignRequest, options: SignOptions): Promise<SignedJson> {
  const key = await openSigningKey(options.key ?? rememberedKey(cli));
  const { fingerprint } = key.publicKey;
  const draft = await cli.call('sign.draft', { ...request, key: fingerprint });
  showDraft(cli, draft, options);
  await askToSign({ message: 'Sign this?', yes: options.yes, task: 'look at it and say yes' });
  const window = await openWindowFor(homePaths(cli.home()), key.publicKey, Date.now());
  if (window !== undefined) cli.output.note(describeWindow(window));
  const sshsig = await signWithKey(key, eventNamespace, draft.body, window?.agent);
  return cli.call('sign.submit', { body: draft.body, sshsig, key: fingerprint });
}

function describeWindow({ until, confirm }: Window): string {
  return `a window is open until ${until}: your agent signs${confirm ? ', and asks you' : ' without asking'}`;
}

/** A question about something that cannot be seen is none: --quiet hides the draft only from those who were not asked. */
export function showDraft(cli: Cli, draft: SignDraftJson, { yes }: Pick<SignOptions, 'yes'>): void {
  const text = describeDraft(draft, Date.now()).join('\n');
  if (yes === true) cli.output.note(text);
  else process.stderr.write(`${terminalText(text)}\n`);
}

/** Lines that tell a person what became of it. Pure. */
export function describeSigned(signed: SignedJson): string[] {
  const { kind, subject, id, signer, host, seq, status, supersedes, notes } = signed;
  const place = host === null ? '' : ` (${host}:${seq})`;
  return [
    `signed ${kind} ${subject} ${shortId(id)} by ${signer}${place}, ${status}`,
    ...(supersedes.length === 0 ? [] : [`  supersedes ${supersedes.map(shortId).join(', ')}`]),
    ...notes.map((note) => `  note: ${note}`),
  ];
}
