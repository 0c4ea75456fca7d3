/** Outside vectors for a fetch: hostile answers, hostile packs, hostile repositories, and bombs. All refused, bounded, and nothing left behind. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deflateSync } from 'node:zlib';
import ssh2, { type ServerChannel } from 'ssh2';
import { expect, describe, onTestFinished, test } from 'vitest';
import { ed25519PrivatePem } from '../../../src/crypto/ssh-key.ts';
import { sha1Hex } from '../../../src/crypto/hash.ts';
import { trustHash } from '../../../src/core/trust/set.ts';
import { printHeads } from '../../../src/mesh/heads.ts';
import { startSshServer } from '../../../src/mesh/ssh/ssh-server.ts';
import { dataPacket } from '../../../src/mesh/fetch/pkt-line.ts';
import type { PeerOutcome } from '../../../src/mesh/node.ts';
import { hostKeys, meshId, startNode, type TestNode } from '../../e2e/mesh/node.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { readOutsideBytes, readOutsideJson, withOutsideVectors } from '../../lib/outside-vectors.ts';
import { testKey } from '../../lib/trust-ops.ts';

const alphaSsh = ed25519PrivatePem(testKey((hostKeys['alpha'] ?? 0) + 1_000).seed, 'alpha');
const nowhere = '1'.repeat(40);

/** Heads of a peer alpha that offers one commit as its log of so many lines. */
function headsFor(node: TestNode, oid: string, seq: number): string {
  const trust = { oid: '2'.repeat(40), hash: trustHash(node.set()) };
  return printHeads({
    mesh: meshId,
    host: 'alpha',
    heads: { alpha: { oid, seq, link: '3'.repeat(64) } },
    trust,
    addresses: {},
    version: 'hostile',
  });
}

