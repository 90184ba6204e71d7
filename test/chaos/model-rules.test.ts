/** The rules about model calls: a call that kept every promise passes, and each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { describe, expect, test } from 'vitest';
import { checkDirective } from './directive-rules.ts';
import { errorOf, evidence, execution, type Parts as DirectiveParts, signal } from './directive-world.ts';
import type { ToolExecution } from './executions.ts';
import type { PlannedModel } from './model-plan.ts';
import type { PlannedDirective } from './plan.ts';
import { AT } from './run-world.ts';
import type { WireResult, WireSignal } from './wire.ts';

const CALL = { id: 'c0', tool: 'alpha.read', arguments: { label: 'r/a/0.0', a: 1 } };

const MODEL: PlannedModel = {
  chain: ['main:m1', 'spare:m2'],
  digest: 'd',
  turn: { text: 'one two', calls: [] },
  vectors: null,
  usage: { input_tokens: 10, output_tokens: 2 },
  streams: true,
};

interface Parts extends Pick<DirectiveParts, 'planned' | 'signals' | 'executions' | 'cancels' | 'faults'> {
  readonly model?: Partial<PlannedModel>;
}

function at(sequence: number, type: string, data: object, attempt = 1): WireSignal {
  return signal(sequence, type, { source: '/ai/llm', attempt, data: { call_id: 'a', ...data } });
}

function delta(sequence: number, seq: number, text: string, attempt = 1): WireSignal {
  return at(sequence, 'ai.llm.delta', { delta: text, chunk_type: 'content', seq }, attempt);
}

function usage(sequence: number, attempt = 1, tokens: object = MODEL.usage): WireSignal {
  return at(sequence, 'ai.usage', { model: 'm1', ...tokens }, attempt);
}

function response(sequence: number, result: WireResult, attempt = 1): WireSignal {
  return at(sequence, 'ai.llm.response', { result, metadata: { operation: 'stream_text' } }, attempt);
}

function turn(sequence: number, fields: object = {}, attempt = 1): WireSignal {
  const payload = { type: 'final_answer', text: 'one two', tool_calls: [], model: 'm1', ...fields };
  return response(sequence, { ok: true, payload }, attempt);
}

function failure(sequence: number, type: string, attempt = 1): WireSignal {
  return response(sequence, errorOf(type), attempt);
}

function retry(sequence: number, failures: number, fallback?: object, attempt = failures): WireSignal {
  const metadata = fallback === undefined ? {} : { fallback };
  const data = { failures, error: { type: 'provider_error' }, metadata };
  return at(sequence, 'directive.retry_scheduled', data, attempt);
}

function asked(number: number, fields: Partial<ToolExecution> = {}): ToolExecution {
  return execution(number, { tool: 'm1', key: 'd', label: 'r/a/model', fault: null, at: AT + 50, ...fields });
}

const GOOD = [delta(1, 0, 'one '), delta(2, 1, 'two'), usage(3), turn(4)];
const TO_SPARE = { from: 'main:m1', to: 'spare:m2', reason: 'provider_error' };

const PLANNED: Partial<PlannedDirective> = {
  kind: 'llm_stream',
  expect: 'turn',
  effect: 'idempotent',
  label: 'r/a/model',
  maxRetries: 1,
};

function sentences({ signals = GOOD, executions = [asked(1)], planned, model, ...more }: Parts): string[] {
  const last = signals.at(-1);
  const view = {
    type: 'llm_stream',
    status: last?.data.result?.ok === true ? 'succeeded' : 'failed',
    attempts: last?.attempt ?? 1,
    failures: signals.filter(({ type }) => type === 'directive.retry_scheduled').length,
  };
  const whole = { ...PLANNED, ...planned, model: { ...MODEL, ...model } };
  const made = evidence({ ...more, signals, executions, planned: whole, view });
  return made.view?.directives.flatMap((directive) => checkDirective(made, directive)) ?? [];
}

const piece = (sequence: number, seq: number, fields: object): WireSignal =>
  at(sequence, 'ai.llm.delta', { chunk_type: 'tool_call', seq, delta: { index: 0, ...fields } });
const CALLING: Parts['model'] = { turn: { text: '', calls: [CALL] } };
const CALLED = turn(4, {
  type: 'tool_calls',
  text: '',
  tool_calls: [{ id: 'c0', name: 'alpha.read', arguments: CALL.arguments }],
});

test.each<[string, Parts]>([
  ['a streamed answer', {}],
  [
    'an answer at the second try, whose first words are void',
    {
      signals: [
        delta(1, 0, 'one '),
        retry(2, 1),
        delta(3, 0, 'one', 2),
        delta(4, 1, ' two', 2),
        usage(5, 2),
        turn(6, {}, 2),
      ],
      executions: [asked(1, { fault: 'cut' }), asked(2)],
    },
  ],
  [
    'an answer of the second model, when the first had used up its retries',
    {
      signals: [
        retry(1, 1),
        retry(2, 2, TO_SPARE),
        delta(3, 0, 'one two', 3),
        usage(4, 3),
        turn(5, { model: 'm2' }, 3),
      ],
      executions: [asked(1, { fault: 'error' }), asked(2, { fault: 'error' }), asked(1, { tool: 'm2' })],
    },
  ],
  [
    'an answer after patience was asked for',
    { executions: [asked(1, { fault: 'limit' }), asked(2, { fault: 'limit' }), asked(3)] },
  ],
  [
    'a tool call in pieces',
    {
      model: CALLING,
      signals: [
        piece(1, 0, { id: 'c0', name: 'alpha.read', arguments: '{"label":"r/' }),
        piece(2, 1, { arguments: 'a/0.0","a":1}' }),
        usage(3),
        CALLED,
      ],
    },
  ],
  [
    'an attempt that a stopping worker left after its first words',
    {
      signals: [delta(1, 0, 'one '), delta(2, 0, 'one two', 2), usage(3, 2), turn(4, {}, 2)],
      faults: [{ kind: 'worker told to stop', pid: 1, at: AT + 60, overAt: null }],
      executions: [asked(1), asked(2)],
    },
  ],
  [
    'a call that was cancelled in the middle',
    {
      signals: [delta(1, 0, 'one '), failure(2, 'cancelled')],
      cancels: [{ target: 'a', api: '', sentAt: AT, answeredAt: AT, status: 200, verdicts: new Map() }],
    },
  ],
])('%s passes', (_name, parts) => {
  expect(sentences(parts)).toEqual([]);
});

describe('it reports', () => {
  test.each<[string, Parts, string]>([
    ['a lost word', { signals: [delta(1, 0, 'one '), usage(3), turn(4)] }, 'succeeded and said only'],
    [
      'a doubled word',
      { signals: [delta(1, 0, 'one '), delta(2, 1, 'one two'), usage(3), turn(4)] },
      'attempt 1 said',
    ],
    ['no words', { signals: [usage(3), turn(4)] }, 'said nothing'],
    [
      'a gap',
      { signals: [delta(1, 0, 'one '), delta(2, 2, 'two'), usage(3), turn(4)] },
      'delta 1 of attempt 1 has the seq 2',
    ],
    [
      'words of a call that does not stream',
      { model: { streams: false } },
      '2 deltas of a call that does not stream',
    ],
    [
      'another text',
      { signals: [...GOOD.slice(0, 3), turn(4, { text: 'one' })] },
      'answered ["final_answer","one",[]]',
    ],
    [
      'another tool call',
      { model: CALLING, signals: [usage(3), { ...CALLED, data: { ...turn(4).data } }] },
      'answered ["final_answer"',
    ],
    ['no usage', { signals: [...GOOD.slice(0, 2), turn(3)] }, '0 reports of usage'],
    ['usage twice', { signals: [...GOOD.slice(0, 3), usage(4), turn(5)] }, '2 reports of usage'],
    [
      'usage in another place',
      { signals: [usage(1), delta(2, 0, 'one two'), turn(3)] },
      'not directly before its end',
    ],
    [
      'other tokens',
      { signals: [...GOOD.slice(0, 2), usage(3, 1, { input_tokens: 20, output_tokens: 2 }), turn(4)] },
      'input_tokens are 20, the model said 10',
    ],
    [
      'usage of a failure',
      { signals: [usage(1), failure(2, 'provider_error')], executions: [asked(1, { fault: 'error' })] },
      'usage of a failure',
    ],
    ['another conversation', { executions: [asked(1, { key: 'e' })] }, 'm1 was asked e (null), planned d'],
    ['a model that is not in the chain', { executions: [asked(1, { tool: 'm9' })] }, 'm9 was asked d'],
    [
      'more retries of a model than asked for',
      {
        signals: [retry(1, 1), retry(2, 2), delta(3, 0, 'one two', 3), usage(4, 3), turn(5, {}, 3)],
        executions: [asked(1, { fault: 'error' }), asked(2, { fault: 'error' }), asked(3)],
      },
      '2 retries of main:m1',
    ],
    [
      'a model that was given up too early',
      {
        signals: [retry(1, 1, TO_SPARE), delta(2, 0, 'one two', 2), usage(3, 2), turn(4, { model: 'm2' }, 2)],
        executions: [asked(1, { fault: 'error' }), asked(1, { tool: 'm2' })],
      },
      'gave up main:m1 after 0 retries of 1',
    ],
    [
      'a call that was given up with tries left',
      {
        signals: [retry(1, 1), retry(2, 2, TO_SPARE), failure(3, 'provider_error', 3)],
        executions: [
          asked(1, { fault: 'error' }),
          asked(2, { fault: 'error' }),
          asked(1, { tool: 'm2', fault: 'error' }),
        ],
      },
      'ended as provider_error after 0 retries of 1',
    ],
    [
      'a call that was given up with a model left',
      {
        signals: [retry(1, 1), failure(2, 'provider_error', 2)],
        executions: [asked(1, { fault: 'error' }), asked(2, { fault: 'error' })],
      },
      'ended as provider_error, and spare:m2 was not asked',
    ],
    [
      'an answer out of turn',
      { signals: [...GOOD.slice(0, 3), turn(4, { model: 'm2' })] },
      'm2 answered, it was the turn of main:m1',
    ],
    [
      'an error without a cause',
      { signals: [failure(1, 'provider_error')] },
      'ended as provider_error, and the model had done nothing',
    ],
    ['a failure that should have been one', { planned: { expect: 'model_failure' } }, 'a: succeeded'],
    [
      'other vectors',
      {
        model: { vectors: [[1, 2]], streams: false },
        signals: [
          usage(1),
          {
            ...turn(2, { embeddings: [[1, 3]], count: 1, dimensions: 2 }),
            type: 'ai.embed.result',
          },
        ],
      },
      'answered [[[1,3]],1,2], expected [[[1,2]],1,2]',
    ],
    [
      'another kind of end',
      { signals: [...GOOD.slice(0, 3), { ...turn(4), type: 'ai.tool.result' }] },
      'ended in ai.tool.result',
    ],
  ])('%s', (_name, parts, sentence) => {
    expect(sentences(parts)).toContainEqual(expect.stringContaining(sentence));
  });
});

test('vectors may be base64', () => {
  const encoded = Buffer.from(new Float32Array([1, 0.5]).buffer).toString('base64');
  const answered = turn(2, { embeddings: [encoded], count: 1, dimensions: 2 });
  const model = { vectors: [[1, 0.5]], streams: false };
  expect(sentences({ model, signals: [usage(1), { ...answered, type: 'ai.embed.result' }] })).toEqual([]);
});
