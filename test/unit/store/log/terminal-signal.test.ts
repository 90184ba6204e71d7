/** The data of terminal signals beside the result: run, model and cost.
 *  It must not depend on who executed the directive. */
import { describe, expect, test } from 'vitest';
import { directiveSchema, type Directive } from '../../../../src/contract/directive/directive.ts';
import { errorEnvelope } from '../../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../../src/contract/result.ts';
import { directiveMetadata, terminalSignal } from '../../../../src/store/log/terminal-signal.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';

const origin = { requestId: 'r', causationId: 'a', traceparent: newTraceparent() };

function directive(fields: Record<string, unknown>): Directive {
  return directiveSchema.parse({ id: 'a', request_id: 'r', ...fields });
}

const asked = directive({ type: 'llm_generate', model: 'p:m', context: [] });
const usage = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };
const facts = { model: 'p:m', duration_ms: 70 };

describe('the answer of a model', () => {
  test('carries its usage, model and duration', () => {
    const result = okResult({ text: 'Hi.', usage, duration_ms: 60 });
    expect(terminalSignal(asked, result, origin, facts).data).toMatchObject({
      usage,
      model: 'p:m',
      duration_ms: 60,
    });
  });

  test('that was cut for the log still carries them', () => {
    const payload = { usage, duration_ms: 60 };
    const { data } = terminalSignal(asked, okResult({ truncated: true }), origin, facts, undefined, {
      payload,
    });
    expect(data).toMatchObject({ usage, duration_ms: 60 });
  });

  test('that never came carries no usage', () => {
    const { data } = terminalSignal(asked, errorResult(errorEnvelope('auth', 'no')), origin, facts);
    expect(data).toMatchObject({ model: 'p:m', duration_ms: 70 });
    expect(data).not.toHaveProperty('usage');
  });
});

describe('an immediate that was submitted by itself', () => {
  const noted = { run_id: 'run', strategy: 'own', note: 1, request_id: 'forged' };
  const expected = { request_id: 'r', run_id: 'run', strategy: 'own', origin: 'directive', note: 1 };

  test.each([
    { type: 'emit_tool_error', tool_name: 't', error: 'no' },
    { type: 'emit_tool_result', tool_name: 't', result: okResult(null) },
    { type: 'emit_request_error', reason: 'busy', message: 'later' },
  ])('$type carries its request and run', (fields) => {
    const given = directive({ ...fields, metadata: noted });
    expect(terminalSignal(given, okResult(null), origin).data).toMatchObject({ metadata: expected });
    expect(terminalSignal(directive(fields), okResult(null), origin).data).toMatchObject({
      metadata: { request_id: 'r', run_id: 'r' },
    });
  });
});

test('frequent signals carry no long metadata of a caller', () => {
  const metadata = { run_id: 'x'.repeat(300), strategy: { deep: 1 } };
  expect(directiveMetadata({ ...asked, metadata } as Directive)).toEqual({
    operation: 'generate_text',
    origin: 'directive',
    request_id: 'r',
    run_id: 'r',
  });
});
