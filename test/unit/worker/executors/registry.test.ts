/** The registry of directive types, and the two immediate ones.
 *  It must never need a worker. */
import { describe, expect, test } from 'vitest';
import {
  emitRequestErrorSchema,
  emitToolErrorSchema,
} from '../../../../src/contract/directive/immediate-directive.ts';
import { type ToolExec, toolExecSchema } from '../../../../src/contract/directive/work-directive.ts';
import { defineDirective } from '../../../../src/worker/executors/definition.ts';
import { createRegistry } from '../../../../src/worker/executors/registry.ts';
import { okResult } from '../../../../src/contract/result.ts';
import { toolCall } from '../../../support/journal.ts';
import { emitRequestError, emitToolError } from '../../../../src/worker/executors/emit.ts';

const queued = defineDirective<ToolExec>({
  mode: 'queued',
  type: 'tool_exec',
  schema: toolExecSchema,
  repeatPolicy: async () => 'read',
  started: () => null,
  execute: async () => ({ result: okResult('done') }),
});
const identity = { id: 'a', request_id: 'r' };

describe('the registry', () => {
  const registry = createRegistry([queued, emitToolError, emitRequestError]);

  test('knows queued types, and no immediate one among them', () => {
    expect(registry.queued('tool_exec')).toBe(queued);
    expect(registry.queued('emit_tool_error')).toBeNull();
    expect(registry.queued('llm_stream')).toBeNull();
  });

  test('leaves queued and unknown types to the workers', () => {
    expect(registry.executeImmediately(toolCall())).toBeNull();
    const other = { type: 'emit_tool_error', ...identity, tool_name: 't', error: 'e' };
    expect(createRegistry([queued]).executeImmediately(emitToolErrorSchema.parse(other))).toBeNull();
  });

  test('refuses a second definition of one type, and names it', () => {
    expect(() => createRegistry([queued, emitToolError, queued])).toThrow('"tool_exec" is defined twice');
  });
});

function toolError(error: unknown) {
  const directive = emitToolErrorSchema.parse({
    type: 'emit_tool_error',
    ...identity,
    tool_name: 't',
    error,
  });
  const result = createRegistry([emitToolError]).executeImmediately(directive);
  if (!result || result.ok) throw new Error('not an error result');
  return result.error;
}

describe('emit_tool_error', () => {
  test('emits the error it was given', () => {
    const given = { type: 'timeout', message: 'too slow', details: { a: 1 }, retryable: false };
    expect(toolError(given)).toMatchObject({ type: 'timeout', message: 'too slow', retryable: false });
  });

  test.each([['text'], [null], [17], [{}], [[]]])('makes an error from anything: %j', (error) => {
    expect(toolError(error)).toMatchObject({ type: expect.any(String), message: expect.any(String) });
  });
});

test('emit_request_error fails with its reason and message', () => {
  const given = { type: 'emit_request_error', ...identity, reason: 'no_budget', message: 'out of budget' };
  const result = createRegistry([emitRequestError]).executeImmediately(emitRequestErrorSchema.parse(given));
  expect(result).toMatchObject({
    ok: false,
    error: { type: 'execution_error', message: 'out of budget', details: { reason: 'no_budget' } },
  });
});
