/** What a host could do to its own log with its own key, and what a disk could do to anybody's: for tests only. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLogWithGit } from '../../drills/lib/check-log.ts';
import { lineMessage, linkOf, parseLine } from '../../src/core/line.ts';
import { segmentPath } from '../../src/core/segments.ts';
import { encodeBase64 } from '../../src/crypto/base64.ts';
import { canonicalJson, type JsonObject } from '../../src/crypto/canonical.ts';
import { signEd25519 } from '../../src/crypto/ed25519.ts';
import { sha256Hex } from '../../src/crypto/hash.ts';
import { homePaths } from '../../src/store/home/home.ts';
import { readKeys } from '../../src/store/home/keys.ts';

/** A line to forge: any body, with any approval, or of a version that does not exist yet. */
export interface Forged {
  readonly body: JsonObject;
  readonly auth?: { readonly key: string; readonly signer: string; readonly sshsig: string };
  readonly v?: number;
}

/** A body of this host as its own memd would stamp it; `fields` may say anything else. */
export function stamped(home: string, fields: JsonObject): JsonObject {
  const { host, mesh } = identityOf(home);
  const stamp = { at: '2026-11-30T12:00:00.000Z', host, mesh, nonce: randomBytes(16).toString('hex'), session: 'test' };
  return { ...stamp, ...fields };
}

/** Signs and appends lines to the own log of a home in which nothing runs, whatever they say. @returns the event ids. */
export function forgeLines(home: string, forged: readonly Forged[]): string[] {
  const { host, mesh } = identityOf(home);
  const { key } = readKeys(homePaths(home)).sign;
  const lines = ownLines(home, host);
  const last = lines.at(-1) === undefined ? undefined : parseLine(lines.at(-1) ?? '', mesh);
  let prev = last?.ok === true ? last.value.link : mesh;
  const ids = forged.map(({ body, auth, v = 1 }) => {
    const seq = lines.length + 1;
    const id = sha256Hex(canonicalJson(body));
    const authHash = auth === undefined ? null : sha256Hex(canonicalJson({ ...auth }));
    const link = linkOf({ auth: authHash, id, log: host, mesh, prev, seq, v });
    const sig = encodeBase64(signEd25519(key, lineMessage(link)));
    lines.push(
      canonicalJson({ ...(auth === undefined ? {} : { auth: { ...auth } }), body, log: host, prev, seq, sig, v }),
    );
    prev = link;
    return id;
  });
  replaceLog(home, host, `${lines.join('\n')}\n`);
  return ids;
}

function ownLines(home: string, host: string): string[] {
  try {
    return readLogWithGit(home, host);
  } catch {
    return [];
  }
}

function identityOf(home: string): { readonly host: string; readonly mesh: string } {
  return JSON.parse(readFileSync(join(home, 'keys', 'identity.json'), 'utf8')) as { host: string; mesh: string };
}

/** Puts a branch at a new commit with this content as its one segment, by stock git; nobody is asked. */
export function replaceLog(home: string, log: string, content: string | Uint8Array): void {
  const [top = '', middle = '', file = ''] = segmentPath(0).split('/');
  const git = (args: readonly string[], input: string | Uint8Array = ''): string =>
    execFileSync('git', ['--git-dir', join(home, 'repo.git'), ...args], {
      input,
      encoding: 'utf8',
      env: committer,
    }).trim();
  const blob = git(['hash-object', '-w', '--stdin'], content);
  const inner = git(['mktree'], `100644 blob ${blob}\t${file}\n`);
  const outer = git(['mktree'], `040000 tree ${inner}\t${middle}\n`);
  const root = git(['mktree'], `040000 tree ${outer}\t${top}\n`);
  const ref = `refs/heads/log/${log}`;
  const parent = git(['for-each-ref', '--format=%(objectname)', ref]);
  const commit = git(['commit-tree', root, ...(parent === '' ? [] : ['-p', parent]), '-m', 'forged']);
  git(['update-ref', ref, commit]);
}

const committer = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'forger',
  GIT_AUTHOR_EMAIL: 'forger@example.org',
  GIT_COMMITTER_NAME: 'forger',
  GIT_COMMITTER_EMAIL: 'forger@example.org',
};
