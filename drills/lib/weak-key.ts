/** A key of small order, under which one signature fits every message, wherever a key can be put. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson, type JsonObject } from '../../src/crypto/canonical.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { signText, type Person } from './authority.ts';

/** The neutral point: a signature of R = S·B fits every message under it. */
const point = Buffer.from('01'.padEnd(64, '0'), 'hex');

function wire(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** As OpenSSH writes it. */
export function weakKeyText(): string {
  return `ssh-ed25519 ${Buffer.concat([wire(Buffer.from('ssh-ed25519')), wire(point)]).toString('base64')}`;
}

/** What `memctl host request` would print for a host with that key. */
export function weakHostLine(): string {
  const keys = canonicalJson({ address: '', sign: weakKeyText(), ssh: weakKeyText() });
  return `memd-host:weak:${Buffer.from(keys).toString('base64url')}`;
}

export interface PlantedOp {
  readonly id: string;
  readonly text: string;
}

/** A signer-add of that key, really approved. */
export function weakSignerOp(mesh: string, by: Person): PlantedOp {
  const body: JsonObject = {
    at: '2026-11-30T12:00:00.000Z',
    by: { key: by.fingerprint, signer: by.name },
    key: weakKeyText(),
    mesh,
    name: 'weak',
    nonce: randomBytes(16).toString('hex'),
    op: 'signer-add',
    prev: [mesh],
    scopes: ['*'],
  };
  const text = canonicalJson(body);
  const sshsig = signText(by, 'memd-trust', text);
  return {
    id: sha256Hex(text),
    text: canonicalJson({ auth: { key: by.fingerprint, signer: by.name, sshsig }, body }),
  };
}

/** Puts an op file into branch `trust` of a home in which nothing runs, by stock git. */
export function plantTrustFile(home: string, op: PlantedOp): void {
  const index = join(home, 'planted.index');
  const git = (args: readonly string[], input = ''): string =>
    execFileSync('git', ['--git-dir', join(home, 'repo.git'), '-c', 'user.name=m', '-c', 'user.email=m@x', ...args], {
      input,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', GIT_CONFIG_GLOBAL: '/dev/null', GIT_INDEX_FILE: index },
    }).trim();
  git(['read-tree', 'trust']);
  const blob = git(['hash-object', '-w', '--stdin'], `${op.text}\n`);
  git(['update-index', '--add', '--cacheinfo', `100644,${blob},${op.id.slice(0, 2)}/${op.id}.json`]);
  const commit = git(['commit-tree', git(['write-tree']), '-p', 'trust', '-m', 'planted']);
  git(['update-ref', 'refs/heads/trust', commit]);
  rmSync(index, { force: true });
}
