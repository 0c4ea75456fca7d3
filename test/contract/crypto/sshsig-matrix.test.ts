/**
 * The law of docs/format.md 6 in every cell: what ours accepts, the installed ssh-keygen accepts; what `ssh-keygen -Y sign`
 * makes with a key of F6.9, ours accepts; and where only ssh-keygen accepts, the table of differences says so.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ed25519PrivatePem, parseSshPublicKey } from '../../../src/crypto/ssh-key.ts';
import { armorToBlob, verifySshsig } from '../../../src/crypto/sshsig.ts';
import {
  keyTextOf,
  mpintOf,
  numberFrom,
  softEcdsa,
  softEd25519,
  softKeys,
  softRsa,
  softSkEcdsa,
  softSkEd25519,
  type SoftKey,
} from '../../lib/other-keys.ts';
import { blobOf, commonCells, type Cell } from '../../lib/sshsig-cells.ts';
import { ecdsaCells, ed25519Cells, rsaCells, tokenCells } from '../../lib/sshsig-family-cells.ts';
import { armorOf, askKeygen, mapSome, runKeygen } from '../../lib/stock-keygen.ts';
import { readVectors } from '../../lib/vectors.ts';

const patienceMs = 240_000;
const format = readFileSync(new URL('../../../docs/format.md', import.meta.url), 'utf8');
let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'memd-matrix-'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function oursSays(cell: Pick<Cell, 'key' | 'namespace' | 'message'>, sshsig: string): boolean {
  const key = parseSshPublicKey(cell.key);
  return key.ok && verifySshsig({ sshsig, namespace: cell.namespace, message: cell.message, key: key.value }).ok;
}

/** One line per cell that breaks the law; nothing when it holds. */
async function brokenCells(cells: readonly Cell[]): Promise<readonly string[]> {
  const findings = await mapSome(cells, async (cell) => {
    const sshsig = base64(cell.blob);
    const ours = oursSays(cell, sshsig);
    if (ours !== cell.ours) return `${cell.name}: ours says ${ours}`;
    const { difference, key, namespace, message } = cell;
    const stock = await askKeygen(folder, { key, namespace, message, armor: armorOf(sshsig) });
    if (ours && !(stock.verify && stock.check)) return `${cell.name}: only ours accepts: ${stock.said}`;
    if (!ours && stock.verify && difference === undefined) return `${cell.name}: only ssh-keygen accepts, not listed`;
    return difference === undefined || format.includes(difference) ? '' : `${cell.name}: not in the table`;
  });
  return findings.filter((finding) => finding !== '');
}

function secondOf(key: SoftKey): SoftKey {
  switch (key.name) {
    case 'ed25519':
      return softEd25519('another');
    case 'sk-ed25519':
      return softSkEd25519('another');
    case 'sk-ecdsa':
      return softSkEcdsa('another');
    case 'nistp256':
    case 'nistp384':
    case 'nistp521':
      return softEcdsa(key.name, 'another');
    default:
      return softRsa(key.name === 'rsa2048' ? 3072 : 2048);
  }
}

function cellsOf(key: SoftKey): readonly Cell[] {
  const common = commonCells(key, secondOf(key));
  switch (key.public.type) {
    case 'ssh-ed25519':
      return [...common, ...ed25519Cells(key)];
    case 'ssh-rsa':
      return [...common, ...rsaCells(key, numberFrom(key.public.modulus))];
    case 'sk-ssh-ed25519@openssh.com':
      return [...common, ...tokenCells(key), ...ed25519Cells(key)];
    case 'sk-ecdsa-sha2-nistp256@openssh.com':
      return [...common, ...tokenCells(key), ...ecdsaCells(key, 'nistp256')];
    default:
      return [...common, ...ecdsaCells(key, key.name)];
  }
}

describe('signatures: ours against ssh-keygen -Y verify and check-novalidate', () => {
  test.each(softKeys.map((key) => [key.name, key] as const))(
    'the law holds in every cell of %s',
    async (_, key) => {
      const cells = cellsOf(key);
      expect(cells.length).toBeGreaterThan(45);
      expect(new Set(cells.map(({ name }) => name)).size).toBe(cells.length);
      expect(await brokenCells(cells)).toEqual([]);
    },
    patienceMs,
  );

  test(
    'token keys of any application are verified alike',
    async () => {
      const names = ['', 'ssh:', 'ssh:work', 'https://example.org', 'ssh:caf\u00e9', `ssh:${'x'.repeat(300)}`];
      const keys = names.flatMap((name) => [softSkEd25519('a', name), softSkEcdsa('a', name)]);
      const cells = keys.map((key, index): Cell => {
        const asked = { key: key.text, namespace: 'memd-event', message: 'm' };
        return { name: `${key.name} ${index}`, ...asked, blob: blobOf(key, 'm'), ours: true };
      });
      expect(await brokenCells(cells)).toEqual([]);
    },
    patienceMs,
  );

  test(
    'every golden vector is answered by ssh-keygen as by ours, or more leniently',
    async () => {
      const rows = readVectors('approval') as unknown as readonly (Cell & { verdict: string; sshsig: string })[];
      const wrong = await mapSome(rows, async ({ name, verdict, sshsig, ...asked }) => {
        if (verdict !== 'accept') return '';
        const stock = await askKeygen(folder, { ...asked, armor: armorOf(sshsig) });
        return stock.verify && stock.check ? '' : `${name}: ${stock.said}`;
      });
      expect(wrong.filter((finding) => finding !== '')).toEqual([]);
    },
    patienceMs,
  );
});

