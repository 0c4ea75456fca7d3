/**
 * Attacks on signed logs that were collected outside (../shared/vectors/log-attacks.json), in our format: forks, replays,
 * identity, supersession, time. Each title begins with the name of the attack there; coverage.test.ts counts them.
 */
import { describe, expect, test } from 'vitest';
import type { JsonValue } from '../../../src/crypto/canonical.ts';
import { eventId, parseBody } from '../../../src/core/event.ts';
import { parseLine } from '../../../src/core/line.ts';
import { extendLog } from '../../../src/core/log.ts';
import {
  approvalOf,
  dana,
  fact,
  hostKeys,
  mallory,
  orders,
  signedMesh,
  type SignedMesh,
} from '../../lib/signed-mesh.ts';
import { craig } from '../../lib/trust-ops.ts';

/** The one root that every order of arrival gives. */
function oneRoot(mesh: SignedMesh): string {
  const roots = new Set(orders.map(([order, inTurns]) => mesh.verdict(order, inTurns).root));
  expect(roots.size).toBe(1);
  return [...roots][0] ?? '';
}

describe('fork', () => {
  test('equivocation-same-id: two bodies have two ids, and one signer who approves both is a conflict on every host', () => {
    const mesh = signedMesh();
    const pay10 = mesh.say('alpha', fact('note/alpha', 'pay 10'), { by: craig });
    const pay1000 = mesh.say('beta', fact('note/alpha', 'pay 1000'), { by: craig });
    expect(pay10.id).not.toBe(pay1000.id);
    const { served, record, alarms } = mesh.verdict();
    expect(served('note/alpha')).toBeUndefined();
    expect(record('note/alpha').parked.first).toEqual([pay10.id, pay1000.id].toSorted());
    expect(alarms).toEqual(['SIGNERS_DISAGREE note/alpha ']);
    oneRoot(mesh);
  });

  test('equivocation-same-content-two-signatures: one body under two spellings of an approval is one event, and no alarm', () => {
    const mesh = signedMesh();
    const said = mesh.body('alpha', fact('note/alpha', 'pay 10'));
    const first = mesh.carry(said, { log: 'alpha', auth: approvalOf(said, { as: craig, hash: 'sha512' }) });
    const second = mesh.carry(said, { log: 'beta', auth: approvalOf(said, { as: craig, hash: 'sha256' }) });
    expect(second.auth?.sshsig).not.toBe(first.auth?.sshsig);
    expect(second.id).toBe(first.id);
    const { served, alarms, view, fold } = mesh.verdict();
    expect(served('note/alpha')).toBe('pay 10');
    expect(view(first.id).lines.map(({ verdict }) => verdict)).toEqual(['ok', 'ok']);
    expect(alarms).toEqual([]);
    expect(fold.nodes.size).toBe(1);
    oneRoot(mesh);
  });

  test('third-party-resign: neither a stranger nor another signer nor another host can say it as if somebody else had', () => {
    const mesh = signedMesh();
    const said = mesh.body('alpha', fact('ssh-route/mini', 'bastion'));
    // Under craig's name with mallory's key; with mallory's name; by dana, who may not sign routes; and bare, in gamma's log.
    mesh.carry(said, { log: 'gamma', auth: approvalOf(said, { as: craig, key: mallory.key }) });
    mesh.carry(said, { log: 'gamma', auth: approvalOf(said, { as: mallory }) });
    mesh.carry(said, { log: 'gamma', auth: approvalOf(said, { as: dana }) });
    mesh.carry(said, { log: 'gamma' });
    const { served, view, alarms } = mesh.verdict();
    expect(served('ssh-route/mini')).toBeUndefined();
    expect(view(eventId(said))).toMatchObject({ level: 'unsigned', status: 'held', reason: 'FORGED' });
    expect(view(eventId(said)).lines.map(({ verdict }) => verdict)).toEqual([
      'forged',
      'unknown',
      'out-of-scope',
      null,
    ]);
    expect(alarms).toEqual([
      'FORGED ssh-route/mini gamma',
      'OUT_OF_SCOPE ssh-route/mini gamma',
      'UNVERIFIABLE ssh-route/mini gamma',
    ]);
  });

  test('third-party-resign: a line in the log of alpha under the key of another host is no line of alpha', () => {
    const mesh = signedMesh();
    mesh.say('alpha', fact('note/alpha', 'one'));
    mesh.say('alpha', fact('note/beta', 'two'), { key: hostKeys['gamma'] ?? mallory.key });
    const { served, faults } = mesh.verdict();
    expect([served('note/alpha'), served('note/beta')]).toEqual(['one', undefined]);
    expect(faults).toEqual({ alpha: 'SIGNATURE' });
  });

  test('third-party-resign: the key of a host is no key of a signer, under its own name or under that of one', () => {
    const mesh = signedMesh();
    const asHost = { name: 'gamma', key: hostKeys['gamma'] ?? mallory.key };
    const [own, stolen] = ['note/own', 'note/stolen'].map((subject) => mesh.body('gamma', fact(subject, 'evil')));
    if (own === undefined || stolen === undefined) throw new Error('two bodies');
    mesh.carry(own, { log: 'gamma', auth: approvalOf(own, { as: asHost }) });
    mesh.carry(stolen, { log: 'gamma', auth: approvalOf(stolen, { as: craig, key: asHost.key }) });
    const { served, alarms } = mesh.verdict();
    expect([served('note/own'), served('note/stolen')]).toEqual([undefined, undefined]);
    expect(alarms).toEqual(['FORGED note/stolen gamma', 'UNVERIFIABLE note/own gamma']);
  });
});

