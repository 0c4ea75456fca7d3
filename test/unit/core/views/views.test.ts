import { describe, expect, test } from 'vitest';
import { parseCanonical } from '../../../../src/crypto/canonical.ts';
import { createFold, foldLines } from '../../../../src/core/fold/fold.ts';
import { claimJson } from '../../../../src/core/views/claim-json.ts';
import { forgetSubjects, renderViews } from '../../../../src/core/views/render.ts';
import type { ViewCache } from '../../../../src/core/views/selection.ts';
import { viewSourceOf } from '../../../../src/core/views/view-source.ts';
import { must } from '../../../lib/trust-ops.ts';
import { fact, lesson, rendered, rows, viewCharter, viewMesh, type ViewMesh } from '../../../lib/view-mesh.ts';

describe('audiences and scopes', () => {
  function twoAudiences(): ViewMesh {
    const mesh = viewMesh();
    mesh.say('alpha', fact('note/op', 'for operators'));
    mesh.say('alpha', fact('note/web', 'for the web', { audience: 'web' }));
    mesh.say('alpha', fact('note/both', 'operator side'));
    mesh.say('beta', fact('note/both', 'web side', { audience: 'web' }));
    mesh.say('beta', fact('note/nobody', 'lost', { audience: 'undeclared' }));
    return mesh;
  }

  test('each audience sees its own, and one that includes others sees theirs', () => {
    const mesh = twoAudiences();
    const subjects = (audience: string): readonly string[] =>
      rows(rendered(mesh, { audience })('INDEX.md')).map((row) => row.split('`')[1] ?? '');
    expect(subjects('operator')).toEqual(['note/op', 'note/both']);
    expect(subjects('web')).toEqual(['note/web', 'note/both']);
    expect(subjects('all')).toEqual(['note/web', 'note/op', 'note/both']);
    expect(subjects('undeclared')).toEqual([]);
  });

  test('the side that is for another audience is named, not shown', () => {
    const conflicts = rendered(twoAudiences(), { audience: 'web' })('CONFLICTS.md');
    expect(conflicts).toMatch(/- side 1 of 2 \[alpha 3 .* for another audience\]\n/);
    expect(conflicts).not.toContain('operator side');
    expect(conflicts).toContain('`web side`');
  });

  test('an event for an audience that nobody declared is held where the operator sees it', () => {
    const mesh = twoAudiences();
    expect(rendered(mesh)('QUARANTINE.md')).toContain('`note/nobody` [UNDECLARED\\_AUDIENCE'.replace('\\', ''));
    expect(rendered(mesh, { audience: 'web' })('QUARANTINE.md')).not.toContain('nobody');
  });

  test('an equal claim stands in for a served one that is for another audience', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('note/x', 'v', { audience: 'web', hook: 'web words' }));
    mesh.say('beta', fact('note/x', 'v', { hook: 'operator words' }));
    expect(rows(rendered(mesh)('INDEX.md'))).toEqual([
      '- `note/x` [beta · +1 host] = `v` — operator words → `file:infra/FLEET.md`',
    ]);
  });

  test('one scope sees its own answer instead of that of everywhere; all scopes see each once', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('note/port', '80'));
    mesh.say('beta', fact('note/port', '8080', { scope: 'web' }));
    mesh.say('alpha', fact('note/same', 'v'));
    mesh.say('beta', fact('note/same', 'v', { scope: 'web' }));
    const all = rows(rendered(mesh)('INDEX.md'));
    expect(all.filter((row) => row.includes('note/port'))).toEqual([
      '- `note/port` [alpha] = `80` → `file:infra/FLEET.md`',
      expect.stringContaining('`note/port` [UNRESOLVED · scope web]'),
    ]);
    const web = rows(rendered(mesh, { scope: 'web' })('INDEX.md'));
    expect(web.filter((row) => row.includes('note/port'))).toEqual([
      expect.stringContaining('[UNRESOLVED · scope web]'),
    ]);
    const other = rows(rendered(mesh, { scope: 'other' })('INDEX.md'));
    expect(other.filter((row) => row.includes('note/port'))).toEqual([
      '- `note/port` [alpha] = `80` → `file:infra/FLEET.md`',
    ]);
  });
});

