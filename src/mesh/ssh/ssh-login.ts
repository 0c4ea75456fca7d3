/** Who may log in: user `memd` with the ssh key of a host of the charter, and nothing else. */
import type { AuthContext, Connection, PublicKeyAuthContext } from 'ssh2';
import { sshAuthAttemptsMax } from '../../core/limits.ts';
import type { CharterHost } from '../../core/trust/charter.ts';
import { verifyEd25519 } from '../../crypto/ed25519.ts';
import { printable } from '../../store/errors.ts';
import { sshUser } from './ssh-settings.ts';

/** Read for every decision, so that enrolment and revocation count at once. */
export type CharterHosts = () => ReadonlyMap<string, CharterHost>;

/** The host, as the charter has it now, that had this ssh key (blob) before a rekey; undefined for any other key. */
export type FormerHost = (blob: Uint8Array) => CharterHost | undefined;

export interface LoginHandlers {
  /** Without it a key of before is as good as a stranger's. */
  readonly formerHost?: FormerHost | undefined;
  readonly onLogin: (host: CharterHost) => void;
  /** A host that was revoked, or a key that it had before: it is let in to be told so, and gets nothing else. */
  readonly onRevoked: (host: CharterHost) => void;
  readonly onRefused: (detail: string) => void;
}

/** Questions without a signature ("would this key do?") and other methods that a client may try first. */
const preludesMax = 8;

/** Handles the login of one connection. Ends it after 3 refused keys. */
export function handleLogin(connection: Connection, hosts: CharterHosts, handlers: LoginHandlers): void {
  let preludes = 0;
  let refusals = 0;
  connection.on('authentication', (context: AuthContext) => {
    const host = context.method === 'publickey' ? knownHost(context, hosts(), handlers.formerHost) : undefined;
    const isPrelude = context.method !== 'publickey' || (host !== undefined && context.signature === undefined);
    if (isPrelude && ++preludes > preludesMax) return void connection.end();
    if (context.method !== 'publickey') return context.reject(['publickey']);
    if (host !== undefined && context.signature === undefined) return context.accept();
    if (host !== undefined && isSignedBy(context, host)) {
      if (refusalOf(hosts(), host) !== undefined) handlers.onRevoked(host);
      else handlers.onLogin(host);
      return context.accept();
    }
    handlers.onRefused(
      `user ${printable(context.username, 32)}: ${host === undefined ? 'not a key of this mesh' : 'bad signature'}`,
    );
    if (++refusals >= sshAuthAttemptsMax) connection.end();
    else context.reject(['publickey']);
  });
}

/** The charter host whose ssh key this is, or was; certificates and other algorithms never match. */
function knownHost(
  context: PublicKeyAuthContext,
  hosts: ReadonlyMap<string, CharterHost>,
  formerHost: FormerHost | undefined,
): CharterHost | undefined {
  if (context.username !== sshUser || context.key.algo !== 'ssh-ed25519') return undefined;
  for (const host of hosts.values()) {
    if (context.key.data.equals(host.ssh.blob)) return host;
  }
  return formerHost?.(context.key.data);
}

function isSignedBy(context: PublicKeyAuthContext, host: CharterHost): boolean {
  const { blob, signature } = context;
  const raw = host.ssh.raw32;
  return raw !== undefined && blob !== undefined && signature !== undefined && verifyEd25519(raw, blob, signature);
}

/** Why the charter, as it is now, lets this host with this ssh key do nothing; undefined while it may. */
export function refusalOf(hosts: ReadonlyMap<string, CharterHost>, host: CharterHost): string | undefined {
  const now = hosts.get(host.name);
  if (now === undefined) return 'this host is not enrolled in the mesh';
  if (now.ssh.text !== host.ssh.text) return replacedText(now);
  return now.status === 'revoked' ? revokedText(now) : undefined;
}

/** The same sentence wherever a machine with old keys of a host is met. */
export function replacedText({ name, op, by }: Pick<CharterHost, 'name' | 'op' | 'by'>): string {
  return `host ${name} has other keys since trust op ${op.slice(0, 12)} of signer ${by.signer}: whoever has the old ones is not that host any more (next: move that home aside, memctl host request --host NAME2)`;
}

/** The same sentence wherever a revoked host is met. */
export function revokedText({ name, op, by }: Pick<CharterHost, 'name' | 'op' | 'by'>): string {
  return `host ${name} was revoked by signer ${by.signer}, trust op ${op.slice(0, 12)}: the mesh takes nothing more from it`;
}
