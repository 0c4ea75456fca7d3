/**
 * Who this home is: `keys/identity.json`, beside the keys because it is as little derived as they are. Text for people;
 * written by init, host request and join.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { realDisk, replaceFile } from '../store/disk.ts';
import type { Home } from '../store/home.ts';
import { Refusal } from './refusal.ts';

export interface Identity {
  /** Slug of this host. */
  readonly host: string;
  /** Pinned mesh id, 64 hex; null between host request and join. */
  readonly mesh: string | null;
  /** ADDRESS:PORT for the ssh server; null chooses: loopback for a mesh of one, every interface after that. */
  readonly listen: string | null;
  /** ssh:// URL that others are told; '' when this host cannot be dialled. */
  readonly address: string;
  /**
   * The signer that this machine's operator signs as by default, and the private key file, never the key itself.
   * `unprotected`: init made that key without a passphrase.
   */
  readonly signer: { readonly name: string; readonly key: string; readonly unprotected: boolean } | null;
}

const identitySchema: z.ZodType<Identity> = z.strictObject({
  host: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/),
  mesh: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  listen: z.string().nullable(),
  address: z.string(),
  signer: z.strictObject({ name: z.string(), key: z.string(), unprotected: z.boolean() }).nullable(),
});

function identityFile(home: Home): string {
  return join(home.keys, 'identity.json');
}

/** Reads who this home is. Refuses NO_MESH when init, host request or join has not been run here. */
export function readIdentity(home: Home): Identity {
  const file = identityFile(home);
  if (!existsSync(file)) throw noMesh(`${home.dir} holds no memd host yet`);
  const parsed = identitySchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw noMesh(`${file} is not readable: ${z.prettifyError(parsed.error)}`);
}

/** True once init or host request has been run in this home. */
export function hasIdentity(home: Home): boolean {
  return existsSync(identityFile(home));
}

/** Writes it durably. */
export function writeIdentity(home: Home, identity: Identity): Promise<void> {
  const text = `${JSON.stringify(identitySchema.parse(identity), null, 2)}\n`;
  return replaceFile(realDisk, { file: identityFile(home), data: Buffer.from(text) });
}

function noMesh(message: string): Refusal {
  return new Refusal({
    code: 'NO_MESH',
    message,
    hint: 'a new mesh: memctl init --host NAME; to join one: memctl host request --host NAME',
  });
}
