/** The three forms of a home, taken apart. The format's own grammar has passed already; this is about what each part is. */
import { isHome } from '../../core/body-fields.ts';

export type HomeReference =
  | { readonly form: 'file'; readonly host: string | null; readonly path: string; readonly anchor: string | null }
  | { readonly form: 'git'; readonly repository: string; readonly path: string; readonly ref: string }
  | { readonly form: 'https'; readonly url: string };

/** Undefined for what is no home. Pure. */
export function parseHomeReference(text: string): HomeReference | undefined {
  if (!isHome(text)) return undefined;
  if (text.startsWith('https://')) return { form: 'https', url: text };
  if (text.startsWith('git:')) return gitReference(text);
  const match = /^(?:([a-z][a-z0-9-]{0,30}):)?file:([^#]+)(?:#(.+))?$/s.exec(text);
  const path = match?.[2];
  return path === undefined ? undefined : { form: 'file', host: match?.[1] ?? null, path, anchor: match?.[3] ?? null };
}

/** REF is what follows the last `@`, PATH what follows the last `:` before it, REPO the rest. */
function gitReference(text: string): HomeReference | undefined {
  const match = /^git:(.+):([^:]+)@([^@:]+)$/s.exec(text);
  const [, repository, path, ref] = match ?? [];
  if (repository === undefined || path === undefined || ref === undefined) return undefined;
  return { form: 'git', repository, path, ref };
}
