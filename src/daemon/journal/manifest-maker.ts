/**
 * The manifests of this host: what its view files are at this moment, signed. The line is the newest of its journal when
 * that says exactly this; until one does, a line outside the journal, so that files and manifest are never apart.
 */
import type { Fold } from '../../core/fold/fold.ts';
import { isCosignedBy, manifestText } from '../../core/manifest.ts';
import { sameStatement, statementOf } from '../../core/view-statement.ts';
import { buildViewLine, hashesDigest, outsideN, type Statement, type ViewLine } from '../../core/view-line.ts';
import { signEd25519, type SigningKey } from '../../crypto/ed25519.ts';
import type { LogBook } from '../beliefs/log-book.ts';

/** By audience, by name: sha256 of a view file. */
export type ViewHashes = ReadonlyMap<string, ReadonlyMap<string, string>>;

export interface ManifestMaker {
  /** By audience: the text of its manifest; undefined while this host must not sign what it believes. */
  readonly make: (
    fold: Fold,
    book: Pick<LogBook, 'logs' | 'head'>,
    files: ViewHashes,
  ) => ReadonlyMap<string, string> | undefined;
  /** True when the journal of a host has a line since that belongs into the manifests. */
  readonly isNews: (host: string) => boolean;
}

export interface ManifestMakerOptions {
  /** Slug of this host. */
  readonly host: string;
  /** The key as of now: a rekey replaces it. */
  readonly key: () => SigningKey;
  /** Newest line of a host's journal, as far as it is here. */
  readonly newest: (host: string) => ViewLine | undefined;
  /** False while bodies that are purged are in this home, or the home was rewound: then nothing is signed. */
  readonly maySign: () => boolean;
  readonly now?: () => Date;
}

/** What the manifests hold, and the key that it was signed with. */
interface Made {
  readonly line: ViewLine;
  readonly key: SigningKey;
  readonly cosigned: ReadonlyMap<string, string>;
}

export function createManifestMaker(options: ManifestMakerOptions): ManifestMaker {
  const { host, key, newest, maySign, now = () => new Date() } = options;
  let current: Made | undefined;
  const lineFor = (statement: Statement, views: ViewLine['views']): ViewLine => {
    const says = (line: ViewLine): boolean => sameStatement(line, statement) && sameViews(line.views, views);
    const published = newest(host);
    const signing = key();
    if (published !== undefined && says(published)) return published;
    if (current !== undefined && current.key === signing && says(current.line)) return current.line;
    const { mesh } = statement;
    const parts = { ...statement, at: now().toISOString(), host, n: outsideN, prev: mesh, views };
    return buildViewLine(parts, (message) => signEd25519(signing, message));
  };
  return {
    make(fold, book, files) {
      const statement = maySign() ? statementOf(fold, book) : undefined;
      if (statement === undefined) return (current = undefined);
      const views = new Map([...files].map(([audience, hashes]) => [audience, hashesDigest(hashes)]));
      const line = lineFor(statement, views);
      const { hosts } = fold.charter;
      const cosigned = new Map<string, string>();
      for (const [name, other] of hosts) {
        const theirs = name === host ? undefined : newest(name);
        if (theirs !== undefined && sameStatement(theirs, line) && isCosignedBy(other, line, theirs.cosign))
          cosigned.set(name, theirs.cosign);
      }
      current = { line, key: key(), cosigned };
      const text = (audience: string): string =>
        manifestText({ audience, files: files.get(audience) ?? new Map(), line, cosigned });
      return new Map([...files.keys()].map((audience) => [audience, text(audience)]));
    },
    isNews(name) {
      if (current === undefined) return maySign();
      const line = newest(name);
      if (line === undefined || !sameStatement(line, current.line)) return false;
      if (name !== host) return current.cosigned.get(name) !== line.cosign;
      return line.text !== current.line.text && sameViews(line.views, current.line.views);
    },
  };
}

function sameViews(left: ViewLine['views'], right: ViewLine['views']): boolean {
  return left.size === right.size && [...left].every(([audience, digest]) => right.get(audience) === digest);
}
