/** Ways to reach a person, against servers and programs that misbehave. */
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { NotifierConfig } from '../../../../src/daemon/config/config-file.ts';
import type { MessageJson } from '../../../../src/daemon/notify/message.ts';
import { desktopCommand, sendMessage } from '../../../../src/daemon/notify/send.ts';
import { temporaryFolder } from '../../../lib/temporary.ts';

const message: MessageJson = {
  mesh: 'm',
  host: 'alpha',
  at: '2026-07-27T15:04:05.000Z',
  title: 'memd: a/b is UNRESOLVED',
  text: '--help $(id) <b>&\nline',
  items: [],
  more: 0,
};
let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(listener: RequestListener): Promise<string> {
  const made = createServer(listener);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

const webhook = (url: string, tokenFile?: string): NotifierConfig => ({ name: 'w', kind: 'webhook', url, tokenFile });
const command = (...words: string[]): NotifierConfig => ({ name: 'c', kind: 'command', command: words });
const node = (program: string): NotifierConfig => command(process.execPath, '-e', program);

describe('notify: webhook and ntfy', () => {
  test('the document is posted, with the token of the file', async () => {
    const file = join(temporaryFolder(), 'token');
    writeFileSync(file, 'secret-1\n');
    let seen: unknown;
    const url = await serve((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        seen = { ...request.headers, method: request.method, body: JSON.parse(body) as unknown };
        response.end();
      });
    });
    await sendMessage(webhook(`${url}/hook`, file), message);
    expect(seen).toMatchObject({ method: 'POST', authorization: 'Bearer secret-1', body: message });
    writeFileSync(file, 'two words');
    await expect(sendMessage(webhook(url, file), message)).rejects.toThrow(/holds no token/);
    await expect(sendMessage(webhook(url, `${file}-gone`), message)).rejects.toThrow(/cannot be read \(ENOENT\)/);
  });

  test('ntfy gets topic, title and text as a document at the root of its server', async () => {
    let seen: unknown;
    const url = await serve((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        seen = [request.url, JSON.parse(body)];
        response.end();
      });
    });
    await sendMessage({ name: 'n', kind: 'ntfy', url: `${url}/base/my%20topic`, tokenFile: undefined }, message);
    expect(seen).toEqual([
      '/base',
      { topic: 'my topic', title: message.title, message: message.text, tags: ['warning'] },
    ]);
  });

  test('a server that changes the protocol instead of answering is a failure, and ends the wait', async () => {
    const changing = await serve((request) => {
      request.socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await expect(sendMessage(webhook(changing), message)).rejects.toThrow(/answers 101$/);
  });

  test('a refusal, a redirect, silence and an endless answer are failures or ends, in bounded time', async () => {
    const refusing = await serve((_, response) => response.writeHead(403).end('no\u001b[31m entry'));
    await expect(sendMessage(webhook(refusing), message)).rejects.toThrow(/answers 403: no \[31m entry$/);
    server?.close();
    const moving = await serve((_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end());
    await expect(sendMessage(webhook(moving), message)).rejects.toThrow(/answers 302/);
    server?.close();
    const silent = await serve(() => undefined);
    await expect(sendMessage(webhook(silent), message, { deadlineMs: 50 })).rejects.toThrow(
      /did not answer within 0.05 s/,
    );
    server?.closeAllConnections();
    server?.close();
    const endless = await serve((_, response) => {
      response.writeHead(500);
      const pour = (): void => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', pour);
      };
      pour();
    });
    await expect(sendMessage(webhook(endless), message)).rejects.toThrow(/answers 500: x{50}/);
    server?.closeAllConnections();
    server?.close();
    await expect(sendMessage(webhook(endless), message)).rejects.toThrow(/cannot be reached: ECONNREFUSED/);
  });
});

describe('notify: programs', () => {
  test('the document comes on stdin, and nothing of this environment with it', async () => {
    const file = join(temporaryFolder(), 'out');
    process.env['MEMD_TEST_SECRET'] = 'x';
    const program = `require('fs').writeFileSync(${JSON.stringify(file)}, (process.env.MEMD_TEST_SECRET ?? 'clean') + require('fs').readFileSync(0))`;
    await sendMessage(node(program), message);
    delete process.env['MEMD_TEST_SECRET'];
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(file, 'utf8')).toBe(`clean${JSON.stringify(message)}\n`);
  });

  test('one that fails, hangs, or is not there says so; its arguments are not repeated', async () => {
    await expect(sendMessage(node('console.error("no bus"); process.exit(3)'), message)).rejects.toThrow(
      /: exit code 3: no bus$/,
    );
    const hangs = sendMessage(node('setInterval(() => 0, 1000)'), message, { deadlineMs: 200 });
    await expect(hangs).rejects.toThrow(/not finished after 200 ms/);
    await expect(sendMessage(command('/no/such/program'), message)).rejects.toThrow(/not on PATH|cannot start/);
  });

  test('desktop: nothing in the text is an option, a script or markup', () => {
    expect(desktopCommand(message, 'linux')).toEqual([
      'notify-send',
      '--app-name=memd',
      '--',
      message.title,
      '--help $(id) &lt;b&gt;&amp;\nline',
    ]);
    expect(desktopCommand(message, 'darwin').slice(-3)).toEqual(['--', message.title, message.text]);
  });
});
