/** Notes in a file of this home, for nobody but this host. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { realDisk, replaceFile } from '../../store/disk.ts';
import { systemCode } from '../../store/errors.ts';
import type { Engine } from '../engine.ts';
import type { NotesPort } from './notifying.ts';

export function notesOf({ home, identity }: Engine): NotesPort {
  const file = join(home.dir, 'notified.json');
  return {
    read: async (host) => {
      if (host !== identity.host) return undefined;
      try {
        return readFileSync(file, 'utf8');
      } catch (error) {
        if (systemCode(error) === 'ENOENT') return null;
        throw error;
      }
    },
    write: async (text) => void (await replaceFile(realDisk, { file, data: Buffer.from(text) })),
    refresh: async () => undefined,
  };
}
