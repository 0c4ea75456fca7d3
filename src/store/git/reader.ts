/**
 * Reading objects: loose ones in process, packed ones through one `git cat-file` child per session. Sizes come first, so
 * that nothing oversized is ever read; the content is hashed, so that damage is found where it is (git itself does not
 * check the hash when it prints an object). Works on our repository and through a quarantine alike.
 */

import fs from 'node:fs';
import path from 'node:path';
import { inflateSync } from 'node:zlib';
import { releaseBuffer } from '../buffers.ts';
import { startChild, type RunningChild, failedChild } from '../child.ts';
import { diskError, isOperatingError, systemCode, type OperatingError } from '../errors.ts';
import { isOid, objectId, type ObjectType } from './object-id.ts';
import { gitRequest, type ObjectView } from './repository.ts';

/** What an object is, before it is read. */
export interface ObjectInfo {
  readonly type: string;
  readonly bytes: number;
}

/** Why an object could not be had. `DAMAGED` names the file when there is one. */
export interface ObjectFault {
  readonly ok: false;
  readonly code: 'MISSING' | 'TOO_LARGE' | 'WRONG_TYPE' | 'DAMAGED';
  readonly oid: string;
  readonly detail: string;
}

/** An object that was read and whose content has the id that was asked for. */
export interface ReadObject {
  readonly ok: true;
  readonly oid: string;
  readonly type: string;
  readonly content: Buffer;
}

/** What is asked of every object in one `read`. */
export interface ReadLimits {
  readonly type: ObjectType;
  readonly bytesMax: number;
}

/**
 * One reading session; one call at a time. At most one git child, started when a packed object is first asked for (and
 * again after damage that ended it).
 */
export interface ObjectReader {
  /** Answers in the order asked; null = not there (or, for a loose object, not readable: `read` says why). */
  info(oids: readonly string[]): Promise<(ObjectInfo | null)[]>;
  /** Answers in the order asked. Sizes are checked before any content is read. */
  read(oids: readonly string[], limits: ReadLimits): Promise<(ReadObject | ObjectFault)[]>;
  close(): Promise<void>;
}

/** Header of a loose object at most: `commit 18446744073709551615\0`. */
const headerBytesMax = 32;
/** Times that git is started again after damage ended it; damage beyond that is not told apart object by object. */
const restartsMax = 64;
/** Objects asked of the child in one go: bounds what waits in its pipe. */
const batchObjectsMax = 1_024;

function loosePath(view: ObjectView, oid: string): string | undefined {
  for (const folder of [view.objectDir, ...view.alternates]) {
    const file = path.join(folder, oid.slice(0, 2), oid.slice(2));
    if (fs.statSync(file, { throwIfNoEntry: false }) !== undefined) return file;
  }
  return undefined;
}

function fault(code: ObjectFault['code'], oid: string, detail: string): ObjectFault {
  return { ok: false, code, oid, detail };
}

/** Reads a loose object that is not larger than `bytesMax`; undefined when there is no such file. */
function readLoose(view: ObjectView, oid: string, bytesMax: number): ReadObject | ObjectFault | undefined {
  let file = '';
  let full: Buffer;
  try {
    const found = loosePath(view, oid);
    if (found === undefined) return undefined;
    file = found;
    const raw = fs.readFileSync(file);
    if (raw.length === 0) return fault('DAMAGED', oid, `${file} is empty`);
    full = inflateSync(raw, { maxOutputLength: bytesMax + headerBytesMax });
  } catch (error) {
    const code = systemCode(error);
    // A folder in its place holds nothing of it; a pack may.
    if (code === 'ENOENT' || code === 'EISDIR') return undefined;
    if (code === 'ERR_BUFFER_TOO_LARGE') return fault('TOO_LARGE', oid, `more than ${bytesMax} bytes`);
    if (code.startsWith('Z_')) return fault('DAMAGED', oid, `${file} does not decompress (${code})`);
    throw diskError(error, 'read', file === '' ? `object ${oid} in ${view.objectDir}` : file);
  }
  return checkLoose(full, { oid, file, bytesMax });
}