describe('index.json', () => {
  test('is canonical JSON of the entries of INDEX.md with their exact strings, and the counts', () => {
    const mesh = viewMesh();
    const { id, body } = mesh.say('alpha', lesson('a', 'exact `text`\nwith <b>'), { signer: 'craig' });
    mesh.say('alpha', fact('note/p', '1'));
    mesh.say('beta', fact('note/p', '2'));
    mesh.say('beta', fact('note/q', 'x', { lineage: 'untrusted' }));
    const text = rendered(mesh)('index.json');
    expect(text.endsWith('}\n')).toBe(true);
    const parsed = must(parseCanonical(text.slice(0, -1), { depthMax: 6 }));
    expect(parsed).toMatchObject({
      audience: 'operator',
      counts: { served: 1, unresolved: 1, quarantined: 1, held: 0, stale: 0, more: 0 },
      entries: [
        { section: 'rule', status: 'served', claim: { id, content: body.content, level: 'signed', signer: 'craig' } },
      ],
      newest: {
        alpha: [
          { subject: 'note/p', seq: 2 },
          { subject: 'lesson/a', seq: 1 },
        ],
      },
      unresolved: [{ subject: 'note/p', reason: 'UNRESOLVED', hosts: ['alpha', 'beta'], claims: { count: 2 } }],
    });
  });
});

describe('the bytes', () => {
  function busyMesh(): ViewMesh {
    const mesh = viewMesh();
    const own = new Map<string, string>();
    for (let i = 0; i < 400; i += 1) {
      const host = ['alpha', 'beta', 'gamma'][(i * 7) % 3] ?? '';
      const subject = `note/s${(i * i) % 61}`;
      const earlier = own.get(`${host} ${subject}`);
      const over = {
        ...(earlier === undefined ? {} : { supersedes: [earlier] }),
        ...(i % 17 === 0 ? { lineage: 'untrusted' as const } : {}),
      };
      const { id } = mesh.say(host, fact(subject, `v${i % 5}`, over), i % 11 === 0 ? { signer: 'craig' } : {});
      own.set(`${host} ${subject}`, id);
    }
    return mesh;
  }

  test('do not depend on the order in which logs arrive, or on a cache', () => {
    const mesh = busyMesh();
    const whole = rendered(mesh);
    const { charter, trust } = viewCharter();
    const fold = createFold(charter, trust, { approve: () => 'ok' });
    const cache: ViewCache = new Map();
    for (const host of ['gamma', 'alpha', 'beta']) {
      const lines = mesh.lines.filter(({ log }) => log === host);
      for (let i = 0; i < lines.length; i += 13) {
        forgetSubjects(cache, foldLines(fold, lines.slice(i, i + 13)).subjects);
        renderViews(viewSourceOf(fold), { cache });
      }
    }
    for (const [name, text] of renderViews(viewSourceOf(fold), { cache }))
      expect([name, text]).toEqual([name, whole(name)]);
  });

  test('name no folder, user, clock or host that renders', () => {
    const view = rendered(busyMesh());
    const { cwd, env } = process;
    for (const name of ['INDEX.md', 'CONFLICTS.md', 'QUARANTINE.md', 'STALE.md'] as const) {
      expect(view(name)).not.toContain(cwd());
      expect(view(name)).not.toContain(env['HOME'] ?? '/root');
      expect(view(name).replaceAll('2026-07-27T15:04:05.678Z', '')).not.toMatch(/\d\d:\d\d/);
    }
  });
});

test('claimJson: a claim in any output', () => {
  const mesh = viewMesh();
  const plain = mesh.say('alpha', fact('note/a', 'v', { polarity: 'absent', confidence: 'verified' }), {
    session: 's9',
    signer: 'craig',
  });
  const untrusted = mesh.say('beta', fact('note/b', 'secret words', { lineage: 'untrusted' }));
  mesh.settle();
  const { eventView } = viewSourceOf(mesh.fold);
  const json = (id: string): unknown => {
    const view = eventView(id);
    return view === undefined ? undefined : claimJson(view);
  };
  expect(json(plain.id)).toEqual({
    id: plain.id,
    host: 'alpha',
    seq: 1,
    at: '2026-07-27T15:04:05.678Z',
    kind: 'assert',
    subject: 'note/a',
    value: 'v',
    polarity: 'absent',
    home: 'file:infra/FLEET.md',
    level: 'signed',
    signer: 'craig',
    confidence: 'verified',
    session: 's9',
    status: 'served',
  });
  expect(JSON.stringify(json(untrusted.id))).not.toContain('secret');
});
