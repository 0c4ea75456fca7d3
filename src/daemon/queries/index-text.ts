/** index: the resident index of an audience, as its files have it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDiskShut } from '../../store/errors.ts';
import { renderViews, viewNames } from '../../core/views/render.ts';
import { viewSourceOf } from '../../core/views/view-source.ts';
import type { Answer, Params } from '../api/api-types.ts';
import type { Engine } from '../engine.ts';
import { Refusal } from '../refusal.ts';
import { viewsStand } from './view-edits.ts';

/** Brings the files up to date first. While the disk takes no writes they stay behind: then the text is made, and there is no path to give. */
export async function readIndex(engine: Engine, { audience = 'operator' }: Params<'index'>): Promise<Answer<'index'>> {
  const { audiences } = engine.charter();
  if (!audiences.has(audience)) {
    throw new Refusal({
      code: 'AUDIENCE_UNKNOWN',
      message: `there is no audience ${audience} in this mesh`,
      hint: `known: ${[...audiences.keys()].join(', ')}`,
      exit: 7,
    });
  }
  const { beliefs, home } = engine;
  await beliefs.settle();
  const isSigned = engine.purger.isDone() && beliefs.headsFault() === undefined;
  if (!viewsStand(home, audience, isSigned)) {
    beliefs.touchFiles();
    await beliefs.settle();
  }
  const fault = beliefs.fileFault();
  if (fault !== undefined && !isDiskShut(fault)) throw fault;
  const [markdown, json] = viewNames;
  if (fault !== undefined) {
    const cache = beliefs.viewCache(audience);
    const files = renderViews(viewSourceOf(await beliefs.fold()), { audience, cache });
    return { path: null, markdown: files.get(markdown) ?? '', json: files.get(json) ?? '' };
  }
  const folder = join(home.views, audience);
  const path = join(folder, markdown);
  return { path, markdown: readFileSync(path, 'utf8'), json: readFileSync(join(folder, json), 'utf8') };
}
