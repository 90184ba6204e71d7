/** Streams with odd events, answers that end in odd ways, and what a provider says of an error.
 *  An answer must never be lost because of an event beside it. */
import assert from 'node:assert/strict';
import { type CallResult, errorIn, turnIn } from '../../support/model-calls.ts';
import { STREAM_HEAD } from '../../support/provider-server.ts';
import type { CallRow, Cell, Reply, Row, RunRow, Write } from '../row.ts';
import { bodyOfAnswer, CHAT, chatChunk, events, eventsOf, json, refused, refusedInStream } from '../wires.ts';

const TEXT = 'hello';
const SAID = { parts: [{ text: TEXT }] };
const says = (answer: Reply) => (): Reply => answer;

const saysHello = (result: CallResult): void => assert.equal(turnIn(result).text, TEXT);

/** The events of the answer, with one more before the second. */
const beside =
  (extra: string) =>
  ({ wire }: Cell): Write => {
    const [first = '', ...rest] = eventsOf(wire, SAID);
    return events([first, extra, ...rest]);
  };

function odd(kind: string, extra: string, rule: string, wires: CallRow['wires'] = CHAT): CallRow {
  const modes = ['streamed'] as const;
  return { through: 'call', kind, rule, wires, modes, says: beside(extra), expects: saysHello };
}

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, more: object = {}): string => `event: ${type}\n${data({ type, ...more })}`;
const HEAD = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };

const odds: readonly CallRow[] = [
  odd('a chunk without choices', data({ ...HEAD, prompt_filter_results: [] }), 'Azure: the first chunk'),
  odd('a chunk with choices: null', data({ ...HEAD, choices: null }), 'pydantic/pydantic-ai#5170'),
  odd('a chunk with error: null', data({ ...(chatChunk({}) as object), error: null }), 'vercel/ai#7417'),
  odd('an event data: null', 'data: null\n\n', 'earendil-works/pi#2466'),
  odd('an empty event', 'data: \n\n', 'ROCm/ATOM#1711; HTML: an empty data buffer is no event'),
  odd('a comment', ': OPENROUTER PROCESSING\n\n', 'HTML, server-sent events: comments', undefined),
  odd(
    'progress events',
    data({ ...HEAD, choices: [], prompt_progress: { total: 9 } }),
    'llama.cpp: return_progress',
  ),
  odd('an event of an unknown type', named('later_event'), 'Anthropic: new event types may be added', [
    'anthropic',
  ]),
  odd('an event of an unknown type (Responses)', named('response.later_event'), 'OpenAI: new event types', [
    'openai',
  ]),
  odd('a chunk without candidates', data({ usageMetadata: {}, modelVersion: 'm' }), 'Gemini: usage only', [
    'google',
  ]),
  {
    through: 'call',
    kind: 'a content block of an unknown type',
    rule: 'Anthropic, versioning: new variants of enum-like output values may be added',
    wires: ['anthropic'],
    modes: ['streamed'],
    says: ({ wire }) => {
      const block = [
        named('content_block_start', { index: 7, content_block: { type: 'later_block' } }),
        named('content_block_stop', { index: 7 }),
      ];
      const [first = '', ...rest] = eventsOf(wire, SAID);
      return events([first, ...block, ...rest]);
    },
    expects: saysHello,
  },
  {
    through: 'call',
    kind: 'a last fragment without a function',
    rule: 'vercel/ai#7417: {"index":0,"id":"","type":"function"} ends a call',
    wires: CHAT,
    modes: ['streamed'],
    asks: { tools: ['t.purge'] } as NonNullable<CallRow['asks']>,
    says: ({ wire }) => {
      const all = eventsOf(wire, { parts: [{ call: 'call_1', name: 't_purge', arguments: '{"a":1}' }] });
      const fragment = data(chatChunk({ tool_calls: [{ index: 0, id: '', type: 'function' }] }));
      return events([...all.slice(0, 3), fragment, ...all.slice(3)]);
    },
    expects: (result) => assert.deepEqual(turnIn(result).tool_calls[0]?.arguments, { a: 1 }),
  },
];