describe('replay', () => {
  test('replay-other-log: a line copied into another log, or into another mesh, is a fault of that log', () => {
    const mesh = signedMesh();
    const { line } = mesh.say('beta', fact('note/alpha', 'one'));
    mesh.logs.set('gamma', [line.text]);
    expect(mesh.verdict().faults).toEqual({ gamma: 'LOG_NAME' });
    const { raw32 } = hostKeys['beta']?.public ?? {};
    const other = 'cd'.repeat(32);
    const keys = [{ key: raw32 ?? new Uint8Array(), from: 1, upto: null }];
    const { fault } = extendLog({ host: 'beta', mesh: other, from: { seq: 0, link: other }, keys }, [line.text]);
    expect(fault?.code).toBe('PREV');
  });

  test('replay-other-log: what a signer approved for another mesh is held out here, whoever carries it', () => {
    const mesh = signedMesh();
    const foreign = { ...mesh.body('alpha', fact('note/alpha', 'one')), mesh: 'cd'.repeat(32) };
    const { id } = mesh.carry(foreign, { log: 'beta', by: craig });
    const { served, view, alarms } = mesh.verdict();
    expect(served('note/alpha')).toBeUndefined();
    expect(view(id)).toMatchObject({ status: 'held', reason: 'FOREIGN_MESH' });
    expect(alarms).toEqual(['FOREIGN_MESH note/alpha beta']);
  });

  test.each(['alpha', 'beta', 'gamma'])(
    'replay-after-undo: what a signer granted and withdrew stays withdrawn, appended again by %s',
    (log) => {
      const mesh = signedMesh();
      const grant = mesh.say('alpha', fact('policy/deploy', 'allowed'), { by: craig });
      const undo = mesh.say(
        'alpha',
        { kind: 'retract', subject: 'policy/deploy', supersedes: [grant.id] },
        { by: craig },
      );
      mesh.carry(grant.body, { log, by: craig });
      mesh.carry(grant.body, { log, ...(grant.line.auth ? { auth: grant.line.auth } : {}) });
      const { served, view } = mesh.verdict();
      expect(served('policy/deploy')).toBeUndefined();
      expect(view(grant.id)).toMatchObject({ status: 'retracted', by: [undo.id] });
      oneRoot(mesh);
    },
  );

  test('replay-after-undo: a retraction that was superseded withdraws nothing anew when it is appended again', () => {
    const mesh = signedMesh();
    const first = mesh.say('alpha', fact('note/alpha', 'one'), { by: craig });
    const undo = mesh.say('alpha', { kind: 'retract', subject: 'note/alpha', supersedes: [first.id] }, { by: craig });
    mesh.say('beta', fact('note/alpha', 'two', { supersedes: [undo.id] }), { by: craig });
    mesh.carry(undo.body, { log: 'gamma', by: craig });
    expect(mesh.verdict().served('note/alpha')).toBe('two');
    oneRoot(mesh);
  });

  test('signature-transplant: an approval of one event on another is forged; a host signature on another line is none', () => {
    const mesh = signedMesh();
    const good = mesh.say('alpha', fact('note/alpha', 'good'), { by: craig });
    const evil = mesh.body('beta', fact('note/beta', 'evil'));
    mesh.carry(evil, { log: 'beta', auth: approvalOf(good.body, { as: craig }) });
    const { served, view, alarms } = mesh.verdict();
    expect([served('note/alpha'), served('note/beta')]).toEqual(['good', undefined]);
    expect(view(eventId(evil))).toMatchObject({ status: 'held', reason: 'FORGED' });
    expect(alarms).toEqual(['FORGED note/beta beta']);
    const [line, other] = [good.line.text, mesh.say('alpha', fact('note/c', 'c')).line.text];
    mesh.logs.set('alpha', [line, other.replace(/"sig":"[^"]*"/, /"sig":"[^"]*"/.exec(line)?.[0] ?? '')]);
    expect(mesh.verdict().faults).toEqual({ alpha: 'SIGNATURE' });
  });

  test('unknown-outer-field: a member that does not belong in a line ends the log, so one line has one spelling', () => {
    const mesh = signedMesh();
    const { line } = mesh.say('alpha', fact('note/alpha', 'one'));
    for (const text of [line.text.replace(/\}$/, ',"x":1}'), line.text.replace('{"body"', '{"aaa":1,"body"')]) {
      expect(parseLine(text, mesh.meshId)).toMatchObject({ ok: false, code: 'ENVELOPE' });
    }
  });
});