describe('signatures made by ssh-keygen -Y sign', () => {
  const kinds: readonly (readonly [string, readonly string[]])[] = [
    ['ed25519', ['-t', 'ed25519']],
    ['ecdsa 256', ['-t', 'ecdsa', '-b', '256']],
    ['ecdsa 384', ['-t', 'ecdsa', '-b', '384']],
    ['ecdsa 521', ['-t', 'ecdsa', '-b', '521']],
    ['rsa 2048', ['-t', 'rsa', '-b', '2048']],
    ['rsa 2056', ['-t', 'rsa', '-b', '2056']],
    ['rsa 3072', ['-t', 'rsa', '-b', '3072']],
  ];
  const messages = ['', 'hello', 'hello\n', 'a\r\nb', 'a\0b', '{"content":"caf\u00e9 \u2028"}', 'x'.repeat(100_000)];

  async function everySigningVerifies(file: string, text: string): Promise<readonly string[]> {
    const questions = ['memd-event', 'memd-trust'].flatMap((namespace) =>
      ['sha256', 'sha512'].flatMap((hash) => messages.map((message) => ({ namespace, hash, message }))),
    );
    const wrong = await mapSome(questions, async ({ namespace, hash, message }) => {
      const made = await runKeygen(
        folder,
        ['-Y', 'sign', '-f', file, '-n', namespace, '-O', `hashalg=${hash}`],
        message,
      );
      const blob = armorToBlob(made.stdout);
      if (!blob.ok) return `${blob.detail}: ${made.stderr}`;
      const right = oursSays({ key: text, namespace, message }, blob.value);
      const elsewhere = oursSays({ key: text, namespace: `${namespace}x`, message }, blob.value);
      const other = oursSays({ key: text, namespace, message: `${message} ` }, blob.value);
      return right && !elsewhere && !other ? '' : `${namespace} ${hash} ${message.slice(0, 20)}`;
    });
    return wrong.filter((finding) => finding !== '');
  }

  test.each(kinds)(
    'with a new %s key all verify here, in their namespace and over their message only',
    async (name, args) => {
      const file = join(folder, `new ${name}`);
      const comment = `comment of ${name}`;
      expect((await runKeygen(folder, ['-q', '-N', '', '-C', comment, '-f', file, ...args])).ok).toBe(true);
      const text = readFileSync(`${file}.pub`, 'utf8');
      const key = parseSshPublicKey(text);
      if (!key.ok) throw new Error(key.detail);
      expect(text).toBe(`${key.value.text} ${comment}\n`);
      expect((await runKeygen(folder, ['-l', '-f', `${file}.pub`])).stdout.split(' ')[1]).toBe(key.value.fingerprint);
      expect(await everySigningVerifies(file, text)).toEqual([]);
    },
    patienceMs,
  );

  test(
    'with the largest RSA key all verify here',
    async () => {
      const key = softRsa(8192);
      const file = join(folder, 'rsa 8192');
      writeFileSync(file, key.pem ?? '', { mode: 0o600 });
      writeFileSync(`${file}.pub`, `${key.text}\n`);
      expect(await everySigningVerifies(file, key.text)).toEqual([]);
    },
    patienceMs,
  );

  test(
    'the armor is read wherever its lines end, for every length of a blob',
    async () => {
      const file = join(folder, 'lengths');
      writeFileSync(file, ed25519PrivatePem(new Uint8Array(32).fill(3), 'lengths'), { mode: 0o600 });
      const text = (await runKeygen(folder, ['-y', '-f', file])).stdout.trim();
      const lengths = Array.from({ length: 212 }, (_, index) => index + 1);
      const wrong = await mapSome(lengths, async (length) => {
        const namespace = 'n'.repeat(length);
        const made = await runKeygen(folder, ['-Y', 'sign', '-f', file, '-n', namespace], 'm');
        const blob = armorToBlob(made.stdout);
        return blob.ok && oursSays({ key: text, namespace, message: 'm' }, blob.value) ? 0 : length;
      });
      expect(wrong.filter((length) => length > 0)).toEqual([]);
    },
    patienceMs,
  );
});

