// Every accepted spelling of a result, and how everything else is read.
// Must never let an unknown shape count as a success.
import { describe, expect, test } from 'vitest';
import { errorResult, normalizeResult, okResult } from '../../src/contract/result.ts';

const ok = { ok: true, payload: { a: 1 }, effects: [] };
const envelope = { type: 'auth', message: 'no', details: {}, retryable: false };
const upstream = { ...envelope, retryable: undefined, 'retryable?': false };
const failed = { ok: false, error: envelope, effects: [] };

describe('accepted spellings', () => {
  test.each([
    ['ok triple', ['ok', { a: 1 }, []], ok],
    ['ok pair', ['ok', { a: 1 }], ok],
    ['ok object', { ok: true, payload: { a: 1 }, effects: [] }, ok],
    ['ok object without effects', { ok: true, payload: { a: 1 } }, ok],
    ['ok with null payload', ['ok', null], { ...ok, payload: null }],
    ['error triple', ['error', envelope, []], failed],
    ['error pair', ['error', envelope], failed],
    ['error object', { ok: false, error: envelope, effects: [] }, failed],
    ['error object without effects', { ok: false, error: envelope }, failed],
    ['error with the upstream key', ['error', upstream], failed],
    ['one effect not in a list', ['ok', { a: 1 }, { type: 'emit' }], { ...ok, effects: [{ type: 'emit' }] }],
    ['effects of an error', ['error', envelope, [1]], { ...failed, effects: [1] }],
    ['null effects', { ok: true, payload: { a: 1 }, effects: null }, ok],
  ])('%s', (_name, value, result) => {
    expect(normalizeResult(value)).toStrictEqual(result);
  });

  test('an error reason of any kind is normalised', () => {
    expect(normalizeResult(['error', 'timeout'])).toMatchObject({
      ok: false,
      error: { type: 'timeout', retryable: true },
    });
  });

  test('a normal result stays unchanged', () => {
    for (const result of [okResult([1]), errorResult(envelope)])
      expect(normalizeResult(result)).toStrictEqual(result);
  });
});

describe('anything else is an invalid result', () => {
  test.each([
    ['null', null],
    ['undefined', undefined],
    ['a string', 'ok'],
    ['a number', 1],
    ['an empty list', []],
    ['a tuple too short', ['ok']],
    ['a tuple too long', ['ok', 1, [], 2]],
    ['another tag', ['fine', 1]],
    ['ok without payload', { ok: true }],
    ['error without error', { ok: false }],
    ['ok as a word', { ok: 'true', payload: 1 }],
    ['a bare payload', { content: [] }],
  ])('%s', (_name, value) => {
    const details = { result: value ?? null };
    const error = { type: 'invalid_result', message: 'Invalid result envelope', details, retryable: false };
    expect(normalizeResult(value)).toStrictEqual({ ok: false, error, effects: [] });
  });

  test('under the fallback’s name, if one is given', () => {
    const fallback = { type: 'malformed_result', message: 'Malformed result envelope' };
    expect(normalizeResult(7, fallback)).toMatchObject({ error: fallback });
  });
});

describe('the payload', () => {
  test('passes unchanged when it is JSON, at any size', () => {
    const payload = { list: Array.from({ length: 5000 }, (_, index) => index), text: 'x'.repeat(100_000) };
    const result = normalizeResult(['ok', payload]);
    expect(result.ok && result.payload).toBe(payload);
  });

  test('becomes JSON when it is not', () => {
    const payload = { at: new Date(0), n: 1n, f: Number.NaN, gone: undefined };
    expect(normalizeResult(['ok', payload])).toMatchObject({
      payload: { at: '1970-01-01T00:00:00.000Z', n: '1n', f: 'NaN' },
    });
  });

  test('is null when there is none', () => {
    expect(okResult(undefined)).toStrictEqual({ ok: true, payload: null, effects: [] });
  });
});
