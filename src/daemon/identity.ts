/**
 * Who this home is: `keys/identity.json`, beside the keys because it is as little derived as they are. Text for people;
 * written by init, host request and join.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isSlug } from '../core/id.ts';
import { parsePlainJson } from '../crypto/plain-json.ts';
import { realDisk, replaceFile } from '../store/disk.ts';
import { OperatingError, printable } from '../store/errors.ts';
import type { Home } from '../store/home/home.ts';
import { firstIssue } from './api/first-issue.ts';
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
  /** The signer that this machine's operator signs as by default, and the private key file, never the key itself. */
  readonly signer: { readonly name: string; readonly key: string } | null;
}

const identitySchema: z.ZodType<Identity> = z.strictObject({
  host: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/),
  mesh: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable(),
  listen: z.string().nullable(),
  address: z.string(),
  signer: z.object({ name: z.string(), key: z.string() }).nullable(),
});

/** Refuses BAD_REQUEST for a name that no host can have. */
export function requireHostName(host: string): void {
  if (isSlug(host)) return;
  throw new Refusal({
    code: 'BAD_REQUEST',
    message: `--host ${printable(host, 100)} is not a name like alpha-2`,
    hint: 'a-z, 0-9 and -, a letter first, at most 31',
    exit: 2,
  });
}

function identityFile(home: Home): string {
  return join(home.keys, 'identity.json');
}

/**
 * Reads who this home is. Refuses NO_MESH when init, host request or join has not been run here; fails with KEY_DAMAGED
 * when the file says nothing that can be used (a crash of the disk can leave it empty).
 */
export function readIdentity(home: Home): Identity {
  const file = identityFile(home);
  if (!existsSync(file)) throw noMesh(`${home.dir} holds no memd host yet`);
  const parsed = identitySchema.safeParse(parseJson(readFileSync(file, 'utf8')));
  if (parsed.success) return parsed.data;
  throw new OperatingError('KEY_DAMAGED', `${file} does not say who this host is: ${firstIssue(parsed.error)}`, {
    hint: 'restore it from a backup of the home; the keys beside it and repo.git are not touched',
  });
}

function parseJson(text: string): unknown {
  const read = parsePlainJson(text);
  return read.ok ? read.value : undefined;
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
