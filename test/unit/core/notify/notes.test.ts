/** The notes file: signed, strict, bounded. */
import { describe, expect, test } from 'vitest';
import { notifyToldMax, viewNotesBytesMax } from '../../../../src/core/limits.ts';
import { alarmKey, printNotes, readNotesText, standingOf } from '../../../../src/core/notify/notes.ts';
import { boundTold, mergeTold } from '../../../../src/core/notify/told.ts';
import { publicKeyOf, signEd25519, signingKeyFromSeed } from '../../../../src/crypto/ed25519.ts';

const key = signingKeyFromSeed(new Uint8Array(32).fill(7));
const other = signingKeyFromSeed(new Uint8Array(32).fill(8));
const of = { mesh: 'a'.repeat(64), host: 'alpha' };
const sign = (text: string): Uint8Array => signEd25519(key, text);
const park = alarmKey('PARKED', 'ssh-route/mini', null);

describe('notes', () => {
  test('what a host wrote is what others read', () => {
    const notes = { notifies: true, told: new Map([[park, 3]]) };
    expect(readNotesText(printNotes(of, notes, sign), of, [publicKeyOf(other), publicKeyOf(key)])).toEqual(notes);
  });

  test('notes of another host, mesh or key, or changed by whoever carried them, are none', () => {
    const text = printNotes(of, { notifies: true, told: new Map([[park, 3]]) }, sign);
    expect(readNotesText(text, { ...of, host: 'beta' }, [publicKeyOf(key)])).toBeUndefined();
    expect(readNotesText(text, { ...of, mesh: 'b'.repeat(64) }, [publicKeyOf(key)])).toBeUndefined();
    expect(readNotesText(text, of, [publicKeyOf(other)])).toBeUndefined();
    expect(readNotesText(text.replace(':3', ':5'), of, [publicKeyOf(key)])).toBeUndefined();
    for (const bad of ['', '{}', 'null', text.slice(1), `${text} `, '[]'.repeat(viewNotesBytesMax)])
      expect(readNotesText(bad, of, [publicKeyOf(key)])).toBeUndefined();
  });

  test('numbers that nobody can have told are passed over', () => {
    const told = new Map([
      [park, 1],
      ['X a b', 2 ** 40],
      ['y'.repeat(400), 1],
    ]);
    expect(readNotesText(printNotes(of, { notifies: false, told }, sign), of, [publicKeyOf(key)])?.told).toEqual(
      new Map([[park, 1]]),
    );
  });

  test('a key says kind, subject and host', () => {
    expect(standingOf(park)).toEqual({ key: park, kind: 'PARKED', about: 'ssh-route/mini', host: null });
    expect(standingOf(alarmKey('FORGED', 'a/b', 'beta'))).toMatchObject({ kind: 'FORGED', about: 'a/b', host: 'beta' });
    expect(standingOf(alarmKey('ROLLED_BACK', '', 'beta'))).toMatchObject({ about: '', host: 'beta' });
  });
});

describe('told', () => {
  test('the larger number counts, whoever says it', () => {
    const merged = mergeTold(
      new Map([
        ['a', 1],
        ['b', 4],
      ]),
      new Map([
        ['a', 2],
        ['b', 3],
        ['c', 1],
      ]),
    );
    expect(Object.fromEntries(merged)).toEqual({ a: 2, b: 4, c: 1 });
  });

  test('it is bounded: what is over goes first, then the oldest; the longest keys fit into the file', () => {
    const told = new Map(
      Array.from({ length: notifyToldMax + 10 }, (_, at) => [`k${at}`, at < 5 ? 1 : at < 12 ? 2 : 1]),
    );
    const kept = boundTold(told);
    expect(kept.size).toBe(notifyToldMax);
    expect(['k0', 'k4', 'k12'].map((name) => kept.has(name))).toEqual([false, true, true]);
    const subject = `${'c'.repeat(31)}/${'e'.repeat(60)}`;
    const long = new Map(
      Array.from({ length: notifyToldMax }, (_, at) => [alarmKey('PARKED', `${subject}${at}`, null), 1]),
    );
    expect(printNotes(of, { notifies: true, told: long }, sign).length).toBeLessThan(viewNotesBytesMax);
  });
});
