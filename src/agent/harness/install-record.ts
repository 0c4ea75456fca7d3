/** What was installed where, so that exactly that can be taken out again. Kept beside the launchers, not in a home. */
import path from 'node:path';
import type { HarnessName } from './harness.ts';
import type { Insertion } from './json-insert.ts';
import { readTextFile } from './settings-file.ts';

export interface InstalledFile {
  readonly file: string;
  readonly kind: 'settings' | 'skill' | 'instructions';
  /** True when there was no such file before. */
  readonly created: boolean;
  /** Folders that were made for it, outermost first. */
  readonly folders: readonly string[];
  /** What was put into the text that was there. */
  readonly insertions: readonly Insertion[];
}

export interface Install {
  readonly harness: HarnessName;
  readonly level: 'user' | 'project';
  readonly folder: string;
  readonly home: string;
  readonly launcher: string;
  readonly version: string;
  readonly files: readonly InstalledFile[];
}

export interface InstallRecord {
  readonly v: 1;
  readonly installs: readonly Install[];
}

/** Path of the record in the folder of the launchers. */
export function recordFile(folder: string): string {
  return path.join(folder, 'installed.json');
}

/** The record; an empty one where there is none or where it cannot be read: then files are gone by what stands in them. */
export function readRecord(folder: string): { readonly record: InstallRecord; readonly text: string | undefined } {
  const text = readTextFile(recordFile(folder));
  try {
    const record = JSON.parse(text ?? '') as Partial<InstallRecord>;
    if (record.v === 1 && Array.isArray(record.installs)) return { record: { v: 1, installs: record.installs }, text };
  } catch {
    // As if there were none.
  }
  return { record: { v: 1, installs: [] }, text };
}

/** True for the install of the same harness at the same place. */
export function isSamePlace(
  a: Pick<Install, 'harness' | 'level' | 'folder'>,
  b: Pick<Install, 'harness' | 'level' | 'folder'>,
): boolean {
  return a.harness === b.harness && a.level === b.level && a.folder === b.folder;
}
