// Parity with the signals of the upstream runtime: data, sources, envelope.
// Must never let a signal be written with a member the contract does not name.
import { describe, expect, test } from 'vitest';
import { errorEnvelope } from '../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../src/contract/result.ts';
import {
  SIGNAL_SOURCES,
  type Signal,
  type SignalType,
  TERMINAL_SIGNAL_TYPES,
  isTerminalSignal,
  signalDraftSchema,
  signalSchema,
} from '../../src/contract/signal/signal.ts';

const call = { call_id: 'd1' };
const tool = { ...call, tool_name: 'everything.echo' };
const result = okResult(1);
const failed = errorResult(errorEnvelope('timeout', 'late'));

interface Case {
  source: string;
  required: Record<string, unknown>;
  optional: Record<string, unknown>;
}

const metadata = { origin: 'directive' };

const cases: Record<SignalType, Case> = {
  'ai.llm.delta': {
    source: '/ai/llm',
    required: { ...call, delta: 'He', chunk_type: 'content' },
    optional: { seq: 0, metadata },
  },
  'ai.llm.raw': {
    source: '/ai/llm',
    required: { ...call, text: 'data: {}\n\n' },
    optional: { seq: 0, head: { status: 200, headers: { 'content-type': 'text/event-stream' } }, metadata },
  },
  'ai.llm.response': {
    source: '/ai/llm',
    required: { ...call, result },
    optional: {
      usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      model: 'm',
      duration_ms: 5,
      metadata,
    },
  },
  'ai.usage': {
    source: '/ai/usage',
    required: { ...call, model: 'm', input_tokens: 1, output_tokens: 0 },
    optional: { total_tokens: 1, duration_ms: 5, metadata: { cache_read_input_tokens: 1, cost: 0.1 } },
  },
  'ai.embed.result': { source: '/ai/embed', required: { ...call, result }, optional: { metadata } },
  'ai.tool.started': { source: '/ai/tool', required: tool, optional: { arguments: { a: 1 }, metadata } },
  'ai.tool.progress': {
    source: '/ai/tool',
    required: { ...tool, progress: 1 },
    optional: { total: 2, message: 'half', metadata },
  },
  'ai.tool.approval_requested': {
    source: '/ai/tool',
    required: tool,
    optional: { arguments: {}, reason: 'writes', deadline_at: '2026-01-01T00:00:00.000Z', metadata },
  },
  'ai.tool.input_requested': {
    source: '/ai/tool',
    required: {
      ...tool,
      input_id: 'c1.1',
      mode: 'form',
      message: 'Which?',
      deadline_at: '2026-01-01T00:00:00.000Z',
    },
    optional: { schema: { type: 'object' }, url: 'https://example.test/', metadata },
  },
  'ai.tool.input_answered': {
    source: '/ai/tool',
    required: { ...tool, input_id: 'c1.1', action: 'accept', cause: 'answer' },
    optional: { by: 'somebody', metadata },
  },
  'ai.tool.result': {
    source: '/ai/tool',
    required: { ...tool, result: failed },
    optional: { content: '{"ok":false}', metadata },
  },
  'ai.request.error': {
    source: '/ai/strategy',
    required: { request_id: 'r1', reason: 'busy', message: 'Agent is busy' },
    optional: { metadata },
  },
  'ai.request.started': {
    source: '/ai/request',
    required: { request_id: 'r1', query: 'why?' },
    optional: { run_id: 'run' },
  },
  'ai.request.completed': {
    source: '/ai/request',
    required: { request_id: 'r1', result: { any: 1 } },
    optional: { run_id: 'run', termination_reason: 'length', details: { coverage_gap: true } },
  },
  'ai.request.failed': {
    source: '/ai/request',
    required: { request_id: 'r1', error: 'any' },
    optional: { run_id: 'run' },
  },
  'directive.retry_scheduled': {
    source: '/directive',
    required: {
      ...call,
      error: errorEnvelope('network', 'lost'),
      failures: 1,
      max_retries: 2,
      delay_ms: 100,
      next_attempt_at: '2026-01-01T00:00:00.100Z',
    },
    optional: { metadata },
  },
  'directive.waiting': {
    source: '/directive',
    required: { ...call, lane: 'tool.shop', reason: 'server_down', until: null, message: 'away' },
    optional: { metadata },
  },
  'directive.rejected': {
    source: '/directive',
    required: { ...call, index: 0, directive_type: null, reason: 'untrusted' },
    optional: { message: 'not allowed', metadata },
  },
  'directive.policy_decided': {
    source: '/directive',
    required: { ...call, decision: 'deny', rule: 'refunds', input_digest: 'abc' },
    optional: { reason: 'too much', failed: 'no such key', metadata },
  },
  'directive.reconciled': {
    source: '/directive',
    required: {
      ...call,
      outcome: 'unknown',
      tool: 'bank.find',
      asked: 2,
      at: '2026-01-01T00:00:00.000Z',
      cause: 'timeout',
    },
    optional: { arguments_digest: 'abc', reason: 'it did not tell', metadata },
  },
  'directive.ignored': {
    source: '/directive',
    required: { ...call, directive_type: 'dance', reason: 'no executor' },
    optional: { metadata },
  },
  'ai.request.input': {
    source: '/ai/request',
    required: { request_id: 'r1', input_id: 'i1', content: 'also this' },
    optional: { input_source: 'cli' },
  },
  'ai.request.resumed': {
    source: '/ai/request',
    required: { request_id: 'r', resumed: 1 },
    optional: {
      overrides: { model: 'p:m' },
      input: { input_id: 'i', content: 'go on' },
      decisions: { 'tool-1-0': { action: 'skip' } },
    },
  },
  'ai.request.cancel_requested': {
    source: '/ai/request',
    required: { request_id: 'r1', reason: null },
    optional: {},
  },
  'ai.tool.approval_decided': {
    source: '/ai/tool',
    required: { ...call, decision: 'approve' },
    optional: { reason: 'harmless', arguments: { a: 1 } },
  },
  'agent.scheduled': {
    source: '/agent',
    required: { timer_id: 't1', message: { any: 1 } },
    optional: { metadata },
  },
  'agent.child.started': {
    source: '/agent',
    required: { tag: 'helper', child_request_id: 'r2', agent: 'default' },
    optional: { metadata },
  },
  'agent.child.exit': {
    source: '/agent',
    required: { tag: 'helper', child_request_id: 'r2', status: 'completed', result: 1, error: null },
    optional: { metadata },
  },
  'agent.parent.exit': {
    source: '/agent',
    required: { parent_request_id: 'r1', reason: 'completed' },
    optional: { metadata },
  },
  'agent.error': {
    source: '/agent',
    required: { error: 'any', context: null },
    optional: { metadata },
  },
  'agent.tier_changed': {
    source: '/agent',
    required: { ...call, tier: 'capable', previous: null, reason: '' },
    optional: { metadata },
  },
  'agent.phase_changed': {
    source: '/agent',
    required: { ...call, phase: 'build', previous: null },
    optional: { metadata },
  },
  'directive.result': {
    source: '/directive',
    required: { ...call, directive_type: 'send_mail', result },
    optional: { metadata },
  },
};

