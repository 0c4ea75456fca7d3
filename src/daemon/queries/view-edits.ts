/** Hand edits of generated views: found, kept beside, and told until somebody has dealt with them. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { manifestName } from '../../core/manifest.ts';
import { viewNames } from '../../core/views/render.ts';
import type { Home } from '../../store/home/home.ts';
import { viewFileState } from '../../store/view-files.ts';

/** One sentence for every view that differs from what memd wrote, and for every edit that was set aside before. */
export function editedViews(home: Home, audiences: Iterable<string>): string[] {
  return [...audiences].flatMap((audience) => [...changedViews(home, audience), ...keptEdits(home, audience)]);
}

/** True when every view of the audience stands as memd wrote it, and its manifest too, if memd may sign one now. */
export function viewsStand(home: Home, audience: string, isSigned: boolean): boolean {
  const names = isSigned ? [...viewNames, manifestName] : viewNames;
  return names.every((name) => viewFileState(home, audience, name) === 'as written');
}

function changedViews(home: Home, audience: string): string[] {
  const edited = [...viewNames, manifestName].filter((name) => viewFileState(home, audience, name) === 'edited');
  return edited.map(
    (name) => `${join(home.views, audience, name)} was edited by hand; memctl index writes it again and keeps the edit`,
  );
}

function keptEdits(home: Home, audience: string): string[] {
  const folder = join(home.views, audience);
  const kept = existsSync(folder) ? readdirSync(folder).filter((name) => /\.edited-[0-9a-f]{8}$/.test(name)) : [];
  return kept.map(
    (name) =>
      `a hand edit of a generated view is kept as ${join(folder, name)}: say it with memctl, then remove the file`,
  );
}