describe('identity', () => {
  test('id-squat-future-supersede: an edge to an event that nobody has seen takes nothing away when it arrives', () => {
    for (const by of [craig, undefined]) {
      const mesh = signedMesh();
      const later = mesh.body('alpha', fact('note/alpha', 'true'));
      const squat = { kind: 'retract', subject: 'note/alpha', supersedes: [eventId(later)] } as const;
      mesh.say('gamma', squat);
      expect(mesh.verdict().notices).toEqual(['DANGLING note/alpha gamma']);
      mesh.carry(later, by === undefined ? { log: 'alpha' } : { log: 'alpha', by });
      const { served, alarms } = mesh.verdict();
      expect(served('note/alpha')).toBe('true');
      expect(alarms).toEqual(by === undefined ? [] : ['UNSIGNED_OVER_SIGNED note/alpha gamma']);
      oneRoot(mesh);
    }
  });

  test('id-proto: names of Object.prototype are refused by their grammar or are plain data, and leave no trace', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    const mesh = signedMesh();
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    for (const name of ['__proto__', 'hasOwnProperty', 'toString', '']) {
      for (const field of ['subject', 'host', 'scope', 'audience', 'kind', 'mesh', 'nonce']) {
        const parsed = parseBody({ ...base, [field]: name });
        expect({ field, name, ok: parsed.ok }).toEqual({ field, name, ok: false });
      }
      expect(parseBody({ ...base, supersedes: [name] }).ok).toBe(false);
    }
    // A slug all the same: data like any other.
    const { id } = mesh.say('alpha', fact('constructor/constructor', 'one', { scope: 'constructor' }));
    const approved = mesh.body('beta', fact('note/beta', 'two'));
    const auth = { ...approvalOf(approved, { as: craig }), signer: 'constructor' };
    mesh.carry(approved, { log: 'beta', auth });
    const { view, faults } = mesh.verdict();
    expect(faults).toEqual({});
    expect(view(id)).toMatchObject({ status: 'held', reason: 'UNNORMALIZED' });
    expect(view(eventId(approved))).toMatchObject({ status: 'held', reason: 'UNVERIFIABLE' });
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });

  test('id-integer-like: entities that look like numbers fold alike in every order; short ids are no ids', () => {
    const mesh = signedMesh();
    for (const [host, entity] of [
      ['gamma', '9'],
      ['alpha', '10'],
      ['beta', '1'],
    ] as const)
      mesh.say(host, fact(`note/${entity}`, entity));
    const { served } = mesh.verdict();
    expect(['1', '9', '10'].map((entity) => served(`note/${entity}`))).toEqual(['1', '9', '10']);
    oneRoot(mesh);
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    for (const id of ['1', '10', '9']) expect(parseBody({ ...base, supersedes: [id] }).ok).toBe(false);
  });

  test('homoglyph-subject: a subject is ASCII; look-alikes in a text are two claims, and park', () => {
    const mesh = signedMesh();
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    expect(parseBody({ ...base, subject: 'note/\u0430lpha' })).toMatchObject({ ok: false, code: 'FIELD_VALUE' });
    mesh.say('alpha', fact('note/payee', 'paypal'));
    mesh.say('beta', fact('note/payee', 'p\u0430yp\u0430l'));
    expect(mesh.verdict().record('note/payee')).toMatchObject({ status: 'parked', parked: { count: 2 } });
  });
});