/** A peer alpha with the right key that answers `git-upload-pack` by `answer`. */
async function hostilePeer(node: TestNode, seq: number, answer: (channel: ServerChannel) => void): Promise<void> {
  const server = new ssh2.Server({ hostKeys: [alphaSsh] }, (client) => {
    (client as unknown as { setNoDelay(on: boolean): void }).setNoDelay(true);
    client.on('error', () => undefined).on('authentication', (context) => context.accept());
    client.on('session', (accept) => {
      const session = accept();
      session.on('env', (accept) => (accept as (() => void) | undefined)?.());
      session.on('exec', (accept, _reject, { command }) => {
        const channel = accept();
        channel.on('error', () => undefined).resume();
        if (command !== 'memd heads') return answer(channel);
        channel.write(`${headsFor(node, nowhere, seq)}\n`);
        channel.exit(0);
        channel.end();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  node.addresses.set('alpha', `ssh://127.0.0.1:${(server.address() as { port: number }).port}`);
}

/** A cycle that must end soon, with nothing taken and nothing left. */
async function expectRefused(node: TestNode, name: string): Promise<PeerOutcome> {
  const started = performance.now();
  const [outcome] = await node.cycle('alpha');
  // Before the cycle is given up.
  expect(performance.now() - started, `${name} ends soon`).toBeLessThan(15_000);
  expect(outcome?.state, `${name}: ${outcome?.reason?.code} ${outcome?.reason?.detail}`).not.toBe('up');
  expect(outcome).toMatchObject({ newEvents: 0, lines: {} });
  expect(outcome?.reason?.detail ?? '', `words of ${name}`).toMatch(/^[\u0020-\u007e…]*$/);
  expect(readdirSync(join(node.repository.gitDir, 'quarantine')), `${name} is gone`).toEqual([]);
  expect(existsSync(join(node.repository.gitDir, 'refs/heads/log/alpha')), `${name} is no log`).toBe(false);
  return outcome as PeerOutcome;
}

const bytes = (...parts: (string | Uint8Array)[]): Buffer =>
  Buffer.concat(parts.map((part) => Buffer.from(part as never)));
const band = (pack: Uint8Array): Buffer => {
  const packets: Buffer[] = [];
  for (let at = 0; at < pack.length; at += 60_000) {
    const part = pack.subarray(at, at + 60_000);
    packets.push(bytes((part.length + 5).toString(16).padStart(4, '0'), Uint8Array.of(1), part));
  }
  return Buffer.concat(packets);
};
/** A lawful protocol 2 answer around any pack. */
const answerWith = (pack: Uint8Array): Buffer =>
  bytes(dataPacket('version 2\n'), dataPacket('fetch=shallow\n'), '0000', dataPacket('packfile\n'), band(pack), '0000');

/** One new line is announced (unpacked loose), or a thousand (kept as a pack). */
const forms: [string, number][] = [
  ['loose', 1],
  ['pack', 1_000],
];

withOutsideVectors('git', (folder) => {
  const answers = readOutsideJson(folder, 'hostile-server.json') as { id: string; b64: string | null; why: string }[];
  test(`hostile answers (${answers.length} cases): each is a failure with printable words, within its time`, async () => {
    const node = await startNode('beta');
    for (const { id, b64 } of answers) {
      // Two are too large to keep as base64: a long ref name and an endless negotiation.
      const built =
        id === 'ack-endless'
          ? bytes(...Array<Uint8Array>(5_000).fill(dataPacket(`ACK ${nowhere} continue\n`)))
          : dataPacket(`${nowhere} refs/heads/${'a'.repeat(60_000)}\n`);
      await hostilePeer(node, 1, (channel) => {
        channel.write(b64 === null ? built : Buffer.from(b64, 'base64'));
        channel.exit(0);
        channel.end();
      });
      await expectRefused(node, id);
    }
  }, 60_000);

  test.each(forms)(
    'hostile packs taken in as %s: each is refused',
    async (_form, seq) => {
      const node = await startNode('beta');
      for (const name of readdirSync(new URL('packs', folder))) {
        await hostilePeer(
          node,
          seq,
          (channel) => void channel.write(answerWith(readOutsideBytes(folder, `packs/${name}`))),
        );
        const outcome = await expectRefused(node, name);
        expect(outcome.state, `${name} is refused`).toBe('refused');
      }
    },
    60_000,
  );

  const cases = (
    readOutsideJson(folder, 'expected.json') as { cases: { case: string; file: string | null; fetch_fsck: unknown }[] }
  ).cases;
  test.each(forms)(
    'hostile repositories taken in as %s: each is refused, none is a log',
    async (form, seq) => {
      const node = await startNode('beta');
      let tried = 0;
      for (const { case: name, file, fetch_fsck: fsck } of cases) {
        // As a pack only those that git itself lets through: then the refusal is ours.
        if (file === null || (form === 'pack' && fsck !== 'ok')) continue;
        const into = temporaryFolder();
        execFileSync('tar', ['-xzf', fileURLToPath(new URL(file, folder)), '-C', into]);
        const main = join(into, name, 'refs/heads/main');
        if (!existsSync(main)) continue;
        const server = await startSshServer({
          hostKey: alphaSsh,
          repositoryDir: join(into, name),
          listen: { address: '127.0.0.1', port: 0 },
          charterHosts: () => node.charter().hosts,
          heads: () => headsFor(node, readFileSync(main, 'utf8').trim(), seq),
        });
        node.addresses.set('alpha', `ssh://127.0.0.1:${server.port}`);
        await expectRefused(node, name);
        await server.close();
        tried += 1;
      }
      expect(tried).toBeGreaterThan(form === 'pack' ? 20 : 45);
    },
    180_000,
  );
});

describe('bombs', () => {
  const header = (type: number, size: number): Buffer => {
    const out = [(type << 4) | (size & 15)];
    for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
      out[out.length - 1] = (out.at(-1) ?? 0) | 128;
      out.push(rest & 127);
    }
    return Buffer.from(out);
  };
  const varint = (value: number): Buffer => {
    const out = [value & 127];
    for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) {
      out[out.length - 1] = (out.at(-1) ?? 0) | 128;
      out.push(rest & 127);
    }
    return Buffer.from(out);
  };
  const packOf = (objects: readonly Buffer[], count = objects.length): Buffer => {
    const head = Buffer.from('PACK\0\0\0\u0002\0\0\0\0', 'latin1');
    head.writeUInt32BE(count, 8);
    const body = Buffer.concat([head, ...objects]);
    return Buffer.concat([body, Buffer.from(sha1Hex(body), 'hex')]);
  };
  /** One base of 64 KiB and deltas that each copy it `copies` times. */
  const deltaBomb = (deltas: number, copies: number): Buffer => {
    const base = Buffer.alloc(65_536);
    const baseId = Buffer.from(sha1Hex(Buffer.concat([Buffer.from('blob 65536\0'), base])), 'hex');
    const objects = [Buffer.concat([header(3, base.length), deflateSync(base, { level: 9 })])];
    for (let index = 0; index < deltas; index++) {
      const delta = Buffer.concat([
        varint(65_536),
        varint(4 + 65_536 * copies),
        Buffer.from([4]),
        Buffer.from(String(index).padStart(4, '0')),
        Buffer.alloc(copies, 0x80),
      ]);
      objects.push(Buffer.concat([header(7, delta.length), baseId, deflateSync(delta, { level: 9 })]));
    }
    return packOf(objects);
  };
  const blobBomb = (size: number): Buffer =>
    packOf([Buffer.concat([header(3, size), deflateSync(Buffer.alloc(size), { level: 9 })])]);
  const bombs: [string, () => Buffer, string][] = [
    ['a blob of 128 MiB in 128 kB', () => blobBomb(128 * 1_048_576), 'PACK_REFUSED'],
    ['a delta of 1 GiB', () => deltaBomb(1, 16_384), 'PACK_REFUSED'],
    ['50 deltas of 64 MiB', () => deltaBomb(50, 1_024), 'PACK_REFUSED'],
    ['a header of 200 million objects', () => packOf([], 200_000_000), 'TOO_LARGE'],
    ['a pack that never ends', () => Buffer.concat([packOf([], 5).subarray(0, 12), header(3, 40_000)]), 'TIMEOUT'],
  ];
  for (const [form, seq] of forms) {
    test.each(bombs)(`%s, taken in as ${form}, is refused before it costs anything`, async (_name, build, code) => {
      const node = await startNode('beta', { deadlineMs: 1_500 });
      const pack = build();
      await hostilePeer(node, seq, (channel) => void channel.write(answerWith(pack).subarray(0, -4)));
      expect(await expectRefused(node, 'bomb')).toMatchObject({ reason: { code } });
    });
  }
});
