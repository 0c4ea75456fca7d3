/** A small mesh folded in memory, for tests of what is read out of a fold. Signatures are stood for by names. */
import { charterOf, type Charter } from '../../src/core/trust/charter.ts';
import { addOps, emptyTrustSet, trustHash } from '../../src/core/trust/set.ts';
import { makeBody, type Body, type BodyInput } from '../../src/core/event.ts';
import { createFold, foldLines, type Changed, type Fold, type FoldLine } from '../../src/core/fold/fold.ts';
import { renderViews, type ViewName, type ViewOptions } from '../../src/core/views/render.ts';
import { viewSourceOf } from '../../src/core/views/view-source.ts';
import { fakeLine } from './fold-builders.ts';
import { genesisOf, must } from './trust-ops.ts';

const genesis = genesisOf(undefined, {
  audiences: { operator: { includes: [] }, web: { includes: [] }, all: { includes: ['operator', 'web'] } },
});

/** Charter of the mesh: craig, the default classes, audiences operator, web, and all (which includes both). */
export function viewCharter(): { readonly charter: Charter; readonly trust: string } {
  const { set } = addOps(emptyTrustSet(genesis.id), [genesis]);
  return { charter: charterOf(set), trust: trustHash(set) };
}

export interface Said {
  readonly id: string;
  readonly body: Body;
  readonly line: FoldLine;
}

export interface ViewMesh {
  readonly fold: Fold;
  readonly lines: FoldLine[];
  /** Appends to `host`'s log; `signer` approves it when given. */
  readonly say: (
    host: string,
    input: BodyInput,
    about?: { readonly signer?: string; readonly session?: string },
  ) => Said;
  /** Folds everything said since the last call. */
  readonly settle: () => Changed;
}

export function viewMesh(): ViewMesh {
  const { charter, trust } = viewCharter();
  // Who approves is said by the name alone: these tests are about what is printed, not about signatures.
  const fold = createFold(charter, trust, { approve: (_, auth) => (auth.signer === 'craig' ? 'ok' : 'forged') });
  const seqs = new Map<string, number>();
  const lines: FoldLine[] = [];
  let folded = 0;
  let count = 0;
  return {
    fold,
    lines,
    say: (host, input, { signer, session = 's1' } = {}) => {
      count += 1;
      const seq = (seqs.get(host) ?? 0) + 1;
      seqs.set(host, seq);
      const stamp = {
        mesh: charter.meshId,
        host,
        session,
        at: '2026-07-27T15:04:05.678Z',
        nonce: count.toString(16).padStart(32, '0'),
      };
      const body = must(makeBody(input, stamp));
      const line = fakeLine({ log: host, seq }, body, signer === undefined ? {} : { sign: signer });
      lines.push(line);
      return { id: line.id, body, line };
    },
    settle: () => {
      const changed = foldLines(fold, lines.slice(folded));
      folded = lines.length;
      return changed;
    },
  };
}

/** The files of one audience after everything said is folded. */
export function rendered(mesh: ViewMesh, options: ViewOptions = {}): (name: ViewName) => string {
  mesh.settle();
  const files = renderViews(viewSourceOf(mesh.fold), options);
  return (name) => files.get(name) ?? '';
}

export function fact(subject: string, value: string, over: Partial<BodyInput> = {}): BodyInput {
  return { kind: 'assert', subject, value, home: 'file:infra/FLEET.md', ...over };
}

export function lesson(name: string, content: string, over: Partial<BodyInput> = {}): BodyInput {
  return { kind: 'lesson', subject: `lesson/${name}`, content, ...over };
}

/** Lines of a file that are rows. */
export function rows(file: string): readonly string[] {
  return file.split('\n').filter((line) => line.startsWith('- '));
}
