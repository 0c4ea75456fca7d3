/**
 * The client's half of one git protocol v2 `fetch`, without I/O: what to send, and an incremental reader of the answer
 * that says at each step what it means or why it is refused. Source: gitprotocol-v2(5), gitprotocol-pack(5).
 *
 * We know our wants beforehand and send `done`, so the only lawful answer is: capabilities, flush, "packfile" with
 * side bands, flush; and where only the newest commits were asked for, "shallow-info" with at most one commit before it.
 * Anything else, acknowledgements and other notices included, is a fault.
 */
import { assert, ok, refuse, type Result } from '../../crypto/result.ts';
import { printable } from '../../store/errors.ts';
import { dataPacket, delimiterPacket, flushPacket, packetReader, type Packet } from './pkt-line.ts';

/** Capability lines of the greeting, and bytes of one: git 2.39 sends 7 lines of at most 40 bytes. */
const capabilitiesMax = 64;
const textBytesMax = 1_000;
/** Bytes of progress text that we did not ask for. */
const progressBytesMax = 65_536;
const packHeaderBytes = 12;

/** Why an answer is refused. `REMOTE_ERROR`: the other end said so itself; `detail` holds its words, made printable. */
export type FetchFault = 'PROTOCOL' | 'TOO_LARGE' | 'REMOTE_ERROR';

/**
 * What a part of the answer means. `cut` precedes everything else: the oldest commit that comes, whose parent does not.
 * `objects` precedes the first `pack` bytes; `end` is the last step.
 */
export type FetchStep =
  | { readonly kind: 'cut'; readonly oid: string }
  | { readonly kind: 'objects'; readonly count: number }
  | { readonly kind: 'pack'; readonly bytes: Uint8Array }
  | { readonly kind: 'end' };

type Steps = Result<readonly FetchStep[], FetchFault>;

/** Reads the answer from chunks that may be cut anywhere. */
export interface FetchReader {
  /** @returns the steps that this chunk completes; byte views are valid until the next push. */
  push(chunk: Uint8Array): Steps;
  /** Call when the stream ends: a fault unless `end` was reached. */
  finish(): Result<true, FetchFault>;
}

/** Bounds of one answer: bytes of pack data, objects that its header may announce, and commits if those were bounded. */
export interface FetchBounds {
  readonly bytesMax: number;
  readonly objectsMax: number;
  readonly commitsMax?: number | undefined;
}

const commitIdShape = /^[0-9a-f]{40}$/;

/** True for a SHA-1 object id as git prints it, the null id excepted. Pure. */
export function isObjectId(text: unknown): text is string {
  return typeof text === 'string' && commitIdShape.test(text) && text !== '0'.repeat(40);
}

/**
 * The whole request. At least one want. `commitsMax`: so many commits of each want, and no older ones. `cuts`: commits that we
 * have whole, without what is older. Pure.
 */
export function printFetchRequest(request: {
  readonly wants: readonly string[];
  readonly haves: readonly string[];
  readonly cuts?: readonly string[] | undefined;
  readonly commitsMax?: number | undefined;
}): Uint8Array {
  const { wants, haves, cuts = [], commitsMax } = request;
  assert(wants.length > 0, 'a fetch wants something');
  assert([...wants, ...haves, ...cuts].every(isObjectId), 'wants and haves are object ids');
  return Buffer.concat([
    ...['command=fetch\n', 'agent=memd\n', 'object-format=sha1\n'].map(dataPacket),
    delimiterPacket,
    ...['thin-pack\n', 'no-progress\n', 'ofs-delta\n'].map(dataPacket),
    ...wants.map((oid) => dataPacket(`want ${oid}\n`)),
    ...haves.map((oid) => dataPacket(`have ${oid}\n`)),
    ...cuts.map((oid) => dataPacket(`shallow ${oid}\n`)),
    ...(commitsMax === undefined ? [] : [dataPacket(`deepen ${commitsMax}\n`)]),
    dataPacket('done\n'),
    flushPacket,
  ]);
}

interface Answer {
  readonly bounds: FetchBounds;
  /** `section`: "packfile" comes, or what goes before it; `cuts`: that is going on; `packfile`: nothing but that may come. */
  state: 'greeting' | 'capabilities' | 'section' | 'cuts' | 'packfile' | 'pack' | 'end';
  isCut: boolean;
  capabilities: number;
  canFetch: boolean;
  progressBytes: number;
  packBytes: number;
  readonly packHeader: Uint8Array;
}

const nothing: Steps = ok([]);

/** A reader at the start of the greeting. */
export function fetchReader(bounds: FetchBounds): FetchReader {
  const packets = packetReader();
  const answer: Answer = {
    bounds,
    state: 'greeting',
    isCut: false,
    capabilities: 0,
    canFetch: false,
    progressBytes: 0,
    packBytes: 0,
    packHeader: new Uint8Array(packHeaderBytes),
  };

  function push(chunk: Uint8Array): Steps {
    const read = packets.push(chunk);
    const steps: FetchStep[] = [];
    for (const packet of read.packets) {
      const result = readPacket(answer, packet);
      if (!result.ok) return result;
      steps.push(...result.value);
    }
    if (read.fault !== undefined) return refuse('PROTOCOL', read.fault);
    if (answer.state === 'end' && !packets.atBoundary()) return refuse('PROTOCOL', 'bytes after the end of the answer');
    return ok(steps);
  }

  return {
    push,
    finish: () => (answer.state === 'end' ? ok(true) : refuse('PROTOCOL', 'the answer was cut short')),
  };
}