describe('armor: ours against ssh-keygen', () => {
  test(
    'what is read here is read there',
    async () => {
      const key = softEd25519('a person with ed25519');
      const blob = key.sign('m', 'memd-event');
      const armor = armorOf(blob);
      const body = armor.split('\n').slice(1, -2).join('\n');
      const spellings: Readonly<Record<string, string>> = {
        right: armor,
        'no last newline': armor.trimEnd(),
        CRLF: armor.replaceAll('\n', '\r\n'),
        'text behind': `${armor}text\n`,
        'text behind on the same line': `${armor.trimEnd()}text\n`,
        'a newline behind': `${armor}\n`,
        'a newline in front': `\n${armor}`,
        'a byte order mark': `\u00ef\u00bb\u00bf${armor}`,
        'two of them': armor + armor,
        'one line': armor.replace(body, body.replaceAll('\n', '')),
        'lines of 4': armor.replace(body, (blob.match(/.{1,4}/g) ?? []).join('\n')),
        'lines of 76': armor.replace(body, (blob.match(/.{1,76}/g) ?? []).join('\n')),
        'an empty line inside': armor.replace(body, `${body.slice(0, 70)}\n${body.slice(70)}`),
        'spaces inside': armor.replace(body, body.replaceAll('\n', ' \n')),
        'tabs inside': armor.replace(body, body.replace('A', '\tA')),
        'without its header': armor.replace('-----BEGIN SSH SIGNATURE-----\n', ''),
        'without its footer': armor.replace('-----END SSH SIGNATURE-----\n', ''),
        'of PGP': armor.replaceAll('SSH', 'PGP'),
        'lower case': armor.replace('END', 'end'),
        'one sign of padding more': armor.replace('\n-----END', '=\n-----END'),
        empty: armor.replace(`${body}\n`, ''),
      };
      const answers = await mapSome(Object.entries(spellings), async ([name, text]) => {
        const ours = armorToBlob(text).ok;
        const stock = await askKeygen(folder, { key: key.text, namespace: 'memd-event', message: 'm', armor: text });
        return { name, ours, broken: ours && !stock.verify };
      });
      expect(answers.filter(({ broken }) => broken)).toEqual([]);
      expect(answers.filter(({ ours }) => ours).map(({ name }) => name)).toEqual(['right', 'no last newline']);
    },
    patienceMs,
  );
});

describe('keys: ours against ssh-keygen -l', () => {
  async function stockReads(text: string, number: number): Promise<string | undefined> {
    const file = join(folder, `key-${number}.pub`);
    writeFileSync(file, `${text}\n`);
    const { ok, stdout } = await runKeygen(folder, ['-l', '-f', file]);
    return ok ? stdout.split(' ')[1] : undefined;
  }

  test(
    'every key that the vectors accept is a key there, with the same fingerprint',
    async () => {
      const rows = readVectors('key').filter(({ verdict }) => verdict === 'accept');
      expect(rows.length).toBeGreaterThan(12);
      const answers = await mapSome([...rows.entries()], async ([number, row]) => {
        const fingerprint = await stockReads(row.text ?? '', number);
        return fingerprint === (row as { fingerprint?: string }).fingerprint ? '' : row.name;
      });
      expect(answers.filter((name) => name !== '')).toEqual([]);
    },
    patienceMs,
  );

  test(
    'a key that ssh-keygen refuses is refused here: bits flipped all over keys of every family',
    async () => {
      const texts = softKeys.flatMap((key) => {
        const blob = key.public.blob;
        const step = Math.max(1, Math.floor(blob.length / 24));
        return Array.from({ length: 24 }, (_, index) => {
          const changed = blob.slice();
          const place = (index * step) % blob.length;
          changed[place] = (changed[place] as number) ^ (1 << (index & 7));
          return `${key.public.type} ${base64(changed)}`;
        });
      });
      const answers = await mapSome([...texts.entries()], async ([number, text]) => {
        if (!parseSshPublicKey(text).ok) return '';
        return (await stockReads(text, 1_000 + number)) === undefined ? text : '';
      });
      expect(answers.filter((text) => text !== '')).toEqual([]);
    },
    patienceMs,
  );

  test('points that OpenSSH does not take are refused by both', async () => {
    const point = new Uint8Array(Buffer.from(`04${'0'.repeat(62)}05${yOfSmallX}`, 'hex'));
    const text = keyTextOf('ecdsa-sha2-nistp256', 'nistp256', point);
    expect(parseSshPublicKey(text)).toMatchObject({ ok: false, code: 'WEAK_KEY' });
    expect(await stockReads(text, 9_000)).toBe(undefined);
  });

  test('RSA keys at the edges', async () => {
    const modulus = numberFrom((softRsa(2048).public as { modulus: Uint8Array }).modulus);
    for (const [e, ok] of [
      [65_537n, true],
      [2n ** 31n - 1n, true],
      [3n, false],
      [1n, false],
    ] as const) {
      const text = keyTextOf('ssh-rsa', mpintOf(e), mpintOf(modulus));
      expect([e, parseSshPublicKey(text).ok]).toEqual([e, ok]);
      if (ok) expect(await stockReads(text, 9_001)).toMatch(/^SHA256:/);
    }
  });
});

/** y of the point of P-256 with x = 5. */
const yOfSmallX = '459243b9aa581806fe913bce99817ade11ca503c64d9a3c533415c083248fbcc';
