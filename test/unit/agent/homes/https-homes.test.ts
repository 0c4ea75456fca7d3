import { createServer, type RequestListener } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isPublicAddress } from '../../../../src/agent/homes/public-address.ts';
import { readHome, type HomeLook } from '../../../../src/agent/homes/read-home.ts';

const look: HomeLook = {
  roots: [],
  closed: [],
  scope: '*',
  host: 'alpha',
  check: true,
  httpsHosts: ['docs.example.org', '127.0.0.1', 'localhost'],
};

/** A server on loopback behind the port: the name has a public address, the connection goes to us, without TLS. */
async function serving(listener: RequestListener, deadlineMs = 5_000): Promise<HomeLook> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    ...look,
    ports: {
      resolve: () => Promise.resolve(['93.184.216.34']),
      dial: () => connect(port, '127.0.0.1'),
      deadlineMs,
    },
  };
}

const url = 'https://docs.example.org/a.md';

describe('https homes: what is read', () => {
  test('text of an allowed host, and the section of Markdown', async () => {
    const here = await serving((request, response) => {
      expect(request.headers).toMatchObject({ host: 'docs.example.org', 'accept-encoding': 'identity' });
      expect(request.headers.cookie).toBeUndefined();
      response.setHeader('content-type', 'text/plain; charset=utf-8');
      response.end('# A\n1\n# B\n2\n');
    });
    expect(await readHome(url, here)).toMatchObject({ checked: true, fresh: true, text: '# A\n1\n# B\n2\n' });
    expect((await readHome(`${url}#b`, here)).text).toBe('# B\n2');
  });
});

describe('https homes: what is not', () => {
  test('anything without --check', async () => {
    expect((await readHome(url, { ...look, check: false })).reason).toMatch(/--check only/);
  });

  test('a host that the config does not name, or another port of one that it does', async () => {
    for (const ref of ['https://evil.example.org/', 'https://docs.example.org:8443/']) {
      expect((await readHome(ref, look)).reason).toMatch(/not allowed: .* not among/);
    }
  });

  test('loopback by number and by name, also when it is listed', async () => {
    for (const ref of ['https://127.0.0.1/', 'https://localhost/']) {
      expect((await readHome(ref, look)).reason).toMatch(/not allowed: .*no public address/);
    }
  });

  test('a name with one private address among public ones, after the look-up', async () => {
    const dial = () => {
      throw new Error('must not be dialled');
    };
    const ports = { resolve: () => Promise.resolve(['93.184.216.34', '169.254.169.254']), dial, deadlineMs: 1_000 };
    expect((await readHome(url, { ...look, ports })).reason).toMatch(/169\.254\.169\.254, which is no public/);
  });

  test('the connection goes to the address that was judged', async () => {
    const dialled: unknown[] = [];
    const ports = {
      resolve: () => Promise.resolve(['93.184.216.34']),
      dial: (to: unknown) => {
        dialled.push(to);
        throw new Error('seen enough');
      },
      deadlineMs: 1_000,
    };
    expect(await readHome(url, { ...look, ports })).toMatchObject({ checked: false });
    expect(dialled).toEqual([{ address: '93.184.216.34', port: 443, host: 'docs.example.org' }]);
  });

  test('a redirect is not followed', async () => {
    let asked = 0;
    const here = await serving((_, response) => {
      asked += 1;
      response.writeHead(302, { location: 'https://docs.example.org/b.md' });
      response.end();
    });
    expect((await readHome(url, here)).reason).toMatch(/redirects/);
    expect(asked).toBe(1);
  });

  test('gone is checked; an error of the server is not', async () => {
    const here = await serving((request, response) => {
      response.writeHead(request.url === '/gone' ? 404 : 500);
      response.end();
    });
    expect(await readHome('https://docs.example.org/gone', here)).toMatchObject({ checked: true, fresh: false });
    expect(await readHome(url, here)).toMatchObject({ checked: false });
  });

  test('too much, announced or not', async () => {
    const here = await serving((request, response) => {
      response.setHeader('content-type', 'text/plain');
      if (request.url === '/said') response.setHeader('content-length', 3_000_000);
      response.on('error', () => undefined);
      response.write('x'.repeat(2_000_000));
      response.end('x'.repeat(1_000_000));
    });
    expect((await readHome('https://docs.example.org/said', here)).reason).toMatch(/3000000 bytes/);
    expect((await readHome(url, here)).reason).toMatch(/more than 1048576/);
  });

  test('a server that never ends its answer, and one that never begins', async () => {
    const here = await serving((request, response) => {
      response.setHeader('content-type', 'text/plain');
      if (request.url !== '/silent') response.write('x');
    }, 200);
    for (const ref of [url, 'https://docs.example.org/silent']) {
      expect((await readHome(ref, here)).reason).toMatch(/did not answer within/);
    }
  });

  test('a look-up that never ends', async () => {
    const ports = { resolve: () => new Promise<string[]>(() => undefined), dial: () => connect(1), deadlineMs: 100 };
    expect((await readHome(url, { ...look, ports })).reason).toMatch(/did not answer within/);
  });

  test('pictures and packed answers', async () => {
    const here = await serving((request, response) => {
      response.setHeader('content-type', request.url === '/zip' ? 'text/plain' : 'image/png');
      if (request.url === '/zip') response.setHeader('content-encoding', 'gzip');
      response.end('x');
    });
    for (const ref of [url, 'https://docs.example.org/zip']) {
      expect((await readHome(ref, here)).reason).toMatch(/not text/);
    }
  });
});

test('public addresses: what is none', () => {
  const closed = [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '127.0.0.1',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '64:ff9b::7f00:1',
    'fe80::1',
    'fc00::1',
    'fd12::1',
    'ff02::1',
    '2001:db8::1',
    '2002:7f00:1::',
    '2001:0:1::',
    'not an address',
    '',
  ];
  expect(closed.filter(isPublicAddress)).toEqual([]);
  expect(['93.184.216.34', '1.1.1.1', '172.32.0.1', '2606:4700::1111'].every(isPublicAddress)).toBe(true);
});
