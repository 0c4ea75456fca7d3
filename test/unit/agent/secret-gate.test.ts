import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { scanEvents } from '../../../src/agent/secret-gate/scan-events.ts';
import { scanTexts } from '../../../src/agent/secret-gate/scan-texts.ts';
import { cpuMs } from '../../lib/cpu-time.ts';

/** Made up, and put together here so that no scanner of this repository takes them for real ones. */
const fake = {
  github: `ghp_${'aB3'.repeat(12)}`,
  slack: `xoxb-${'1234567890-'.repeat(2)}abcdefGHIJ`,
  aws: `AKIA${'ABCD2345'.repeat(2)}`,
  google: `AIza${'Sy1_-'.repeat(7)}`,
  sk: `sk-ant-api03-${'aB3'.repeat(12)}`,
  jwt: ['eyJhbGciOiJIUzI1NiJ9', 'eyJzdWIiOiIxMjM0NTY3ODkwIn0', 'dozjgNryP4J3jVmNHl0w5N'].join('.'),
  age: `AGE-SECRET-KEY-1${'QPZRY9X8'.repeat(6)}`,
} as const;

function pem(label: string, body: string): string {
  return `-----BEGIN ${label}PRIVATE KEY-----\n${body}\n-----END ${label}PRIVATE KEY-----`;
}

async function rulesOf(text: string): Promise<string[]> {
  return (await scanTexts([text])).map(({ rule }) => rule).toSorted();
}

describe('secret gate', () => {
  test.each([
    ['a GitHub token', fake.github, 'github'],
    ['a Slack token', fake.slack, 'slack'],
    ['an AWS access key id', fake.aws, 'aws-access-key-id'],
    ['a Google API key', fake.google, 'google-api-key'],
    ['a token with the prefix sk-', fake.sk, 'sk-token'],
    ['a signed JSON web token', fake.jwt, 'jwt'],
    ['an age secret key', fake.age, 'age-secret-key'],
    ['a private key block', pem('', `MII${'abcd'.repeat(40)}`), 'privatekey'],
    ['a short made-up private key block', pem('RSA ', 'notReallyAKeyButLooksLikeOne'), 'privatekey'],
    ['a private key block without its end', pem('OPENSSH ', 'b3BlbnNzaC1rZXktdjEAAAAA').slice(0, 70), 'privatekey'],
    ['a private key block in one line', pem('EC ', 'MHcCAQEEIIrYSSNQFaA2Hwf1d').replaceAll('\n', '\\n'), 'privatekey'],
    ['an encrypted private key block', pem('RSA ', 'Proc-Type: 4,ENCRYPTED\n\nabcdefghABCDEFGH01'), 'privatekey'],
    ['a password in an address', 'https://deploy:hunter22x@registry.corp.net/v2', 'basicauth'],
  ])('sees %s', async (_, text, rule) => {
    expect(await rulesOf(`before ${text} after`)).toContain(rule);
    expect(await rulesOf(text)).toContain(rule);
  });

  test.each([
    'no API key in the build',
    'The password of the router is in the safe; never write a secret into a claim.',
    'Never paste a -----BEGIN PRIVATE KEY----- block into a ticket.',
    'Set GITHUB_TOKEN=ghp_... in CI; sk-learn-2-to-3-migration-notes has the details.',
    'https://user:password@localhost/ is the form; postgres://USER:PASS@HOST/DB too',
    `sha256:${'ab12'.repeat(16)} and ${'0f'.repeat(20)} are digests`,
    'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHsJ8nVfQYh2r1 is a public key',
  ])('takes the ordinary sentence: %s', async (text) => {
    expect(await rulesOf(text)).toEqual([]);
  });

  test('no comment switches it off, not for its own text and not for the others of a batch', async () => {
    const off = `// secretlint-disable\n/* secretlint-disable */ # secretlint-disable-line ${fake.github}`;
    expect(await rulesOf(off)).toContain('github');
    expect((await scanTexts(['/* secretlint-disable */', fake.github])).map(({ text }) => text)).toContain(1);
  });

  test('every field of free text is scanned, and a hit names event and field', async () => {
    const clean = { kind: 'lesson', subject: 'lesson/x', content: 'Quote every path' } as const;
    const hits = await scanEvents([
      clean,
      { ...clean, text: `see\n${fake.github}` },
      { kind: 'assert', subject: 'endpoint/x', value: fake.jwt, home: 'file:a.md' },
      { ...clean, names: ['a', fake.slack] },
      { ...clean, session: fake.aws },
      { ...clean, hook: fake.google },
      { kind: 'assert', subject: 'endpoint/x', value: 'v', home: `https://git.corp.net/?t=${fake.github}` },
      { ...clean, subject: ['lesson/xoxb', '1234567890-1234567890-abcdefghij'].join('-') },
    ]);
    const places = [...new Set(hits.map(({ event, field }) => `${event} ${field}`))];
    expect(places).toEqual(['1 text', '2 value', '3 names', '4 session', '5 hook', '6 home', '7 subject']);
    expect(JSON.stringify(hits)).not.toMatch(/ghp_|xoxb|AKIA|eyJ/);
  });

  test('what is found does not depend on the texts beside it, whatever they hold (300 batches)', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        ...Object.values(fake),
        '-----BEGIN PRIVATE KEY-----',
        '-----END PRIVATE KEY-----',
        'aws_secret_access_key =',
      ),
      fc.constantFrom(
        'A'.repeat(40),
        'MII' + 'abcd'.repeat(30),
        '\n',
        ' ',
        '\u{1F600}',
        '\uFEFF',
        'https://user:pw12',
        '@h.corp',
      ),
      fc.string({ maxLength: 12 }),
    );
    const text = fc.array(piece, { maxLength: 5 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (texts) => {
        const together = (await scanTexts(texts)).map(({ text, rule }) => `${text} ${rule}`).toSorted();
        const apart = await Promise.all(texts.map((one) => rulesOf(one)));
        expect(together).toEqual(apart.flatMap((rules, index) => rules.map((rule) => `${index} ${rule}`)).toSorted());
      }),
      { seed: 3, numRuns: 300 },
    );
  });

  test('a text of 24 000 characters without a hit costs no more than a few milliseconds (no runaway pattern)', async () => {
    await scanTexts(['warm']);
    for (const filler of [
      'a',
      'sk-',
      'eyJ',
      '-----BEGIN ',
      'A1-',
      ' \n',
      'k: v ',
      '-----BEGIN PRIVATE KEY-----k: v ',
    ]) {
      const text = filler.repeat(Math.ceil(24_000 / filler.length));
      const start = cpuMs();
      await scanTexts([text]);
      expect(cpuMs() - start).toBeLessThan(1_000);
    }
  });
});

test('nothing of a text that was looked at is measured and kept: a memd looks at texts for months', async () => {
  const before = performance.getEntries().length;
  for (let n = 0; n < 20; n += 1) await scanTexts([`what was learned about case ${n}`]);
  expect(performance.getEntries()).toHaveLength(before);
});
