import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, describe, test } from 'vitest';
import { joinMesh, type JoinOptions } from '../../../src/mesh/enrol/join.ts';
import { parseHostRequest, type HostRequest } from '../../../src/mesh/enrol/enrol.ts';
import { ed25519PrivatePem } from '../../../src/crypto/ssh-key.ts';
import { initRepository, type Repository } from '../../../src/store/git/repository.ts';
import { temporaryFolder } from '../../lib/temporary.ts';
import { craig, hostFields, otherOp, testKey } from '../../lib/trust-ops.ts';
import { serveTrustFile } from './hostile.ts';
import { hostKeys, introduce, meshId, meshOps, startNode, type TestNode } from './node.ts';

function requestOf(name: string, key: number = hostKeys[name] ?? 99): HostRequest {
  const { sign, ssh } = hostFields(name, key);
  return { host: name, sign, ssh, address: '' };
}

async function attempt(
  server: TestNode,
  options: Partial<JoinOptions> & { key?: number } = {},
): Promise<{ result: Awaited<ReturnType<typeof joinMesh>>; repository: Repository }> {
  const repository =
    options.repository ?? (await initRepository(join(temporaryFolder(), 'repo.git'), { host: 'beta' }));
  const key = options.key ?? 11;
  const result = await joinMesh({
    url: `ssh://127.0.0.1:${server.server.port}`,
    mesh: meshId,
    own: requestOf('beta', key),
    sshKey: ed25519PrivatePem(testKey(key + 1_000).seed, 'beta'),
    repository,
    ...options,
  });
  return { result, repository };
}

describe('joining', () => {
  test('takes the trust set of the pinned mesh; an ordinary cycle with it then brings the logs', async () => {
    const alpha = await startNode('alpha');
    await alpha.append('one', 'two');
    const { result, repository } = await attempt(alpha);
    expect(result).toMatchObject({ ok: true, value: { meshId, via: 'alpha', unsupported: [] } });
    if (!result.ok) return;
    expect(result.value.ops.map(({ id }) => id)).toEqual(meshOps('beta', 'gamma').map(({ id }) => id));
    expect([...result.value.charter.hosts.keys()]).toEqual(['alpha', 'beta', 'gamma']);
    expect(readdirSync(join(repository.gitDir, 'quarantine'))).toEqual([]);
    const beta = await startNode('beta', { ops: result.value.ops });
    introduce(alpha, beta);
    expect((await beta.cycle('alpha'))[0]).toMatchObject({ state: 'up', newEvents: 2 });
  });

  test('the trust op that the invitation names must be there', async () => {
    const alpha = await startNode('alpha');
    const added = meshOps('beta', 'gamma')[1]?.id ?? '';
    expect((await attempt(alpha, { mesh: `${meshId}:${added}` })).result).toMatchObject({ ok: true });
    expect((await attempt(alpha, { mesh: `${meshId}:${'a'.repeat(64)}` })).result).toMatchObject({
      ok: false,
      code: 'OP_MISSING',
    });
  });

  test('a host that nobody added is told the command, with the line that adds it', async () => {
    const alpha = await startNode('alpha', { ops: meshOps('gamma') });
    const { result } = await attempt(alpha);
    expect(result).toMatchObject({ ok: false, code: 'NOT_ADDED' });
    const detail = result.ok ? '' : result.detail;
    const line = /memctl host add '([^']+)'/.exec(detail)?.[1] ?? '';
    expect(parseHostRequest(line)).toEqual({ ok: true, value: requestOf('beta') });
  });

  test('a host whose name was added with another signing key is told so', async () => {
    const alpha = await startNode('alpha');
    const { result } = await attempt(alpha, { own: { ...requestOf('beta'), sign: testKey(50).text } });
    expect(result).toMatchObject({ ok: false, code: 'KEYS_DIFFER' });
  });

  test('another mesh than the pinned one is refused', async () => {
    const alpha = await startNode('alpha');
    expect((await attempt(alpha, { mesh: 'b'.repeat(64) })).result).toMatchObject({ ok: false, code: 'FOREIGN_MESH' });
  });

  test('a server that has the mesh but whose key is no host of it is dropped, and nothing of it is kept', async () => {
    // The data is public within the mesh: a copied repository is served with other keys.
    const impostor = await startNode('alpha', { key: 60 });
    const { result, repository } = await attempt(impostor);
    expect(result).toMatchObject({ ok: false, code: 'SERVER_NOT_ENROLLED' });
    expect(readdirSync(join(repository.objectDir, 'pack'))).toEqual([]);
    expect(readdirSync(join(repository.gitDir, 'quarantine'))).toEqual([]);
  });

  test('a server that claims the mesh id but serves another genesis is refused', async () => {
    const alpha = await startNode('alpha');
    alpha.lie((heads) => ({ ...heads, mesh: 'c'.repeat(64) }));
    expect((await attempt(alpha, { mesh: 'c'.repeat(64) })).result).toMatchObject({ ok: false, code: 'OP_MISSING' });
  });

  test('an op that this version cannot apply is handed on and reported', async () => {
    const op = otherOp({ mesh: meshId, by: craig, prev: [meshId], nonce: 700 }, 'audience-drop', { name: 'ops' });
    const alpha = await startNode('alpha');
    await serveTrustFile(alpha, op.id, `${op.text}\n`);
    const { result } = await attempt(alpha);
    expect(result).toMatchObject({ ok: true, value: { unsupported: [{ id: op.id, op: 'audience-drop' }] } });
    expect(result.ok ? result.value.ops.map(({ id }) => id) : []).toContain(op.id);
  });

  test.each(['', 'xyz', `${'a'.repeat(64)}:`, `${'a'.repeat(64)}:${'b'.repeat(64)}:`, 'A'.repeat(64)])(
    '"%s" is no mesh id',
    async (mesh) => {
      const alpha = await startNode('alpha');
      expect((await attempt(alpha, { mesh })).result).toMatchObject({ ok: false, code: 'NOT_A_MESH_ID' });
    },
  );

  test('what is typed as address is checked before anything is dialled', async () => {
    const alpha = await startNode('alpha');
    expect((await attempt(alpha, { url: 'https://example.test' })).result).toMatchObject({
      ok: false,
      code: 'NOT_AN_ADDRESS',
    });
    expect((await attempt(alpha, { url: 'ssh://127.0.0.1:1' })).result).toMatchObject({
      ok: false,
      code: 'UNREACHABLE',
    });
  });
});
