// What holds for every value: envelopes are valid, bounded and JSON; directives survive the wire.
// Must never accept a function that returns a constant: each property also checks what was kept.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/contract/json/canonical-json.ts';
import { extractDirectives } from '../../src/contract/run/control-directive.ts';
import {
  type ParsedDirective,
  completeDirective,
  directiveSchema,
  parseSubmission,
} from '../../src/contract/directive/directive.ts';
import { errorEnvelopeSchema, isRetryable, normalizeError } from '../../src/contract/error-envelope.ts';
import { findJsonHazard } from '../../src/contract/json/json-guard.ts';
import { jsonSafe } from '../../src/contract/json/json-safe.ts';
import { normalizeResult, resultSchema } from '../../src/contract/result.ts';
import { toolContent } from '../../src/contract/tool/tool-content.ts';
import { hostileValues } from './hostile-values.ts';

const json = fc.jsonValue({ maxDepth: 12 });
const anything = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
});
const errorLike = fc.record(
  { type: json, code: json, message: json, details: json, retryable: json },
  { requiredKeys: [] },
);
const resultLike = fc.oneof(
  fc.tuple(fc.constantFrom('ok', 'error'), fc.oneof(json, errorLike)),
  fc.tuple(fc.constantFrom('ok', 'error'), fc.oneof(json, errorLike), json),
  fc.record({ ok: fc.boolean(), payload: json, error: errorLike, effects: json }, { requiredKeys: ['ok'] }),
);

function withoutPrototype(value: unknown): boolean {
  return !JSON.stringify(value).includes('__proto__');
}

describe('any value', () => {
  test('is a valid, bounded error that JSON carries unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(json, errorLike, anything), (value) => expectEnvelope(normalizeError(value))),
      { numRuns: 500 },
    );
  });

  test('is a valid result that JSON carries unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(json, resultLike, anything), (value) => expectResult(normalizeResult(value))),
      { numRuns: 500 },
    );
  });

  test('is bounded JSON, and the same again when made safe twice', () => {
    fc.assert(
      fc.property(fc.oneof(json, anything), (value) => {
        const safe = jsonSafe(value);
        expectBounded(safe);
        expectRoundTrip(safe);
        expect(jsonSafe(safe)).toStrictEqual(safe);
      }),
      { numRuns: 500 },
    );
  });

  test('that is small JSON stays unchanged', () => {
    fc.assert(
      // A member named __proto__ is left out on purpose: it could change a prototype when merged.
      fc.property(fc.jsonValue({ maxDepth: 3 }).filter(withoutPrototype), (value) => {
        expect(jsonSafe(value)).toEqual(JSON.parse(wellFormed(JSON.stringify(value))));
      }),
    );
  });

  test('normalised twice is normalised once', () => {
    fc.assert(
      fc.property(fc.oneof(json, errorLike, anything), (value) => {
        const once = normalizeError(value);
        expect(normalizeError(once)).toStrictEqual(once);
      }),
      { numRuns: 500 },
    );
    fc.assert(
      fc.property(fc.oneof(json, resultLike), (value) => {
        const once = normalizeResult(value);
        expect(normalizeResult(once)).toStrictEqual(once);
      }),
    );
  });
});

describe.each(hostileValues())('%s', (_name, value) => {
  test('becomes an envelope, a result, safe JSON and content without a throw', () => {
    for (const reason of [value, { type: 'auth', message: value, details: value }, ['error', value]]) {
      expectEnvelope(normalizeError(reason));
    }
    for (const reply of [value, ['ok', value], ['error', value, value], { ok: true, payload: value }]) {
      expectResult(normalizeResult(reply));
      expect(typeof JSON.parse(toolContent(reply)).ok).toBe('boolean');
    }
    expectBounded(jsonSafe(value));
    expectBounded(jsonSafe({ nested: [value] }));
    expect(typeof isRetryable({ type: value, message: value, details: value })).toBe('boolean');
  });

  test('carries no directives and is no submission, without a throw', () => {
    for (const raw of [value, { content: value }, { structuredContent: value }, { content: [value] }]) {
      expect(extractDirectives(raw, { trust: 'all' }).directives).toEqual([]);
    }
    const entries = {
      structuredContent: { _directives: [value, { type: value }, { type: 'complete', params: value }] },
    };
    expect(extractDirectives(entries, { trust: 'all' }).rejected).toHaveLength(3);
    expect(parseSubmission(value).ok).toBe(false);
    expect(parseSubmission({ directives: [value] }).ok).toBe(false);
    expect(() => findJsonHazard(value)).not.toThrow();
  });
});