describe('supersession', () => {
  test('supersede-self: no event can name its own id, and one that names an unseen id waits without effect', () => {
    const mesh = signedMesh();
    const plain = mesh.body('alpha', fact('note/alpha', 'one'));
    // The id is the hash of the body with its edges: naming any id makes it another one.
    const self = { ...plain, supersedes: [eventId(plain)] };
    expect(eventId(self)).not.toBe(eventId(plain));
    mesh.carry(self, { log: 'alpha' });
    const { served, notices } = mesh.verdict();
    expect(served('note/alpha')).toBe('one');
    expect(notices).toEqual(['DANGLING note/alpha alpha']);
  });

  test('supersede-foreign: another host revises what is agreed, and only that; it removes nothing and settles nothing', () => {
    const mesh = signedMesh();
    const agreed = mesh.say('alpha', fact('note/agreed', 'v1'));
    const kept = mesh.say('alpha', fact('note/kept', 'v1'));
    const [left, right] = [mesh.say('alpha', fact('note/split', 'v1')), mesh.say('beta', fact('note/split', 'v2'))];
    const own = mesh.say('alpha', fact('policy/own', 'v1'));
    mesh.say('gamma', fact('note/agreed', 'v2', { supersedes: [agreed.id] }));
    mesh.say('gamma', { kind: 'retract', subject: 'note/kept', supersedes: [kept.id] });
    mesh.say('gamma', fact('note/split', 'v3', { supersedes: [left.id, right.id].toSorted() }));
    mesh.say('gamma', fact('policy/own', 'v2', { supersedes: [own.id] }));
    const { served, record, notices } = mesh.verdict();
    expect([served('note/agreed'), served('note/kept')]).toEqual(['v2', 'v1']);
    expect(notices).toContain('REVISED note/agreed gamma');
    expect(record('note/split')).toMatchObject({ status: 'parked', parked: { count: 3 } });
    expect(record('policy/own').status).toBe('parked');
    oneRoot(mesh);
  });

  test('supersede-fork: two hosts that replace one claim by different ones park it, in every order', () => {
    const mesh = signedMesh();
    const first = mesh.say('alpha', fact('note/alpha', 'v1'));
    mesh.say('beta', fact('note/alpha', 'v2', { supersedes: [first.id] }));
    mesh.say('gamma', fact('note/alpha', 'v3', { supersedes: [first.id] }));
    const { record, alarms } = mesh.verdict();
    expect(record('note/alpha').status).toBe('parked');
    expect(alarms).toEqual(['PARKED note/alpha ']);
    oneRoot(mesh);
  });
});

describe('time', () => {
  test('future-far: a stamp of the year 9999 outlives nothing: a later word of the same host stands', () => {
    const mesh = signedMesh();
    const said = mesh.body('alpha', fact('note/alpha', 'for ever'), '9999-12-31T23:59:59.000Z');
    mesh.carry(said, { log: 'alpha' });
    expect(mesh.verdict().served('note/alpha')).toBe('for ever');
    mesh.say('alpha', fact('note/alpha', 'corrected', { supersedes: [eventId(said)] }));
    expect(mesh.verdict().served('note/alpha')).toBe('corrected');
    const disputed = mesh.body('alpha', fact('note/beta', 'future'), '9999-12-31T23:59:59.000Z');
    mesh.carry(disputed, { log: 'alpha' });
    mesh.say('beta', fact('note/beta', 'present'));
    expect(mesh.verdict().record('note/beta').status).toBe('parked');
    oneRoot(mesh);
  });

  test('time-spellings: one instant has one legal spelling', () => {
    const mesh = signedMesh();
    const base = mesh.body('alpha', fact('note/alpha', 'one')) as unknown as Record<string, JsonValue>;
    const spellings = [
      '2026-11-30T00:00:00.000Z',
      '2026-11-30T00:00:00Z',
      '2026-11-30T00:00:00.000+00:00',
      '2026-11-30T00:00:00.000z',
      '2026-11-29T24:00:00.000Z',
      '2026-11-29T23:59:60.000Z',
      '2026-11-30T00:00Z',
      '2026-11-30 00:00:00.000Z',
      '20261130T000000.000Z',
    ];
    expect(spellings.filter((at) => parseBody({ ...base, at }).ok)).toEqual(['2026-11-30T00:00:00.000Z']);
  });

  test('time-equal: claims of one instant are a tie that no hash and no order breaks', () => {
    const at = '2026-11-30T10:00:00.000Z';
    const mesh = signedMesh();
    mesh.carry(mesh.body('alpha', fact('note/alpha', 'a'), at), { log: 'alpha' });
    mesh.carry(mesh.body('beta', fact('note/alpha', 'b'), at), { log: 'beta' });
    expect(mesh.verdict().record('note/alpha').status).toBe('parked');
    oneRoot(mesh);
  });
});
