/** Notes beside the view journals: peers fetch them with those. */
import { notifyReadMs } from '../../core/limits.ts';
import type { Engine } from '../engine.ts';
import type { NotesPort } from './notifying.ts';

export function notesOf({ journal, peers }: Engine): NotesPort {
  return {
    read: journal.readNotes,
    write: journal.writeNotes,
    refresh: async () => void (await peers.cycle({ deadlineMs: notifyReadMs, busy: 'wait', views: true })),
  };
}
