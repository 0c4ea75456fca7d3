import { expect, test } from 'vitest';
import type { Body } from '../../../../src/core/event.ts';
import { bodiesInPack, packedBodies } from '../../../../src/daemon/beliefs/packed-bodies.ts';

function bodyOf(number: number): Body {
  const supersedes = number % 3 === 0 ? { supersedes: ['a'.repeat(64)] } : {};
  return {
    at: '2026-07-27T15:04:05.000Z',
    content: `what was learned about case ${number} — “öäü” 𝔘`,
    host: 'alpha',
    kind: 'lesson',
    mesh: 'm'.repeat(64),
    nonce: String(number).padStart(32, '0'),
    session: 's',
    subject: `lesson/case-${number}`,
    ...supersedes,
  };
}

const count = bodiesInPack * 3 + 5;

test('a body reads the same, member for member, loose, packed, loose again, and packed again', () => {
  const bodies = packedBodies();
  const places = Array.from({ length: count }, (_, number) => bodies.keep(bodyOf(number)));
  const said = places.map((place) => JSON.stringify(bodies.read(place)));
  expect(said).toEqual(Array.from({ length: count }, (_, number) => JSON.stringify(bodyOf(number))));
  for (let round = 0; round < 2; round += 1) {
    while (bodies.pack());
    expect(places.map((place) => JSON.stringify(bodies.read(place)))).toEqual(said);
  }
});

test('packing takes one pack at a time, leaves what is being filled, and takes again what was read of', () => {
  const bodies = packedBodies();
  for (let number = 0; number < count; number += 1) bodies.keep(bodyOf(number));
  expect([bodies.pack(), bodies.pack(), bodies.pack(), bodies.pack()]).toEqual([true, true, true, false]);
  bodies.read(count - 1);
  expect(bodies.pack()).toBe(false);
  bodies.read(1);
  bodies.read(2);
  expect([bodies.pack(), bodies.pack()]).toEqual([true, false]);
});

test('bodies that come while others are packed have places of their own', () => {
  const bodies = packedBodies();
  const places = Array.from({ length: count }, (_, number) => {
    const place = bodies.keep(bodyOf(number));
    if (number % 50 === 0) bodies.pack();
    return place;
  });
  expect(new Set(places).size).toBe(count);
  expect(places.map((place) => bodies.read(place).nonce)).toEqual(places.map((_, number) => bodyOf(number).nonce));
});