describe.each(Object.entries(cases))('%s', (type, { source, required, optional }) => {
  test('comes from its source', () => {
    expect(SIGNAL_SOURCES[type as SignalType]).toBe(source);
  });

  test('accepts its required data alone', () => {
    expect(signalSchema.parse(signalOf(type, required)).data).toMatchObject(required);
  });

  test('keeps all optional data', () => {
    const data = { ...required, ...optional };
    expect(signalSchema.parse(signalOf(type, data)).data).toStrictEqual(data);
  });

  test.each(Object.keys(required))('is refused without %s', (key) => {
    const { [key]: _missing, ...rest } = required;
    expect(signalSchema.safeParse(signalOf(type, rest)).success).toBe(false);
  });

  test('is refused from another source', () => {
    expect(signalSchema.safeParse({ ...signalOf(type, required), source: '/other' }).success).toBe(false);
  });

  test('cannot be written with unknown data, but is read with it', () => {
    const { sequence: _sequence, ...draft } = signalOf(type, required);
    expect(signalDraftSchema.safeParse(draft).success).toBe(true);
    expect(signalDraftSchema.safeParse({ ...draft, data: { ...required, later: 1 } }).success).toBe(false);
    expect(signalSchema.safeParse(signalOf(type, { ...required, later: 1 })).success).toBe(true);
  });
});

