/** What spans are made of: places, names, contents, and the decision whether they are made. */
import { describe, expect, test } from 'vitest';
import { shown } from '../../../../../src/platform/telemetry/traces/content.ts';
import { operationOf } from '../../../../../src/platform/telemetry/traces/directive-operation.ts';
import { identifierAt, newIdentifier } from '../../../../../src/platform/telemetry/identifier.ts';
import { ATTRIBUTE, renaming } from '../../../../../src/platform/telemetry/traces/semantic-names.ts';
import type { SpanRecord } from '../../../../../src/platform/telemetry/traces/span.ts';
import {
  derivedSpanId,
  placeUnder,
  traceparentOf,
} from '../../../../../src/platform/telemetry/traces/span-place.ts';
import { NO_SPANS } from '../../../../../src/platform/telemetry/traces/spans.ts';
import {
  isTraceparent,
  isUndecided,
  newTraceparent,
  traceContext,
} from '../../../../../src/platform/telemetry/traces/trace-context.ts';
import { createWallClock } from '../../../../../src/platform/telemetry/traces/traces.ts';

const TRACE = 'a'.repeat(32);
const directive = (fields: object): never => ({ id: 'd', request_id: 'r', metadata: {}, ...fields }) as never;

describe('a place', () => {
  test('has the same id wherever it is derived, and another one under another span', () => {
    const place = placeUnder({ traceId: TRACE, spanId: 'b'.repeat(16) }, 'r', 'd', 1);
    expect(placeUnder({ traceId: TRACE, spanId: 'b'.repeat(16) }, 'r', 'd', 1)).toEqual(place);
    const others = [
      placeUnder({ traceId: TRACE, spanId: 'c'.repeat(16) }, 'r', 'd', 1),
      placeUnder({ traceId: TRACE, spanId: 'b'.repeat(16) }, 'r', 'd', 2),
      placeUnder({ traceId: 'd'.repeat(32), spanId: 'b'.repeat(16) }, 'r', 'd', 1),
    ];
    expect(others.map(({ spanId }) => spanId)).not.toContain(place.spanId);
  });

  test('is a valid, sampled context', () => {
    const traceparent = traceparentOf({ traceId: TRACE, spanId: derivedSpanId(TRACE, 'x') });
    expect(isTraceparent(traceparent)).toBe(true);
    expect(traceContext(traceparent).isSampled).toBe(true);
  });
});

describe('a new context', () => {
  test('is undecided; one with a span of its own is not', () => {
    const context = newTraceparent();
    expect(isTraceparent(context)).toBe(true);
    expect(isUndecided(traceContext(context))).toBe(true);
    expect(isUndecided(traceContext(`00-${TRACE}-${'b'.repeat(16)}-01`))).toBe(false);
  });
});

describe('where tracing is off', () => {
  test('a context stays as it is, and no span is made under it', () => {
    const context = newTraceparent();
    expect([NO_SPANS.decided(context), NO_SPANS.under(context)]).toEqual([context, null]);
  });
});

describe('an operation', () => {
  test.each([
    [directive({ type: 'tool_exec', tool_name: 'a.b' }), null, 'execute_tool a.b'],
    [directive({ type: 'llm_stream', model_alias: 'fast' }), 'openai:gpt-5', 'chat gpt-5'],
    [directive({ type: 'llm_generate', model_alias: 'fast' }), null, 'chat fast'],
    [directive({ type: 'llm_embed', model: 'openai:small' }), null, 'embeddings small'],
  ])('of %j with %j is %s', (of, model, name) => {
    expect(operationOf(of, model)?.name).toBe(name);
  });

  test.each(['emit_tool_error', 'my_own_type'])('%s is none', (type) => {
    expect(operationOf(directive({ type }), null)).toBeNull();
  });
});

describe('content', () => {
  test('is not shown unless it is asked for', () => {
    expect(shown({ bytes: 0 }, { text: 'x' })).toBeUndefined();
  });

  test('is redacted by its keys, also inside texts that are JSON', () => {
    const value = { token: 'secret', answer: '{"password":"secret","ok":true}' };
    const text = shown({ bytes: 1_000 }, value);
    expect(text).not.toContain('secret');
    expect(text).toContain('ok');
  });

  test.each(['abcdef', 'ääää', '🙂🙂'])('%s is cut to whole characters within its bytes', (text) => {
    const cut = shown({ bytes: 5 }, text) ?? '';
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(5);
    expect(text.startsWith(cut) && cut !== '').toBe(true);
  });
});

test('the newest names replace the known ones, group by group', () => {
  const attributes = { [ATTRIBUTE.messagingSystem]: 'bullmq', [ATTRIBUTE.cacheWriteTokens]: 1 };
  const place = placeUnder({ traceId: TRACE, spanId: null }, 'x');
  const span: SpanRecord = {
    place,
    name: 'x',
    kind: 'internal',
    startedAt: 0,
    endedAt: 0,
    attributes,
    error: null,
  };
  expect(renaming([])(span)).toBe(span);
  expect(renaming(['messaging'])(span).attributes).toEqual({
    'messaging.system.name': 'bullmq',
    [ATTRIBUTE.cacheWriteTokens]: 1,
  });
});

test('an identifier says when it was made; a foreign text does not', () => {
  const at = Date.parse('2026-11-22T07:00:00.000Z') + 10_000_000_000;
  expect(identifierAt(newIdentifier(at))).toBe(at);
  expect(identifierAt('token-1')).toBeNull();
});

test('the wall clock follows the monotonic one, and the system after a jump', () => {
  let [system, monotonic] = [1_000, 5];
  const now = createWallClock({ system: () => system, monotonic: () => monotonic });
  [system, monotonic] = [1_002, 7.25];
  expect(now()).toBe(1_002.25);
  [system, monotonic] = [9_000, 8];
  expect(now()).toBe(9_000);
});
