/** Notifying once per mesh: several machines, their notes carried by hand, time as a number. */
import { describe, expect, test } from 'vitest';
import { notifyBackOffMs, notifyGapMs, notifyLagMs, notifyRankMs, notifyReadMs } from '../../../../src/core/limits.ts';
import { alarmKey, standingOf } from '../../../../src/core/notify/notes.ts';
import { openNotify, type NotifyEvent, type NotifyState } from '../../../../src/core/notify/state.ts';
import { nextTime, rankOf, step } from '../../../../src/core/notify/step.ts';
import { openMesh, park, words } from '../../../lib/notify-mesh.ts';

const raised = 'raised PARKED ssh-route/mini';
const cleared = 'cleared PARKED ssh-route/mini';
const names = ['alpha', 'beta', 'gamma'];

describe('notify: once per mesh', () => {
  test('the first by name tells at once, and nobody else ever does', () => {
    const mesh = openMesh(names);
    mesh.ready();
    mesh.stands([park]);
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
    mesh.pass(10 * notifyRankMs);
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
  });

  test('raised, cleared, raised again: each is told once', () => {
    const mesh = openMesh(names);
    mesh.ready();
    for (const keys of [[park], [], [park], []]) {
      mesh.stands(keys);
      mesh.pass(10 * notifyRankMs);
    }
    expect(mesh.told()).toEqual([raised, cleared, raised, cleared].map((text) => `alpha: ${text}`));
  });

  test('what comes and goes before anybody was told is told by nobody', () => {
    const mesh = openMesh(['beta', 'gamma']);
    mesh.host('beta').up = false;
    mesh.tell('gamma', { kind: 'ready' });
    mesh.stands([park], ['gamma']);
    mesh.pass(notifyRankMs / 2);
    mesh.stands([], ['gamma']);
    mesh.pass(10 * notifyRankMs);
    expect(mesh.told()).toEqual([]);
  });

  test('the order of the policy comes before names', () => {
    const mesh = openMesh(names);
    mesh.ready();
    mesh.stands([park], names, ['gamma']);
    mesh.pass(10 * notifyRankMs);
    expect(mesh.told()).toEqual([`gamma: ${raised}`]);
  });

  test('a host without a notifier tells nothing, and nobody waits for it', () => {
    const mesh = openMesh(names, { notifiers: ['beta', 'gamma'] });
    for (const name of ['beta', 'gamma'])
      mesh.tell(name, { kind: 'notes', host: 'alpha', notes: { notifies: false, told: new Map() } });
    mesh.ready();
    mesh.stands([park]);
    expect(mesh.told()).toEqual([`beta: ${raised}`]);
  });
});

describe('notify: failover', () => {
  test('the first is down: the second tells after its wait, and the first says nothing when it comes back', () => {
    const mesh = openMesh(names);
    mesh.host('alpha').up = false;
    mesh.ready();
    mesh.tell('alpha', { kind: 'asleep' });
    mesh.stands([park], ['beta', 'gamma']);
    mesh.pass(notifyRankMs - 1);
    expect(mesh.told()).toEqual([]);
    mesh.pass(1 + notifyReadMs);
    expect(mesh.told()).toEqual([`beta: ${raised}`]);
    mesh.host('alpha').up = true;
    mesh.stands([park], ['alpha']);
    mesh.tell('alpha', { kind: 'ready' });
    mesh.pass(20 * notifyRankMs);
    expect(mesh.told()).toEqual([`beta: ${raised}`]);
  });

  test('the notifier of the first fails: the second tells; the first goes on trying and then finds it told', () => {
    const mesh = openMesh(names, { deaf: 'alpha' });
    mesh.ready();
    mesh.stands([park]);
    expect(mesh.host('alpha').state.notifiers.get('phone')).toMatchObject({ failures: 1, fault: 'no network' });
    mesh.pass(2 * notifyRankMs);
    expect(mesh.told()).toEqual([`beta: ${raised}`]);
    mesh.host('alpha').works = true;
    mesh.pass(20 * notifyRankMs);
    expect(mesh.told()).toEqual([`beta: ${raised}`]);
  });

  test('alone, a notifier that fails is tried again, later each time, until it works', () => {
    const mesh = openMesh(['alpha'], { deaf: 'alpha' });
    mesh.ready();
    mesh.stands([park]);
    mesh.pass(notifyBackOffMs);
    expect(mesh.host('alpha').state.notifiers.get('phone')?.failures).toBe(2);
    mesh.pass(2 * notifyBackOffMs);
    expect(mesh.host('alpha').state.notifiers.get('phone')?.failures).toBe(3);
    mesh.host('alpha').works = true;
    mesh.pass(4 * notifyBackOffMs);
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
    expect(mesh.host('alpha').state.notifiers.get('phone')).toMatchObject({ failures: 0, fault: undefined });
  });

  test('the teller is gone when it is raised again: the next number is known, so nobody tells twice', () => {
    const mesh = openMesh(names);
    mesh.ready();
    mesh.stands([park]);
    mesh.pass(1_000);
    mesh.stands([]);
    mesh.pass(notifyRankMs - 2_000);
    mesh.host('alpha').up = false;
    mesh.tell('alpha', { kind: 'asleep' });
    mesh.stands([park], ['beta', 'gamma']);
    mesh.pass(4 * notifyRankMs);
    const all = [`alpha: ${raised}`, `alpha: ${cleared}`, `beta: ${raised}`];
    expect(mesh.told()).toEqual(all);
    expect(mesh.host('beta').state.told).toEqual(new Map([[park, 3]]));
    mesh.host('alpha').up = true;
    mesh.stands([park], ['alpha']);
    mesh.tell('alpha', { kind: 'ready' });
    mesh.pass(20 * notifyRankMs);
    expect(mesh.told()).toEqual(all);
  });

  test('the teller is gone when it is cleared: whoever saw it raised tells that', () => {
    const mesh = openMesh(names);
    mesh.ready();
    mesh.stands([park]);
    mesh.pass(2 * notifyRankMs);
    mesh.tell('beta', { kind: 'notes', host: 'alpha', notes: { notifies: true, told: mesh.host('alpha').state.told } });
    mesh.host('alpha').up = false;
    mesh.stands([], ['beta', 'gamma']);
    mesh.pass(4 * notifyRankMs);
    expect(mesh.told()).toEqual([`alpha: ${raised}`, `beta: ${cleared}`]);
  });
});