function readPacket(answer: Answer, packet: Packet): Steps {
  if (answer.state === 'end') return refuse('PROTOCOL', 'bytes after the end of the answer');
  if (packet.kind === 'delimiter') {
    if (answer.state !== 'cuts') return refuse('PROTOCOL', 'unexpected delimiter packet');
    answer.state = 'packfile';
    return nothing;
  }
  if (packet.kind === 'flush') return readFlush(answer);
  return answer.state === 'pack' ? readBand(answer, packet.payload) : readText(answer, packet.payload);
}

function readFlush(answer: Answer): Steps {
  if (answer.state === 'capabilities') {
    if (!answer.canFetch) return refuse('PROTOCOL', 'the peer does not offer fetch');
    answer.state = 'section';
    return nothing;
  }
  if (answer.state !== 'pack') return refuse('PROTOCOL', 'the answer ends before it starts');
  if (answer.packBytes < packHeaderBytes) return refuse('PROTOCOL', 'the answer holds no pack');
  answer.state = 'end';
  return ok([{ kind: 'end' }]);
}

function readText(answer: Answer, payload: Uint8Array): Steps {
  if (payload.length > textBytesMax) return refuse('PROTOCOL', 'a line of the answer is too long');
  const line = Buffer.from(payload).toString('utf8').replace(/\n$/, '');
  if (line.startsWith('ERR ')) return refuse('REMOTE_ERROR', printable(line.slice(4)));
  if (answer.state === 'capabilities') return readCapability(answer, line);
  if (answer.state === 'greeting') {
    if (line !== 'version 2') return refuse('PROTOCOL', 'the peer does not speak git protocol 2');
    answer.state = 'capabilities';
    return nothing;
  }
  if (answer.state === 'cuts') return readCut(answer, line);
  if (line === 'shallow-info' && answer.state === 'section' && answer.bounds.commitsMax !== undefined) {
    answer.state = 'cuts';
    return nothing;
  }
  if (line !== 'packfile') return refuse('PROTOCOL', `unexpected section "${printable(line, 40)}"`);
  answer.state = 'pack';
  return nothing;
}

/** A history without merges has one oldest commit. */
function readCut(answer: Answer, line: string): Steps {
  const [word, oid] = line.split(' ');
  if (word !== 'shallow' || !isObjectId(oid)) return refuse('PROTOCOL', `unexpected notice "${printable(line, 60)}"`);
  if (answer.isCut) return refuse('PROTOCOL', 'the history is not linear: it is cut at two commits');
  answer.isCut = true;
  return ok([{ kind: 'cut', oid }]);
}

function readCapability(answer: Answer, line: string): Steps {
  answer.capabilities += 1;
  if (answer.capabilities > capabilitiesMax) return refuse('PROTOCOL', 'the greeting does not end');
  if (line === 'fetch' || line.startsWith('fetch=')) answer.canFetch = true;
  const foreign = line.startsWith('object-format=') && line !== 'object-format=sha1';
  return foreign ? refuse('PROTOCOL', 'the peer does not use SHA-1 object ids') : nothing;
}

function readBand(answer: Answer, payload: Uint8Array): Steps {
  const bytes = payload.subarray(1);
  switch (payload[0]) {
    case 1:
      return readPack(answer, bytes);
    case 2:
      answer.progressBytes += bytes.length;
      return answer.progressBytes > progressBytesMax ? refuse('PROTOCOL', 'too much progress text') : nothing;
    case 3:
      return refuse('REMOTE_ERROR', printable(Buffer.from(bytes).toString('utf8')));
    default:
      return refuse('PROTOCOL', 'unknown side band');
  }
}

/** Counts pack bytes against the bounds, and checks the header before any consumer sees a byte. */
function readPack(answer: Answer, bytes: Uint8Array): Steps {
  const { bounds, packHeader, packBytes: before } = answer;
  answer.packBytes += bytes.length;
  if (answer.packBytes > bounds.bytesMax)
    return refuse('TOO_LARGE', `the pack is larger than ${bounds.bytesMax} bytes`);
  if (before >= packHeaderBytes) return ok([{ kind: 'pack', bytes }]);
  packHeader.set(bytes.subarray(0, packHeaderBytes - before), before);
  if (answer.packBytes < packHeaderBytes) return nothing;
  const count = objectCount(packHeader);
  if (count === undefined) return refuse('PROTOCOL', 'the pack does not start like one');
  if (count > bounds.objectsMax) {
    return refuse('TOO_LARGE', `the pack announces ${count} objects, ${bounds.objectsMax} are allowed`);
  }
  const rest = bytes.subarray(packHeaderBytes - before);
  const head: FetchStep[] = [
    { kind: 'objects', count },
    { kind: 'pack', bytes: packHeader },
  ];
  return ok(rest.length === 0 ? head : [...head, { kind: 'pack', bytes: rest }]);
}

/** Object count of a version 2 pack header, or undefined. Pure. */
function objectCount(header: Uint8Array): number | undefined {
  const view = new DataView(header.buffer, header.byteOffset, header.byteLength);
  const isPack = view.getUint32(0) === 0x5041434b && view.getUint32(4) === 2;
  return isPack ? view.getUint32(8) : undefined;
}
