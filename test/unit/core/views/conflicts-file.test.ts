import { describe, expect, test } from 'vitest';
import { fact, rendered, rows, viewMesh } from '../../../lib/view-mesh.ts';

describe('CONFLICTS.md', () => {
  test('names host, session, time, level and id of every side, and the ways out', () => {
    const mesh = viewMesh();
    const a = mesh.say('alpha', fact('ssh-route/mini', 'ops@mini'), { session: 'desk-1' });
    const b = mesh.say('beta', fact('ssh-route/mini', 'root@mini'), { session: 'nas-7' });
    const c = mesh.say('gamma', fact('ssh-route/mini', 'root@mini'), { session: 'nas-7' });
    const short = ({ id }: { id: string }): string => id.slice(0, 12);
    const conflicts = rendered(mesh)('CONFLICTS.md');
    const at = 'at 2026-07-27T15:04:05.678Z';
    expect(conflicts.slice(conflicts.indexOf('## '))).toBe(`## UNRESOLVED \`ssh-route/mini\`

2 sides; none of them is the answer.

- side 1 of 2 [alpha 1 · session desk-1 · ${at} · unsigned · id ${short(a)}] = \`ops@mini\` → \`file:infra/FLEET.md\`
- side 2 of 2 [beta 1 · session nas-7 · ${at} · unsigned · id ${short(b)}] = \`root@mini\` → \`file:infra/FLEET.md\`
- side 2 of 2 [gamma 1 · session nas-7 · ${at} · unsigned · id ${short(c)}] = \`root@mini\` → \`file:infra/FLEET.md\`
- to concede side 1, on alpha: \`memctl retract ssh-route/mini --supersedes ${short(a)}\`
- to concede side 2, on beta: \`memctl retract ssh-route/mini --supersedes ${short(b)}\`
- to concede side 2, on gamma: \`memctl retract ssh-route/mini --supersedes ${short(c)}\`
- a signer decides: \`memctl sign ssh-route/mini --accept ID\` with the id of a side, or \`memctl sign ssh-route/mini\` to write another or withdraw all

Nothing more.
`);
  });

  test('signers that disagree are told so, and no command offers to take back what is signed', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('endpoint/db', '1'), { signer: 'craig' });
    mesh.say('beta', fact('endpoint/db', '2'), { signer: 'craig' });
    const conflicts = rendered(mesh)('CONFLICTS.md');
    expect(conflicts).toContain('Signers disagree (craig). 2 sides; none of them is the answer.');
    expect(conflicts).not.toContain('memctl retract');
    expect(conflicts).toContain('- SIGNERS_DISAGREE `endpoint/db`');
  });

  test('an unsigned claim against a signed retraction is no contradiction between hosts, and is told as what it is', () => {
    const mesh = viewMesh();
    const { id } = mesh.say('alpha', fact('endpoint/db', '1'), { signer: 'craig' });
    mesh.say('alpha', { kind: 'retract', subject: 'endpoint/db', supersedes: [id] }, { signer: 'craig' });
    mesh.say('beta', fact('endpoint/db', '1'));
    const view = rendered(mesh);
    expect(rows(view('INDEX.md'))).toEqual([
      '- `endpoint/db` [UNRESOLVED] unsigned claims against what is signed, from beta: `memctl recall endpoint/db`',
    ]);
    expect(view('CONFLICTS.md')).toContain('Unsigned, and against what a signer withdrew or said');
    expect(view('CONFLICTS.md')).toContain('- side 1 of 1 [beta 1 ');
  });

  test('two sides that look alike are told apart by their code points', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('note/user', 'ace'));
    mesh.say('beta', fact('note/user', '\u0430\u0441\u0435'));
    const [, side] = rows(rendered(mesh)('CONFLICTS.md'));
    expect(side).toContain('non-ASCII U+0430 U+0441 U+0435');
  });

  test('a conflict that repeats collapses: many sides and many claims stay bounded', () => {
    const mesh = viewMesh();
    for (let i = 0; i < 500; i += 1) mesh.say('alpha', fact('note/hot', `v${i}`));
    for (let i = 0; i < 50; i += 1) mesh.say('beta', fact('note/hot', 'v0'));
    const conflicts = rendered(mesh)('CONFLICTS.md');
    expect(rows(conflicts).length).toBeLessThan(60);
    expect(conflicts).toContain('500 sides; none of them is the answer.');
    expect(conflicts).toContain('[43 more claims say the same]');
    expect(conflicts).toContain('[484 more sides]');
  });

  test('contested, undecided and alarmed subjects are in it, and an open question says how to close it', () => {
    const mesh = viewMesh();
    mesh.say('alpha', fact('endpoint/db', '1'), { signer: 'craig' });
    mesh.say('beta', fact('endpoint/db', '2'));
    mesh.say('alpha', fact('note/x', '1'));
    const question = mesh.say('gamma', { kind: 'question', subject: 'note/x', content: 'Still so?' });
    mesh.say('beta', fact('note/f', '1'), { signer: 'mallory' });
    const conflicts = rendered(mesh)('CONFLICTS.md');
    expect(conflicts).toContain('## CONTESTED `endpoint/db`');
    expect(conflicts).toMatch(/- side 1 of 2 \[SERVED · alpha 1 .* signed by craig/);
    expect(conflicts).toContain('## UNDECIDED `note/x`');
    expect(conflicts).toMatch(/- question \[gamma 1 .*\] Still so\?/);
    expect(conflicts).toContain(
      `- to close it, on gamma: \`memctl retract note/x --supersedes ${question.id.slice(0, 12)}\``,
    );
    expect(conflicts).toMatch(/- FORGED `note\/f` \[from beta · count 1 · id [0-9a-f]{12}\]/);
  });
});
