/** What several host commands read and ask. */
import { fingerprintWords, parseSshPublicKey } from '../../crypto/ssh-key.ts';
import { parseHostRequest, type HostRequest } from '../../mesh/enrol/enrol.ts';
import { Refusal } from '../../daemon/refusal.ts';
import { askToSign } from '../confirm.ts';
import type { Cli } from '../context.ts';

/** The line that a host printed. Refuses BAD_REQUEST. */
export function readRequest(line: string): HostRequest {
  const request = parseHostRequest(line.trim());
  if (request.ok) return request.value;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `this is not a host request: ${request.detail}`,
    hint: 'paste the whole line that memctl host request printed, in quotes',
    exit: 2,
  });
}

/** Has a person compare the fingerprint. Refuses OP_REFUSED, SIGN_FAILED. */
export async function confirmHost(cli: Cli, request: HostRequest, yes: boolean): Promise<void> {
  const key = parseSshPublicKey(request.sign);
  if (!key.ok)
    throw new Refusal({
      code: 'OP_REFUSED',
      message: `host ${request.host} has no usable key: ${key.detail}`,
      exit: 6,
    });
  cli.output.note(`host ${request.host} at ${request.address || '(cannot be dialled)'}`);
  cli.output.note(`fingerprint ${key.value.fingerprint}`);
  cli.output.note(`read aloud: ${fingerprintWords(key.value.fingerprint)}`);
  await askToSign({ message: 'Does the new host show the same words?', yes, task: 'compare the fingerprint' });
}

/** The number of a line as a person gave it. Refuses BAD_REQUEST. */
export function seqOf(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--at ${text} is not the number of a line`,
    hint: 'memctl log HOST shows them; 0 lets nothing stand',
    exit: 2,
  });
}
