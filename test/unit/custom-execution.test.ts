/** What users' own code may answer, and what is made of it.
 *  It must never need a worker. */
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../src/contract/result.ts';
import { readExecution } from '../../src/custom-execution.ts';

describe('an execution', () => {
  test('passes as it is', () => {
    const error = errorEnvelope('network', 'cut');
    expect(readExecution({ result: okResult({ n: 1 }), metadata: { by: 'me' } })).toEqual({
      result: okResult({ n: 1 }),
      ambiguous: false,
      unreached: false,
      pauseScope: 'lane',
      metadata: { by: 'me' },
    });
    expect(
      readExecution({
        result: errorResult(error),
        ambiguous: true,
        unreached: true,
        pauseScope: 'directive',
      }),
    ).toEqual({ result: errorResult(error), ambiguous: true, unreached: true, pauseScope: 'directive' });
  });

  test('is made JSON where it is not', () => {
    const { result, metadata } = readExecution({
      result: okResult({ big: 10n }),
      metadata: { at: new Date(0) },
    });
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    expect(metadata).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  test.each([undefined, null, 42, 'done', [], {}, { result: 'done' }, { result: { ok: true } }])(
    '%j is none, and may have happened',
    (answered) => {
      expect(readExecution(answered)).toMatchObject({
        ambiguous: true,
        result: { ok: false, error: { type: 'invalid_result', retryable: false } },
      });
    },
  );
});
