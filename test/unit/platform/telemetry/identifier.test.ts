/** New ids sort in the order they were made, and none repeats.
 *  It must not look into them beyond their form. */
import { expect, test } from 'vitest';
import * as browser from '../../../../src/client/identifier.ts';
import { identifierAt, newIdentifier, newShortId } from '../../../../src/platform/telemetry/identifier.ts';

test('ids of one millisecond, or of a clock that goes back, sort as they were made', () => {
  const start = Date.now() + 60_000;
  const clock = [start, start, start, start - 5_000, start, start + 1, start + 1];
  const ids = clock.map((now) => newIdentifier(now));
  expect(ids.toSorted()).toEqual(ids);
});

test('ten thousand at once are ten thousand, of version 7', () => {
  const ids = Array.from({ length: 10_000 }, () => newIdentifier());
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test.each([
  ['the service', newShortId],
  ['a client', browser.newShortId],
])('ten thousand short ids of %s are ten thousand', (_of, make) => {
  const ids = Array.from({ length: 10_000 }, () => make());
  expect(new Set(ids).size).toBe(10_000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-v]{23}$/);
});

test('short ids of different milliseconds sort as they were made, and tell when', () => {
  const instants = [0, 31, 32, 1_795_423_363_797, 1_795_423_363_798, 2 ** 44];
  const ids = instants.map((now) => newShortId(now));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.map(identifierAt)).toEqual(instants);
});

test('an id tells when it was made; a foreign text does not', () => {
  // Later than every other instant of any file: the last instant is state that the files of a worker share.
  const at = Date.now() + 366 * 86_400_000;
  expect([newIdentifier(at), 'a-callers-own'].map(identifierAt)).toEqual([at, null]);
});
