// What the model reads of a result.
// Must never change what a tool wrote without a mark.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../src/contract/result.ts';
import { toolContent } from '../../src/contract/tool/tool-content.ts';

describe('toolContent', () => {
  const late = errorResult(errorEnvelope('timeout', 'late', { timeout_ms: 5 }));
  const error = { type: 'timeout', message: 'late', details: { timeout_ms: 5 }, retryable: true };

  test.each([
    ['a success', okResult({ sum: 5 }), { ok: true, result: { sum: 5 } }],
    ['a text', okResult('5'), { ok: true, result: '5' }],
    ['a failure', late, { ok: false, error }],
    [
      'a success with effects, not shown',
      okResult(1, [{ type: 'stop_processing' }]),
      { ok: true, result: 1 },
    ],
  ])('of %s', (_, result, shown) => {
    expect(toolContent(result)).toBe(JSON.stringify(shown));
  });

  test('of something that is not a result', () => {
    expect(JSON.parse(toolContent('what?'))).toMatchObject({ ok: false, error: { type: 'invalid_result' } });
  });

  // A model that reads `[REDACTED]` calls the next tool with it.
  test('members with names of secrets are read as the tool wrote them', () => {
    const page = { next_page_token: 'p2', issue_key: 'AB-1', s3_key: 'a/b', nested: [{ 'X-Api-Key': 'k' }] };
    expect(JSON.parse(toolContent(okResult(page)))).toEqual({ ok: true, result: page });
    const failure = JSON.parse(toolContent(errorResult(errorEnvelope('auth', 'm', page))));
    expect(failure.error.details).toEqual(page);
  });

  test('a page of 90,000 characters, 2,000 items or 40 levels is read whole', () => {
    const deep = Array.from({ length: 40 }).reduce<unknown>((inner) => ({ inner }), 'end');
    const page = { text: 'x'.repeat(80_000), list: Array.from({ length: 2_000 }, () => 1), deep };
    expect(JSON.parse(toolContent(okResult(page)))).toEqual({ ok: true, result: page });
  });

  describe('a result that is too large', () => {
    const read = (payload: unknown, characters = 10_000) => {
      const content = toolContent(okResult(payload), characters);
      expect(content.length).toBeLessThanOrEqual(characters);
      return JSON.parse(content);
    };

    test('says in itself how much was left out and how to get it', () => {
      const { ok, result, truncated } = read('x'.repeat(50_000));
      expect(ok).toBe(true);
      expect(result).toMatch(/^x{9000}x*\.\.\.\[truncated 4\d{4} of 50000 characters\]$/);
      expect(truncated.characters).toBe(50_000 + '{"ok":true,"result":""}'.length);
      expect(truncated.left_out).toBeGreaterThan(40_000);
      expect(truncated.note).toContain('a page, a range, a filter');
    });

    test('keeps the cursor behind a long text', () => {
      const { result } = read({ text: 'x'.repeat(50_000), next_page_token: 'p2', total: 7 });
      expect(result).toMatchObject({ next_page_token: 'p2', total: 7 });
      expect(result.text).toContain('[truncated');
    });

    test('keeps the first items of a list whole', () => {
      const rows = Array.from({ length: 500 }, (_, id) => ({ id, name: 'n'.repeat(50) }));
      const { result } = read({ rows, cursor: 'c' });
      const kept = result.rows.length - 1;
      expect(kept).toBeGreaterThan(100);
      expect(result.rows.slice(0, kept)).toEqual(rows.slice(0, kept));
      expect(result.rows[kept]).toBe(`...[truncated ${500 - kept} items]`);
      expect(result.cursor).toBe('c');
    });

    test('names how many members of an object were left out', () => {
      const members = Object.fromEntries(Array.from({ length: 5_000 }, (_, id) => [`m${id}`, id]));
      const { result } = read(members);
      const { __truncated__: left, ...kept } = result;
      expect(left).toBe(5_000 - Object.keys(kept).length);
      expect(members).toMatchObject(kept);
    });

    test('is cut in an error too', () => {
      const error = errorEnvelope('tool_error', 'm', { log: 'x'.repeat(16_000), line: 7 });
      const content = JSON.parse(toolContent(errorResult(error), 2_000));
      expect(content).toMatchObject({ ok: false, error: { type: 'tool_error', details: { line: 7 } } });
      expect(content.error.details.log).toContain('[truncated');
      expect(content.truncated.note).toContain('left out');
    });

    test('that its error envelope has cut already is named as well', () => {
      const content = JSON.parse(toolContent(errorResult(errorEnvelope('tool_error', 'x'.repeat(20_000)))));
      expect(content.error.message).toHaveLength(16_384);
      expect(content.truncated.note).toContain('left out');
    });

    test('is within its bound and whole JSON, whatever it holds', () => {
      fc.assert(
        fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), fc.nat(20), (value, times) => {
          const payload = Array.from({ length: times }, () => value);
          read(payload, 1_024);
          read({ payload, cursor: 'c' }, 1_024);
        }),
      );
      read('\u0000'.repeat(5_000) + 'x'.repeat(5_000), 1_024);
      read('😀'.repeat(5_000), 1_024);
      read({ ['k'.repeat(5_000)]: 1, b: 'x' }, 1_024);
      read(
        Array.from({ length: 500 }).reduce<unknown>((inner) => [inner, 'x'.repeat(20)], 'end'),
        1_024,
      );
    });
  });

  test('half a surrogate pair is replaced', () => {
    expect(JSON.parse(toolContent(okResult({ text: 'a\ud83d' })))).toEqual({
      ok: true,
      result: { text: 'a\ufffd' },
    });
  });
});
