/** recall and observe as somebody asks for them who stands in a folder: their project, their rights to read. */
import { Refusal } from '../daemon/refusal.ts';
import type { Cli } from './context.ts';
import { configHere, projectHere, readingScope } from './here.ts';
import { readHomeHere, withHome, type RecalledJson, type Standing } from './recall-home.ts';

type Asker = Pick<Cli, 'call' | 'home'>;

/** The answer about a subject, with the home of its claim read now. Refuses as the method does, and SCOPE_INVALID. */
export async function recallHere(
  asker: Asker,
  subject: string,
  options: { readonly scope?: string; readonly check?: boolean },
): Promise<RecalledJson> {
  const standing = await standingHere(asker, options.check === true);
  const scope = readingScope(options.scope, standing.project);
  return withHome(await asker.call('recall', { subject, scope }), standing);
}

/**
 * The digest of a home as this host sees it now: `sha256:…`, or `missing` when it, or the section, is not there. Refuses
 * HOME_UNREADABLE: what could not be looked at was not observed.
 */
export async function digestHere(asker: Asker, ref: string, scope: string): Promise<string> {
  const standing = await standingHere(asker, false);
  const { host } = await asker.call('status', {});
  const reading = await readHomeHere(ref, standing, { scope, host });
  if (reading.checked) return reading.digest ?? 'missing';
  throw new Refusal({
    code: 'HOME_UNREADABLE',
    message: `cannot observe ${ref}: ${reading.reason ?? 'it was not read'}`,
    hint: 'stand in its project, or name its folder in config.toml, [homes] roots; --digest says what another tool saw',
    exit: 4,
  });
}

async function standingHere(asker: Asker, check: boolean): Promise<Standing> {
  const config = await configHere();
  const project = await projectHere('config' in config ? config.config : undefined);
  return { memd: asker.home(), config, project, check };
}
