/** What users' code may return, and how it is read.
 *  It must never need a worker. */
import { describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { errorEnvelope } from '../../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../../src/contract/result.ts';
import { ownReport, readExecution } from '../../../../src/agents/modules/custom-execution.ts';
import { defineDirective } from '../../../../src/agents/core/directive-exec.ts';
import { queuedDefinitions } from '../../../../src/agents/modules/modules.ts';

describe('an execution', () => {
  test('passes unchanged', () => {
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

  test('becomes JSON where it is not', () => {
    const { result, metadata } = readExecution({
      result: okResult({ big: 10n }),
      metadata: { at: new Date(0) },
    });
    expect(JSON.parse(JSON.stringify(result))).toEqual(result);
    expect(metadata).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  test.each([undefined, null, 42, 'done', [], {}, { result: 'done' }, { result: { ok: true } }])(
    '%j is invalid, and may have happened',
    (answered) => {
      expect(readExecution(answered)).toMatchObject({
        ambiguous: true,
        result: { ok: false, error: { type: 'invalid_result', retryable: false } },
      });
    },
  );
});

describe('what the execute of a custom type reports', () => {
  test.each(['directive.result', 'ai.tool.result', 'ai.request.completed', 'agent.error', 'adjutant.end'])(
    '%s is refused: the type belongs to the service',
    (type) => {
      const report = vi.fn();
      expect(() => ownReport('greet', report)(type as never, {} as never)).toThrow(
        /greet.*the service's own/,
      );
      expect(report).not.toHaveBeenCalled();
    },
  );

  test.each(['', 'a\nb', 'a b', 'x'.repeat(257), null, Symbol('x')])('%s is not a valid type', (type) => {
    expect(() => ownReport('greet', vi.fn())(type as never, {} as never)).toThrow(TypeError);
  });

  test('is checked for every type that a module defines', async () => {
    const type = 'greet';
    const forging = defineDirective({
      mode: 'queued',
      type,
      schema: z.strictObject({}),
      execute: async (_directive, { report }) => {
        report('directive.result', { call_id: 'c', directive_type: type, result: okResult(1), metadata: {} });
        return { result: okResult(1) };
      },
    });
    const report = vi.fn();
    const [definition] = queuedDefinitions({
      agents: [],
      strategies: [],
      directives: [forging],
      tools: new Map(),
    });
    const directive = { type, id: 'c', request_id: 'r', metadata: {} };
    await expect(definition?.execute(directive as never, { report } as never)).rejects.toThrow('own');
    expect(report).not.toHaveBeenCalled();
  });

  test('a type of its own passes, with an object as its data', () => {
    const report = vi.fn();
    ownReport('greet', report)('shop.greeted' as never, { name: 'x' } as never);
    expect(report).toHaveBeenCalledWith('shop.greeted', { name: 'x' });
    expect(() => ownReport('greet', report)('shop.greeted' as never, 'x' as never)).toThrow(TypeError);
  });
});