const ENDED_BY_MARK: CallRow = {
  through: 'call',
  kind: 'the end mark ends an answer on an open connection',
  rule: 'OpenAI: data: [DONE]; Anthropic: message_stop; Responses: response.completed',
  wires: ['openai-chat', 'openai', 'anthropic', 'compatible'],
  modes: ['streamed'],
  asks: { idle_timeout_ms: 2_000 } as NonNullable<CallRow['asks']>,
  says:
    ({ wire }) =>
    (response) => {
      response.writeHead(200, STREAM_HEAD);
      response.write(eventsOf(wire, SAID).join(''));
    },
  expects: saysHello,
};

const ends: readonly CallRow[] = [
  ENDED_BY_MARK,
  {
    through: 'call',
    kind: 'finish_reason error is a failed attempt',
    rule: 'OpenRouter: errors while streaming come with finish_reason "error"',
    wires: CHAT,
    says: says({ parts: [{ text: 'half an ans' }], finish: 'error' }),
    expects: (result) => assert.equal(errorIn(result).retryable, true),
  },
  {
    through: 'call',
    kind: '[DONE] without a finish reason is an answer',
    rule: 'OpenAI: the stream is terminated by data: [DONE]',
    wires: CHAT,
    modes: ['streamed'],
    says: says({ parts: [{ text: TEXT }], finish: null }),
    expects: saysHello,
  },
  {
    through: 'call',
    kind: 'a refusal with output_schema is asked for once',
    rule: 'OpenAI: refusal; Anthropic: stop_reason refusal; Google: finishReason SAFETY',
    asks: { output_schema: { type: 'object', required: ['n'] } } as NonNullable<CallRow['asks']>,
    says: says({ parts: [{ text: 'I cannot help with that.' }], finish: 'refusal' }),
    expects: (_result, seen) => assert.equal(seen.length, 1),
  },
  {
    through: 'call',
    kind: 'white space alone is an empty answer',
    rule: 'as an empty answer: nothing was said',
    says: says({ parts: [{ text: ' \n\t ' }] }),
    expects: (result) => {
      const { type, retryable, details } = errorIn(result);
      assert.deepEqual([type, retryable, details['reason']], ['provider_error', true, 'empty_answer']);
    },
  },
];

const WORDS = 'the words of the provider';

function explained(kind: string, rule: string, says: CallRow['says'], wires?: CallRow['wires']): CallRow {
  const expects: CallRow['expects'] = (result) => assert.match(errorIn(result).message, new RegExp(WORDS));
  return { through: 'call', kind, rule, ...(wires ? { wires } : {}), says, expects };
}

const errors: readonly CallRow[] = [
  explained('an error as {detail}', 'FastAPI (vLLM, TGI): {"detail": …}', says(json(422, { detail: WORDS }))),
  explained('an error as text', 'xAI, Ollama: {"error": "…"}', says(json(400, { error: WORDS }))),
  explained(
    'an error as plain text',
    'nginx and proxies',
    says(json(502, WORDS, { 'content-type': 'text/plain' })),
  ),
  explained('an error with status 200', 'OpenRouter: 200 with an error body', ({ wire, mode }) =>
    mode === 'streamed'
      ? refusedInStream(wire, { status: 500, message: WORDS })
      : refused(wire, { status: 200, message: WORDS }),
  ),
  {
    through: 'call',
    kind: 'a whole answer to stream: true',
    rule: 'servers that do not stream answer with application/json',
    wires: CHAT,
    modes: ['streamed'],
    says: ({ wire }) => json(200, bodyOfAnswer(wire, SAID)),
    expects: saysHello,
  },
];

const runs: readonly RunRow[] = [
  {
    through: 'run',
    kind: 'an empty end_turn after tool results ends the run',
    rule: 'Anthropic, handling stop reasons: empty responses with end_turn',
    says: (_cell, index) =>
      index === 0
        ? { parts: [{ text: 'Done so far.' }, { call: 'call_1', name: 't_purge', arguments: '{}' }] }
        : { parts: [], finish: 'stop' },
    expects: (run) => {
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.equal(run.result, 'Done so far.');
    },
  },
  {
    through: 'run',
    kind: 'a preamble with tool_calls and no calls',
    rule: 'local servers: finish_reason tool_calls without a call',
    wires: ['openai-chat', 'anthropic', 'compatible'],
    says: says({ parts: [{ text: 'I will call a tool now.' }], finish: 'calls' }),
    expects: (run) => {
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.notEqual(run.termination_reason, 'final_answer');
    },
  },
];

export const ENDS: readonly Row[] = [...odds, ...ends, ...errors, ...runs];
