/** The three steps of every command that signs for the mesh: draft the op where the trust set is, sign it here, hand it in. */
import { homePaths } from '../store/home/home.ts';
import { readIdentity } from '../daemon/identity.ts';
import { Refusal } from '../daemon/refusal.ts';
import type { Params } from '../daemon/api/api-types.ts';
import type { Call, Cli } from './context.ts';
import { openSigningKey, signWithKey } from './signing.ts';

export interface ApprovalRequest {
  readonly op: Params<'trust.draft'>['op'];
  readonly args: Params<'trust.draft'>['args'];
  /** Private key file; undefined takes the one that init remembered. */
  readonly keyFile: string | undefined;
  /** Shows a person what is about to be signed, the canonical body, and throws when they do not want it. */
  readonly review?: (call: Call, body: string) => Promise<void>;
}

/**
 * Signs one trust op with a person's key and adds it to the trust set. The home is not held while the passphrase is typed:
 * an op that was drafted before another one arrived counts all the same. @returns its id.
 */
export async function approveOp(cli: Cli, request: ApprovalRequest): Promise<string> {
  const key = await openSigningKey(request.keyFile ?? rememberedKey(cli));
  const { op, args } = request;
  const body = await cli.session(async (call) => {
    const draft = await call('trust.draft', { op, args, key: key.publicKey.fingerprint });
    await request.review?.(call, draft.body);
    return draft.body;
  });
  const sshsig = await signWithKey(key, 'memd-trust', body);
  const { id } = await cli.call('trust.submit', { body, sshsig });
  return id;
}

/** The private key file that this host signs with by default. Refuses SIGN_FAILED where there is none. */
export function rememberedKey(cli: Cli): string {
  const { signer } = readIdentity(homePaths(cli.home()));
  if (signer) return signer.key;
  throw new Refusal({
    code: 'SIGN_FAILED',
    message: 'this host remembers no signing key: the mesh was started on another one',
    hint: 'name the private key of a signer: --key FILE',
    exit: 6,
  });
}
