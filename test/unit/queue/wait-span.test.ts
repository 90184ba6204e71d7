/** The wait of a directive that ended before anybody began it, and the size of what lies elsewhere.
 *  It must never need a collector: spans are kept as they are reported. */
import { expect, test } from 'vitest';
import type { Directive } from '../../../src/contract/directive/directive.ts';
import { encodeEnvelope } from '../../../src/store/request/envelope.ts';
import { NO_OBJECTS, type PayloadObjects } from '../../../src/store/request/large-payloads.ts';
import type { DirectiveRecord } from '../../../src/store/request/records.ts';
import { createKeptPayloads } from '../../../src/directives/kept-payloads.ts';
import type { Prepared } from '../../../src/directives/prepare.ts';
import { reportEndedByOthers } from '../../../src/directives/read/settle-span.ts';
import type { SpanRecord } from '../../../src/platform/telemetry/traces/span.ts';
import { NO_SPANS, type Spans } from '../../../src/platform/telemetry/traces/spans.ts';
import { traceContext } from '../../../src/platform/telemetry/traces/trace-context.ts';

const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
const NOW = 9_000;
const CALL = {
  type: 'tool_exec',
  request_id: 'acme~r',
  id: 'd',
  tool_name: 'a.b',
  arguments: { text: 'x'.repeat(9_000) },
} as unknown as Directive;

function ended(record: Partial<DirectiveRecord>): SpanRecord[] {
  const kept: SpanRecord[] = [];
  const spans: Spans = {
    ...NO_SPANS,
    under: (traceparent) => traceContext(traceparent),
    report: (span) => void kept.push(span),
    now: () => NOW,
  };
  const before = { lane: 'tool.a', fence: 0, released: 0, status: 'waiting', acceptedAt: 1_000 };
  const whole = { ...before, claimedAt: null, leaseUntil: null, waits: null, begin: null, ...record };
  const envelope = { directive: CALL, traceparent: TRACEPARENT };
  reportEndedByOthers(spans, whole as DirectiveRecord, envelope, 'cancelled');
  return kept;
}

test.each<[string, Partial<DirectiveRecord>, string[]]>([
  ['its instant', { begin: { at: 60_000, by: null } }, ['later']],
  ['a limit', { waits: { reason: 'limit', untilAt: null } }, ['limit']],
  [
    'its instant, and its turn then',
    { begin: { at: 2_000, by: null }, waits: { reason: 'turn', untilAt: null } },
    ['later', 'turn'],
  ],
])('what ended while it waited for %s has the span of its wait', (_, record, reasons) => {
  const [wait, settle, ...others] = ended(record);
  expect(others).toEqual([]);
  expect(wait).toMatchObject({
    name: 'wait tool.a',
    kind: 'internal',
    startedAt: 1_000,
    endedAt: NOW,
    error: null,
    place: { parentId: 'b'.repeat(16) },
    attributes: {
      'adjutant.request.id': 'r',
      'adjutant.tenant': 'acme',
      'adjutant.directive.id': 'd',
      'adjutant.wait.reasons': reasons,
    },
  });
  expect(settle).toMatchObject({ name: 'settle tool.a', error: 'cancelled' });
});

test('what waited in its lane as any other has none', () => {
  expect(ended({ waits: { reason: 'no_worker', untilAt: null } })).toHaveLength(1);
  expect(ended({ fence: 1, begin: { at: 2_000, by: null } })).toHaveLength(1);
});

test('the span of what lies in the store of large payloads says how large it is', async () => {
  const envelope = encodeEnvelope({ directive: CALL, lane: 'tool.a', traceparent: TRACEPARENT });
  const span = {
    place: { traceId: 'a', spanId: 'b', parentId: null },
    name: 'send tool.a',
    kind: 'producer',
  };
  const prepared = {
    acceptance: { id: 'd', envelope },
    span: { ...span, attributes: {}, error: null },
  } as unknown as Prepared;
  const objects: PayloadObjects = {
    ...NO_OBJECTS,
    aboveBytes: 100,
    put: async (_, { length: bytes }) => ({ sha256: 'c'.repeat(64), bytes }),
  };
  const journal = { directive: async () => null, envelope: async () => null };
  const [kept] = await createKeptPayloads({ objects, journal }).keep('acme~r', [prepared]);
  expect(kept?.span?.attributes['adjutant.payload.offloaded_bytes']).toBe(Buffer.byteLength(envelope));
});
