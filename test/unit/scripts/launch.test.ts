import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkout, makeFolder, oldNodes, printed, runToEnd, start, writeFiles } from './processes.ts';

const program = `
  if (process.argv[2] === 'wait') {
    process.on('SIGTERM', () => { console.log('stopped'); process.exit(0); });
    setInterval(() => {}, 1000);
  }
  console.log(JSON.stringify({ args: process.argv.slice(2), node: process.versions.node }));
  if (process.argv[2] === 'wait') await new Promise(() => {});
  else if (process.argv[2] === 'die') process.kill(process.pid, 'SIGKILL');
  else process.exitCode = 7;
`;

/** An empty checkout with our launchers and a built program. */
function makeCheckout(files: Readonly<Record<string, string>> = { 'dist/cli/main.js': program }): string {
  const root = makeFolder();
  cpSync(join(checkout, 'bin'), join(root, 'bin'), { recursive: true });
  writeFiles(root, { 'package.json': '{"type":"module"}', ...files });
  return root;
}

function environment(root: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: root };
}

function installNode(root: string): void {
  mkdirSync(join(root, '.node', 'current', 'bin'), { recursive: true });
  symlinkSync(process.execPath, join(root, '.node', 'current', 'bin', 'node'));
}

describe('launcher', () => {
  test('runs the built program with its arguments and exit code', async () => {
    const root = makeCheckout();
    const ended = await runToEnd([process.execPath, join(root, 'bin/memctl'), 'recall', 'a b'], environment(root));
    expect(ended).toMatchObject({ code: 7, stderr: '' });
    expect(JSON.parse(ended.stdout)).toMatchObject({ args: ['recall', 'a b'] });
  });

  test('finds its checkout through a symlink, as npm link makes one', async () => {
    const root = makeCheckout();
    const elsewhere = makeFolder();
    symlinkSync(join(root, 'bin/memctl'), join(elsewhere, 'memctl'));
    const ended = await runToEnd([process.execPath, join(elsewhere, 'memctl'), 'x'], environment(root));
    expect(ended).toMatchObject({ code: 7, stderr: '' });
  });

  test('says how to build when there is no build', async () => {
    const root = makeCheckout({});
    const ended = await runToEnd([process.execPath, join(root, 'bin/memd')], environment(root));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toBe(`memd: it is not built yet.\n  run \`npm start\` or \`npm run build\` in ${root}\n`);
  });

  test('names a dependency that is not installed', async () => {
    const root = makeCheckout({ 'dist/cli/main.js': `import 'no-such-package';` });
    const ended = await runToEnd([process.execPath, join(root, 'bin/memctl')], environment(root));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/^memctl: a dependency is missing: .*no-such-package.*\n {2}run `npm ci` in /);
    expect(ended.stderr).not.toContain('    at ');
  });

  test('names a part of the build that is missing', async () => {
    const root = makeCheckout({ 'dist/cli/main.js': `import './command-table.js';` });
    const ended = await runToEnd([process.execPath, join(root, 'bin/memctl')], environment(root));
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^memctl: the build is not complete: .*command-table.*\n {2}run `npm run build` in /);
  });

  test('does not hide a failure of the program itself', async () => {
    const root = makeCheckout({ 'dist/cli/main.js': `throw new Error('of the program');` });
    const ended = await runToEnd([process.execPath, join(root, 'bin/memctl')], environment(root));
    expect(ended.code).toBe(1);
    expect(ended.stderr).toContain('of the program');
  });
});

describe.each(oldNodes())('launcher under $name', ({ command }) => {
  test('says what is needed when the checkout has no Node of its own', async () => {
    const root = makeCheckout();
    const ended = await runToEnd([...command(root), join(root, 'bin/memctl'), 'x'], environment(root));
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(
      /^memctl: Node \d+\.\d+\.\d+ is too old; 22\.14 or newer is needed\.\n {2}run `npm start`/,
    );
    expect(ended.stderr).not.toContain('    at ');
  });

  test('hands over to the Node of the checkout and keeps arguments and exit code', async () => {
    const root = makeCheckout();
    installNode(root);
    const ended = await runToEnd([...command(root), join(root, 'bin/memctl'), 'a', '--b'], environment(root));
    expect(ended).toMatchObject({ code: 7, stderr: '' });
    expect(JSON.parse(ended.stdout)).toEqual({ args: ['a', '--b'], node: process.versions.node });
  });

  test('passes SIGTERM on and waits for the program to end', async () => {
    const root = makeCheckout();
    installNode(root);
    const { child, ended } = start([...command(root), join(root, 'bin/memctl'), 'wait'], environment(root));
    await printed(child, 'wait');
    child.kill('SIGTERM');
    const { code, signal, stdout } = await ended;
    expect({ code, signal, last: stdout.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      signal: null,
      last: 'stopped',
    });
  });

  test('ends by the same signal as the program', async () => {
    const root = makeCheckout();
    installNode(root);
    const ended = await runToEnd([...command(root), join(root, 'bin/memctl'), 'die'], environment(root));
    expect(ended).toMatchObject({ code: null, signal: 'SIGKILL' });
  });

  test('does not hand over for ever when that Node is too old as well', async () => {
    const root = makeCheckout();
    const [node = '', ...flags] = command(root);
    writeFiles(root, { '.node/current/bin/node': `#!/bin/sh\nexec "${node}" ${flags.join(' ')} "$@"\n` });
    const ended = await runToEnd([...command(root), join(root, 'bin/memctl'), 'x'], environment(root));
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/is too old/);
  });
});
