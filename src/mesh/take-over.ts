/** Moving what was admitted from a quarantine into our repository, durably, before any branch may point at it. */
import { adoptPacks } from '../store/git/adopt-pack.ts';
import type { EncodedObject } from '../store/git/object-id.ts';
import { writeObjects } from '../store/git/objects.ts';
import type { Repository } from '../store/git/repository.ts';
import type { Quarantine } from './quarantine.ts';

/**
 * Form `loose`: writes exactly these objects. Form `pack`: moves the quarantine's pack in, the index last, since git sees
 * a pack by its index. Durable on return. Errors: `DISK_FAILED`, `DISK_FULL`.
 */
export async function takeOver(
  repository: Repository,
  quarantine: Quarantine,
  objects: readonly EncodedObject[] | 'pack',
): Promise<void> {
  if (objects === 'pack') await adoptPacks(repository, quarantine.view.objectDir);
  else await writeObjects(repository, objects);
}