describe('data of the wrong kind', () => {
  test.each([
    ['ai.llm.delta', { chunk_type: 'image' }],
    ['ai.llm.delta', { seq: -1 }],
    ['ai.llm.response', { result: ['ok', 1] }],
    ['ai.usage', { input_tokens: '1' }],
    ['ai.usage', { output_tokens: -1 }],
    ['ai.tool.result', { result: { ok: false, error: { type: 'x' }, effects: [] } }],
    ['ai.tool.started', { call_id: 5 }],
    ['ai.tool.started', { metadata: [] }],
    ['ai.request.error', { request_id: 'a b' }],
  ] as const)('%s with %j is refused', (type, fault) => {
    expect(signalSchema.safeParse(signalOf(type, { ...cases[type].required, ...fault })).success).toBe(false);
  });

  test('data that is not an object is refused', () => {
    expect(signalSchema.safeParse(signalOf('ai.tool.started', [])).success).toBe(false);
  });

  test('an unknown type is refused', () => {
    expect(signalSchema.safeParse(signalOf('ai.tool.other', {})).success).toBe(false);
  });
});

describe('the envelope', () => {
  const good = signalOf('ai.tool.started', tool);

  test.each([
    ['specversion', '1.1'],
    ['id', ''],
    ['subject', ''],
    ['subject', 'a b'],
    ['time', 'yesterday'],
    ['datacontenttype', 'text/plain'],
    ['traceparent', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['traceparent', `00-${'1'.repeat(32)}-${'0'.repeat(16)}-01`],
    ['traceparent', `00-${'A'.repeat(32)}-${'1'.repeat(16)}-01`],
    ['traceparent', '00-0190f3-1-01'],
    ['causationid', ''],
    ['sequence', 0],
    ['sequence', 1.5],
    ['attempt', 0],
  ])('%s = %j is refused', (attribute, value) => {
    expect(signalSchema.safeParse({ ...good, [attribute]: value }).success).toBe(false);
  });

  test('is read with extension attributes it does not know', () => {
    expect(signalSchema.safeParse({ ...good, tracestate: 'a=b' }).success).toBe(true);
  });

  test('a draft has no sequence', () => {
    expect(signalDraftSchema.safeParse(good).success).toBe(false);
  });
});

test('the signals that end a directive are five, and told apart from the rest', () => {
  const terminal = Object.keys(cases).filter((type) =>
    isTerminalSignal(signalSchema.parse(signalOf(type, cases[type as SignalType].required)) satisfies Signal),
  );
  expect(terminal.toSorted()).toEqual([...TERMINAL_SIGNAL_TYPES].toSorted());
  expect(terminal).toHaveLength(5);
});

function signalOf(type: string, data: unknown) {
  return {
    specversion: '1.0',
    id: 's1',
    source: cases[type as SignalType]?.source ?? '/ai/tool',
    type,
    subject: 'r1',
    time: '2026-01-01T00:00:00.000Z',
    datacontenttype: 'application/json',
    traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`,
    causationid: 'd1',
    sequence: 1,
    attempt: 1,
    data,
  };
}