describe('any directive', () => {
  const id = fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/);
  const members = fc.dictionary(
    fc.string().filter((key) => !/^(__proto__|constructor)$/.test(key)),
    plainJson(),
  );
  const retry = {
    max_retries: fc.nat(),
    retry_backoff_ms: fc.nat(),
    backoff: fc.constantFrom('fixed', 'exponential'),
    max_backoff_ms: fc.nat(),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    deadline_ms: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  };
  const identity = { id, request_id: id, metadata: members };
  const model = { model: fc.stringMatching(/^[a-z:-]{1,20}$/), context: fc.constant([]) };
  const directive = fc.oneof(
    fc.record(
      {
        type: fc.constant('tool_exec'),
        tool_name: id,
        arguments: members,
        context: members,
        ...identity,
        ...retry,
      },
      { requiredKeys: ['type', 'tool_name'] },
    ),
    fc.record(
      {
        type: fc.constantFrom('llm_stream', 'llm_generate'),
        ...model,
        temperature: fc.nat(),
        ...identity,
        ...retry,
      },
      { requiredKeys: ['type', 'model', 'context'] },
    ),
    fc.record(
      {
        type: fc.constant('llm_embed'),
        model: model.model,
        texts: fc.array(fc.string(), { minLength: 1 }),
        ...identity,
      },
      { requiredKeys: ['type', 'model', 'texts'] },
    ),
    fc.record(
      { type: fc.constant('emit_tool_error'), tool_name: id, error: plainJson(), ...identity },
      { requiredKeys: ['type', 'tool_name', 'error'] },
    ),
    fc.record(
      { type: fc.constant('emit_request_error'), reason: id, message: fc.string(), ...identity },
      { requiredKeys: ['type', 'reason', 'message'] },
    ),
  );

  test('survives a JSON round trip, and one spelling stands for it', () => {
    fc.assert(
      fc.property(directive, (raw) => {
        const complete = completeDirective(parsedOf(raw), { id: 'd', request_id: 'r' });
        const returned: unknown = JSON.parse(JSON.stringify(complete));
        expect(directiveSchema.parse(returned)).toEqual(JSON.parse(JSON.stringify(complete)));
        expect(canonicalJson(returned)).toBe(canonicalJson(complete));
        expect(canonicalJson(Object.fromEntries(Object.entries(complete).toReversed()))).toBe(
          canonicalJson(complete),
        );
        expect(complete).toMatchObject({ ...raw, id: 'd', request_id: 'r' });
      }),
      { numRuns: 500 },
    );
  });

  test('is refused with an unknown key', () => {
    fc.assert(
      fc.property(directive, (raw) => {
        const parsed = parseSubmission({ directives: [{ ...raw, surprise: 1 }] });
        expect(parsed).toEqual({
          ok: false,
          errors: [{ path: 'directives[0].surprise', message: 'is not a known key' }],
        });
      }),
    );
  });
});

function plainJson() {
  return fc.jsonValue({ maxDepth: 5 }).filter((value) => findJsonHazard(value) === null);
}

function parsedOf(raw: unknown): ParsedDirective {
  const parsed = parseSubmission(raw);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const [first] = parsed.directives;
  if (!first) throw new Error('nothing was parsed');
  return first;
}

function expectEnvelope(envelope: unknown): void {
  const { details, message } = errorEnvelopeSchema.strict().parse(envelope);
  expectBounded(details);
  expect(message.length).toBeLessThanOrEqual(16_384);
  expectRoundTrip(envelope);
}

function expectResult(result: unknown): void {
  const parsed = resultSchema.parse(result);
  expect(parsed).toStrictEqual(result);
  expectRoundTrip(result);
  if (!parsed.ok) expectEnvelope(parsed.error);
}

function expectRoundTrip(value: unknown): void {
  const text = JSON.stringify(value);
  expect(JSON.stringify(JSON.parse(text))).toBe(text);
}

function expectBounded(value: unknown, depthLeft = 8): void {
  if (typeof value === 'string') expect(value.length).toBeLessThanOrEqual(16_384);
  if (typeof value !== 'object' || value === null) return;
  if (depthLeft === 0) throw new Error('nested too deep');
  const members = Object.values(value);
  expect(members.length).toBeLessThanOrEqual(100);
  for (const member of members) expectBounded(member, depthLeft - 1);
}

function wellFormed(text: string): string {
  return text.toWellFormed();
}