function checkLoose(full: Buffer, expected: { oid: string; file: string; bytesMax: number }): ReadObject | ObjectFault {
  const { oid, file, bytesMax } = expected;
  const end = full.indexOf(0);
  const header = /^([a-z]{3,6}) (\d{1,15})$/.exec(end < 0 ? '' : full.toString('latin1', 0, end));
  const content = full.subarray(end + 1);
  if (header === null || Number(header[2]) !== content.length)
    return fault('DAMAGED', oid, `${file} has no valid object header`);
  const type = header[1] ?? '';
  if (objectId(type, content) !== oid) return fault('DAMAGED', oid, `${file} holds other content than its name says`);
  if (content.length > bytesMax)
    return fault('TOO_LARGE', oid, `${content.length} bytes, at most ${bytesMax} are allowed`);
  return { ok: true, oid, type, content };
}

/** A `git cat-file --batch-command --buffer` child: requests in, answers in the same order. */
interface CatFile {
  info(oids: readonly string[]): Promise<(ObjectInfo | null)[]>;
  contents(wanted: readonly { readonly oid: string; readonly info: ObjectInfo }[]): Promise<Buffer[]>;
  close(): Promise<void>;
}

function startCatFile(view: ObjectView, deadlineMs: number | undefined): CatFile {
  const args = ['cat-file', '--batch-command', '--buffer'];
  const request = gitRequest(view, { args, ...(deadlineMs === undefined ? {} : { deadlineMs }) });
  const child = startChild(request);
  const source = byteSource(child, args);
  const ask = (verb: string, oids: readonly string[]): void => {
    child.stdin.write(`${oids.map((oid) => `${verb} ${oid}\n`).join('')}flush\n`);
  };
  return {
    async info(oids) {
      ask('info', oids);
      const infos: (ObjectInfo | null)[] = [];
      for (const oid of oids) infos.push(parseInfo(await source.line(), oid));
      return infos;
    },
    async contents(wanted) {
      ask(
        'contents',
        wanted.map(({ oid }) => oid),
      );
      const contents: Buffer[] = [];
      for (const { info } of wanted) {
        await source.line();
        contents.push(await source.bytes(info.bytes));
        await source.bytes(1);
      }
      return contents;
    },
    async close() {
      child.stdin.end();
      child.stdout.resume();
      await child.done.catch(() => undefined);
    },
  };
}

function parseInfo(line: string, oid: string): ObjectInfo | null {
  const match = /^([0-9a-f]{40}) ([a-z]+) (\d+)$/.exec(line);
  if (match === null || match[1] !== oid) return null;
  return { type: match[2] ?? '', bytes: Number(match[3]) };
}

interface ByteSource {
  line(): Promise<string>;
  bytes(count: number): Promise<Buffer>;
}

/**
 * Pulls lines and exact byte counts out of a child's stdout, and gives each piece of it back as soon as it is used up.
 * Rejects when the child ends first.
 */
