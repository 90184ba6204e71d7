/** The table of claims that the worker's threads share: what a reader finds, and what it must not find. */
import { expect, test } from 'vitest';
import { claimTableBytes, readClaims, signsOfLife, writeClaims } from '../../../src/worker/claim-table.ts';

const claimOf = (name: string) => ({
  requestId: `request-${name}`,
  id: name.repeat(128 / name.length),
  fence: 7,
});

test('a claim is found as it was put, once it is old enough', () => {
  const memory = new SharedArrayBuffer(claimTableBytes(4));
  const place = writeClaims(memory).put(claimOf('a'), 1_000);
  expect(readClaims(memory, 999)).toEqual([]);
  expect(readClaims(memory, 1_000)).toEqual([
    { ...place, startedAt: 1_000, claim: claimOf('a'), pass: null },
  ]);
});

test('a pass is found with its claim', () => {
  const memory = new SharedArrayBuffer(claimTableBytes(1));
  const pass = { lane: `tool.${'l'.repeat(128)}`, token: '0199aaaa-0000-7000-8000-000000000000' };
  writeClaims(memory).put({ ...claimOf('a'), requestId: 'r'.repeat(161) }, 1, pass);
  expect(readClaims(memory, 1).map((entry) => entry.pass)).toEqual([pass]);
});

test('a removed claim is gone, and its slot serves the next one under another generation', () => {
  const memory = new SharedArrayBuffer(claimTableBytes(1));
  const table = writeClaims(memory);
  const first = table.put(claimOf('a'), 1);
  expect(table.put(claimOf('b'), 2)).toBeNull();
  table.remove(first?.slot ?? -1);
  expect(readClaims(memory, 10)).toEqual([]);
  const second = table.put(claimOf('b'), 3);
  expect(second?.slot).toBe(first?.slot);
  expect(second?.generation).not.toBe(first?.generation);
  expect(readClaims(memory, 10).map(({ claim }) => claim)).toEqual([claimOf('b')]);
});

test('identifiers of every length fit', () => {
  const memory = new SharedArrayBuffer(claimTableBytes(1));
  const claim = { requestId: 'r'.repeat(128), id: 'd'.repeat(128), fence: 2 ** 31 - 1 };
  writeClaims(memory).put(claim, 1);
  expect(readClaims(memory, 1)[0]?.claim).toEqual(claim);
});

test('signs of life are counted beside the claims', () => {
  const memory = new SharedArrayBuffer(claimTableBytes(1));
  const table = writeClaims(memory);
  table.put(claimOf('a'), 1);
  expect(signsOfLife(memory)).toBe(0);
  table.live();
  table.live();
  expect(signsOfLife(memory)).toBe(2);
  expect(readClaims(memory, 1).map(({ claim }) => claim)).toEqual([claimOf('a')]);
});