describe('notify: starts and sleeps', () => {
  test('nothing is told before peers have been asked', () => {
    const mesh = openMesh(['alpha']);
    mesh.stands([park]);
    mesh.pass(10 * notifyRankMs);
    expect(mesh.told()).toEqual([]);
    mesh.ready();
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
  });

  test('after a restart what was told is not told again, and what was cleared meanwhile is', () => {
    const start = (): NotifyState => openNotify({ host: 'alpha', notifiers: ['phone'], told: new Map([[park, 1]]) });
    const run = (keys: readonly string[]): readonly string[] => {
      let state = start();
      const sent: string[] = [];
      const events: NotifyEvent[] = [
        { kind: 'standing', standing: keys.map(standingOf), hosts: [], order: [] },
        { kind: 'ready' },
        { kind: 'read' },
      ];
      for (const event of events) {
        const done = step(state, { at: 0, event });
        state = done.state;
        for (const effect of done.effects) if (effect.kind === 'send') sent.push(...effect.tellings.map(words));
      }
      return sent;
    };
    expect(run([park])).toEqual([]);
    expect(run([])).toEqual([cleared]);
  });
});

describe('notify: what others say', () => {
  test('the word of the host that is to blame does not silence its alarm', () => {
    const forged = alarmKey('FORGED', 'ssh-route/mini', 'beta');
    const mesh = openMesh(['alpha', 'beta']);
    mesh.tell('alpha', { kind: 'notes', host: 'beta', notes: { notifies: true, told: new Map([[forged, 1]]) } });
    mesh.ready();
    mesh.stands([forged], ['alpha']);
    mesh.pass(notifyReadMs);
    expect(mesh.told()).toEqual(['alpha: raised FORGED ssh-route/mini']);
  });

  test('a host that lags behind does not tell the old state: it waits for the lines that explain it', () => {
    const mesh = openMesh(['alpha', 'beta']);
    mesh.ready();
    mesh.stands([park]);
    const ahead = new Map([[park, 2]]);
    mesh.tell('alpha', { kind: 'notes', host: 'beta', notes: { notifies: true, told: ahead } });
    mesh.pass(notifyLagMs - 1);
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
    mesh.stands([], ['alpha']);
    mesh.pass(10 * notifyLagMs);
    expect(mesh.told()).toEqual([`alpha: ${raised}`]);
  });

  test('rank: a host that nothing is known of may have a notifier', () => {
    const state = { ...openNotify({ host: 'gamma', notifiers: ['phone'], told: new Map() }), hosts: ['alpha', 'beta'] };
    expect(rankOf(state)).toBe(2);
    expect(rankOf({ ...state, peers: new Map([['alpha', { notifies: false, told: new Map() }]]) })).toBe(1);
  });
});

describe('notify: floods', () => {
  test('many alarms at once are one message, and what follows soon after is the next one', () => {
    const messages: number[] = [];
    let state = openNotify({ host: 'alpha', notifiers: ['phone'], told: new Map() });
    const tell = (at: number, event: NotifyEvent): void => {
      const done = step(state, { at, event });
      state = done.state;
      for (const effect of done.effects) {
        if (effect.kind === 'read-notes') tell(at, { kind: 'read' });
        if (effect.kind !== 'send') continue;
        messages.push(effect.tellings.length);
        tell(at, { kind: 'sent', notifier: 'phone', ok: true });
      }
    };
    const some = (count: number): NotifyEvent => {
      const keys = Array.from({ length: count }, (_, at) => alarmKey('PARKED', `note/n-${at}`, null));
      return { kind: 'standing', standing: keys.map(standingOf), hosts: [], order: [] };
    };
    tell(0, { kind: 'ready' });
    tell(1, some(500));
    for (let at = 1; at < 100; at += 1) tell(1 + at, some(500 + at));
    expect(messages).toEqual([500]);
    tell(nextTime(state) ?? 0, { kind: 'time' });
    expect(messages).toEqual([500, 99]);
    expect(nextTime(state)).toBeUndefined();
    expect(notifyGapMs).toBeGreaterThan(1_000);
  });

  test('a notifier that never works keeps a bounded list', () => {
    let state = openNotify({ host: 'alpha', notifiers: ['phone'], told: new Map() });
    const tell = (at: number, event: NotifyEvent): void => {
      const done = step(state, { at, event });
      state = done.state;
      for (const effect of done.effects) {
        if (effect.kind === 'read-notes') tell(at, { kind: 'read' });
        if (effect.kind === 'send') tell(at, { kind: 'sent', notifier: 'phone', ok: false, detail: 'no' });
      }
    };
    tell(0, { kind: 'ready' });
    const keys = Array.from({ length: 3_000 }, (_, at) => alarmKey('PARKED', `note/n-${at}`, null));
    tell(1, { kind: 'standing', standing: keys.map(standingOf), hosts: [], order: [] });
    const phone = state.notifiers.get('phone');
    expect([phone?.waiting.length, phone?.dropped]).toEqual([1_000, 2_000]);
  });
});