function byteSource(child: RunningChild, args: readonly string[]): ByteSource {
  const iterator = child.stdout[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let piece: Buffer = Buffer.alloc(0);
  let at = 0;
  const more = async (): Promise<void> => {
    const next = await iterator.next();
    if (next.done === true) throw failedChild({ command: 'git', args }, await child.done);
    releaseBuffer(piece);
    [piece, at] = [next.value, 0];
  };
  return {
    async line() {
      let line = '';
      for (;;) {
        const end = piece.indexOf(0x0a, at);
        line += piece.toString('latin1', at, end < 0 ? piece.length : end);
        at = end + 1;
        if (end >= 0) return line;
        await more();
      }
    },
    async bytes(count) {
      const all = Buffer.allocUnsafeSlow(count);
      for (let filled = 0; ;) {
        const taken = piece.copy(all, filled, at, at + count - filled);
        [filled, at] = [filled + taken, at + taken];
        if (filled === count) return all;
        await more();
      }
    },
  };
}

/** The git child of a session, started when it is first needed. */
interface PackedSource {
  /** Answers for one batch, in no particular order. */
  read(oids: readonly string[], limits: ReadLimits): Promise<(ReadObject | ObjectFault)[]>;
  info(oids: readonly string[]): Promise<(ObjectInfo | null)[]>;
  close(): Promise<void>;
}

function packedSource(view: ObjectView, deadlineMs: number | undefined): PackedSource {
  let catFile: CatFile | undefined;
  let restarts = 0;
  const close = async (): Promise<void> => {
    await catFile?.close();
    catFile = undefined;
  };
  /** git ends at the first damaged object of a batch: halving finds it, and all others are still read. */
  const read = async (
    oids: readonly string[],
    limits: ReadLimits,
    again = false,
  ): Promise<(ReadObject | ObjectFault)[]> => {
    catFile ??= startCatFile(view, deadlineMs);
    try {
      return await readPacked(catFile, oids, limits);
    } catch (error) {
      await close();
      if (!isGitDeath(error)) throw error;
      if (!again) restarts += 1;
      if (restarts > restartsMax) return oids.map((oid) => fault('DAMAGED', oid, error.message));
      // Where memory is short git calls an object corrupt: damage is what it finds a second time.
      if (oids.length <= 1)
        return again ? oids.map((oid) => fault('DAMAGED', oid, error.message)) : read(oids, limits, true);
      const half = Math.ceil(oids.length / 2);
      return [...(await read(oids.slice(0, half), limits)), ...(await read(oids.slice(half), limits))];
    }
  };
  return {
    read: (oids, limits) => read(oids, limits),
    info: (oids) => (catFile ??= startCatFile(view, deadlineMs)).info(oids),
    close,
  };
}

/**
 * git gave up by itself, or died of what it read (a pack on a bad disk is mapped memory that cannot be had). A child that
 * was killed, or that the machine had no room for, says nothing about the objects.
 */
function isGitDeath(error: unknown): error is OperatingError {
  return isOperatingError(error, 'CHILD_FAILED') && endedByItself.test(error.message) && !noMachine.test(error.message);
}

/** 128: git says so itself; 134, 135, 139: it crashed. */
const endedByItself = / exit code (?:128|134|135|139)\b/;
const noMachine = /Cannot allocate memory|[Oo]ut of memory|unable to create thread|Too many open files/;

/** Opens a reading session; call `close` when done. `deadlineMs` bounds the life of the git child, if one is needed. */
export function openReader(view: ObjectView, options: { deadlineMs?: number } = {}): ObjectReader {
  const packed = packedSource(view, options.deadlineMs);
  return {
    info: async (oids) => {
      const infos: (ObjectInfo | null)[] = [];
      for (const batch of batches(oids)) infos.push(...(await packed.info(batch)));
      return infos;
    },
    read: (oids, limits) => readAll(view, { oids, limits }, packed),
    close: () => packed.close(),
  };
}

async function readAll(
  view: ObjectView,
  request: { oids: readonly string[]; limits: ReadLimits },
  packed: PackedSource,
): Promise<(ReadObject | ObjectFault)[]> {
  const { oids, limits } = request;
  const answers = new Map<string, ReadObject | ObjectFault>();
  const others: string[] = [];
  for (const oid of oids) {
    if (answers.has(oid)) continue;
    const answer = isOid(oid) ? readLoose(view, oid, limits.bytesMax) : fault('MISSING', oid, 'not an object id');
    if (answer === undefined) others.push(oid);
    else answers.set(oid, answer);
  }
  for (const batch of batches(others)) {
    for (const answer of await packed.read(batch, limits)) answers.set(answer.oid, answer);
  }
  return oids.map((oid) => requireType(answers.get(oid) ?? fault('MISSING', oid, 'no answer'), limits.type));
}

async function readPacked(
  catFile: CatFile,
  oids: readonly string[],
  limits: ReadLimits,
): Promise<(ReadObject | ObjectFault)[]> {
  const infos = await catFile.info(oids);
  const answers: (ReadObject | ObjectFault)[] = [];
  const wanted: { oid: string; info: ObjectInfo }[] = [];
  oids.forEach((oid, index) => {
    const info = infos[index] ?? null;
    if (info === null) answers.push(fault('MISSING', oid, 'no such object'));
    else if (info.bytes > limits.bytesMax) answers.push(tooLarge(oid, info.bytes, limits.bytesMax));
    else wanted.push({ oid, info });
  });
  const contents = await catFile.contents(wanted);
  wanted.forEach(({ oid, info }, index) => {
    const content = contents[index] ?? Buffer.alloc(0);
    const intact = objectId(info.type, content) === oid;
    answers.push(
      intact
        ? { ok: true, oid, type: info.type, content }
        : fault('DAMAGED', oid, 'its packed content has another hash'),
    );
  });
  return answers;
}

function tooLarge(oid: string, bytes: number, bytesMax: number): ObjectFault {
  return fault('TOO_LARGE', oid, `${bytes} bytes, at most ${bytesMax} are allowed`);
}

function requireType(answer: ReadObject | ObjectFault, type: ObjectType): ReadObject | ObjectFault {
  if (!answer.ok || answer.type === type) return answer;
  return fault('WRONG_TYPE', answer.oid, `is a ${answer.type}, not a ${type}`);
}

function* batches(oids: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < oids.length; at += batchObjectsMax) yield oids.slice(at, at + batchObjectsMax);
}
