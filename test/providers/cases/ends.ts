/** Streams with odd events, answers that end in odd ways, and what a provider says of an error.
 *  An answer must never be lost because of an event beside it. */
import assert from 'node:assert/strict';
import { type CallResult, errorIn, turnIn } from '../../support/model-calls.ts';
import { STREAM_HEAD } from '../../support/provider-server.ts';
import type { CallRow, Cell, Reply, Row, RunRow, Write } from '../row.ts';
import { bodyOfAnswer, CHAT, chatChunk, events, eventsOf, json, refused, refusedInStream } from '../wires.ts';

const TEXT = 'hello';
const FILTERED =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.";
const WORDS = 'the words of the provider';
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

type Wires = CallRow['wires'];

/** A row of a call; `wires` undefined: all of them. */
const row = (
  kind: string,
  rule: string,
  wires: Wires,
  more: Pick<CallRow, 'says' | 'expects'> & Partial<CallRow>,
): CallRow => ({ through: 'call', kind, rule, ...(wires ? { wires } : {}), ...more });

/** As `row`, of streams only. */
const streamed = (kind: string, rule: string, wires: Wires, more: Parameters<typeof row>[3]): CallRow =>
  row(kind, rule, wires, { modes: ['streamed'], ...more });

const TOOLS = { tools: ['t.purge'] } as NonNullable<CallRow['asks']>;

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (type: string, more: object = {}): string => `event: ${type}\n${data({ type, ...more })}`;
const HEAD = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' };

type Fragment = readonly [index: number | null, id: string | null, name: string | null, text: unknown];

/** Fragments of calls, one for each chunk. */
const FRAGMENTS: readonly (readonly [
  kind: string,
  rule: string,
  list: readonly Fragment[],
  calls: readonly unknown[],
])[] = [
  [
    'two calls without an index',
    'vercel/ai#7238, ollama/ollama#7881',
    [
      [null, 'a', 't_purge', '{"n":1}'],
      [null, 'b', 't_purge', '{"n":2}'],
    ],
    [{ n: 1 }, { n: 2 }],
  ],
  [
    'two calls with one index',
    'Gemini through its interface for the clients of OpenAI: every call has index 0',
    [
      [0, 'a', 't_purge', '{"n":1}'],
      [0, 'b', 't_purge', '{"n":2}'],
    ],
    [{ n: 1 }, { n: 2 }],
  ],
  [
    'a name in every fragment',
    'NousResearch/hermes-agent#8259: MiniMax through NVIDIA NIM',
    [
      [0, 'a', 't_purge', '{"n"'],
      [0, 'a', 't_purge', ':1}'],
    ],
    [{ n: 1 }],
  ],
  [
    'two calls with empty ids',
    'lmstudio-ai/lmstudio-bug-tracker#830, openai/openai-dotnet#428',
    [
      [0, '', 't_purge', '{"n":1}'],
      [1, '', 't_purge', '{"n":2}'],
    ],
    [{ n: 1 }, { n: 2 }],
  ],
  ['arguments as an object', 'ggml-org/llama.cpp#20198', [[0, 'a', 't_purge', { n: 1 }]], [{ n: 1 }]],
];

const fragmented = FRAGMENTS.map(([kind, rule, list, calls]) =>
  streamed(kind, rule, CHAT, {
    asks: TOOLS,
    says: () => {
      const deltas = list.map(([index, id, name, text]) => ({
        ...(index === null ? {} : { index }),
        ...(id === null ? {} : { id }),
        type: 'function',
        function: { ...(name === null ? {} : { name }), arguments: text },
      }));
      const chunks = deltas.map((delta) => data(chatChunk({ tool_calls: [delta] })));
      return events([...chunks, data(chatChunk({}, 'tool_calls')), 'data: [DONE]\n\n']);
    },
    expects: (result) => {
      const { tool_calls } = turnIn(result);
      assert.deepEqual(
        tool_calls.map(({ name, arguments: given }) => [name, given]),
        calls.map((each) => ['t.purge', each]),
      );
      assert.equal(new Set(tool_calls.map(({ id }) => id)).size, calls.length, 'ids are not distinct');
    },
  }),
);

const USAGES: readonly (readonly [kind: string, rule: string, usage: object])[] = [
  [
    'tokens with the names of Responses',
    'earendil-works/pi#2325: mlx-vlm, vLLM',
    { input_tokens: 5, output_tokens: 3 },
  ],
  [
    'a count of tokens that is null',
    'zed-industries/zed#62983: cache_write_tokens: null',
    {
      prompt_tokens: 5,
      completion_tokens: 3,
      total_tokens: 8,
      prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: null },
    },
  ],
];

const counted = USAGES.map(([kind, rule, usage]) =>
  streamed(kind, rule, CHAT, {
    says: ({ wire }) => {
      const [first = '', ...rest] = eventsOf(wire, SAID).filter((text) => !text.includes('[DONE]'));
      const plain = rest.map((text) => text.replace(/"usage":{[^}]*}/, '"usage":null'));
      return events([first, ...plain, data({ ...HEAD, choices: [], usage }), 'data: [DONE]\n\n']);
    },
    expects: (result) => {
      const { input_tokens, output_tokens } = turnIn(result).usage ?? {};
      assert.deepEqual([input_tokens, output_tokens], [5, 3]);
    },
  }),
);

/** One more event before the second of an answer. */
const EXTRA: readonly (readonly [kind: string, extra: string, rule: string, wires?: Wires])[] = [
  ['a chunk without choices', data({ ...HEAD, prompt_filter_results: [] }), 'Azure: the first chunk', CHAT],
  ['a chunk with choices: null', data({ ...HEAD, choices: null }), 'pydantic/pydantic-ai#5170', CHAT],
  ['a chunk with error: null', data({ ...(chatChunk({}) as object), error: null }), 'vercel/ai#7417', CHAT],
  ['an event data: null', 'data: null\n\n', 'earendil-works/pi#2466', CHAT],
  ['an empty event', 'data: \n\n', 'ROCm/ATOM#1711; HTML: an empty data buffer is no event', CHAT],
  ['a comment', ': OPENROUTER PROCESSING\n\n', 'HTML, server-sent events: comments', CHAT],
  [
    'progress events',
    data({ ...HEAD, choices: [], prompt_progress: { total: 9 } }),
    'llama.cpp: return_progress',
    CHAT,
  ],
  [
    'an event of an unknown type',
    named('later_event'),
    'Anthropic: new event types may be added',
    ['anthropic'],
  ],
  [
    'an event of an unknown type (Responses)',
    named('response.later_event'),
    'OpenAI: new event types',
    ['openai'],
  ],
  [
    'a chunk without candidates',
    data({ usageMetadata: {}, modelVersion: 'm' }),
    'Gemini: usage only',
    ['google'],
  ],
];

const odds: readonly CallRow[] = [
  ...EXTRA.map(([kind, extra, rule, wires]) =>
    streamed(kind, rule, wires, { says: beside(extra), expects: saysHello }),
  ),
  streamed(
    'a content block of an unknown type',
    'Anthropic, versioning: new variants of enum-like output values may be added',
    ['anthropic'],
    {
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
  ),
  streamed(
    'a last fragment without a function',
    'vercel/ai#7417: {"index":0,"id":"","type":"function"} ends a call',
    CHAT,
    {
      asks: TOOLS,
      says: ({ wire }) => {
        const all = eventsOf(wire, { parts: [{ call: 'call_1', name: 't_purge', arguments: '{"a":1}' }] });
        const fragment = data(chatChunk({ tool_calls: [{ index: 0, id: '', type: 'function' }] }));
        return events([...all.slice(0, 3), fragment, ...all.slice(3)]);
      },
      expects: (result) => assert.deepEqual(turnIn(result).tool_calls[0]?.arguments, { a: 1 }),
    },
  ),
];

function leftOpen(texts: readonly string[]): Write {
  return (response) => {
    response.writeHead(200, STREAM_HEAD);
    response.write(texts.join(''));
  };
}

const ENDED_BY_MARK = streamed(
  'the end mark ends an answer on an open connection',
  'OpenAI: data: [DONE]; Anthropic: message_stop; Responses: response.completed',
  ['openai-chat', 'openai', 'anthropic', 'compatible'],
  {
    asks: { idle_timeout_ms: 2_000 } as NonNullable<CallRow['asks']>,
    says: ({ wire }) => leftOpen(eventsOf(wire, SAID)),
    expects: saysHello,
  },
);

const ENDED_BY_REASON: CallRow = {
  ...ENDED_BY_MARK,
  kind: 'a finish reason ends an answer on an open connection',
  rule: 'Gemini has no end mark; a compatible server leaves [DONE] out',
  wires: ['openai-chat', 'google', 'compatible'],
  waits: true,
  // Shorter than the grace for a report of the tokens.
  asks: { idle_timeout_ms: 500 } as NonNullable<CallRow['asks']>,
  says: ({ wire }) => leftOpen(eventsOf(wire, SAID).filter((text) => !text.includes('[DONE]'))),
};

/** Half an answer, and then each wire's own word for a failure. */
function broken({ wire, mode }: Cell): Reply {
  const half = { parts: [{ text: 'half an ans' }] };
  if (wire === 'openai') return failedResponse({ code: 'server_error', message: WORDS })({ wire, mode });
  if (wire === 'google') {
    const candidate = { index: 0, content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' };
    const body = { candidates: [candidate], usageMetadata: {}, modelVersion: 'm' };
    return mode === 'whole' ? json(200, body) : events([data(body)]);
  }
  if (wire !== 'anthropic') return { ...half, finish: 'error' };
  return mode === 'whole'
    ? refused(wire, { status: 200, code: 'api_error', message: WORDS })
    : events([
        ...eventsOf(wire, half).slice(0, 3),
        named('error', { error: { type: 'overloaded_error', message: WORDS } }),
      ]);
}

const failedResponse =
  (error: { code: string; message: string }) =>
  ({ wire, mode }: Cell): Reply => {
    const body = bodyOfAnswer(wire, { parts: [{ text: 'half an ans' }] }) as object;
    const response = { ...body, status: 'failed', error };
    if (mode === 'whole') return json(200, response);
    const begun = eventsOf(wire, { parts: [{ text: 'half an ans' }] }).slice(0, 3);
    return events([...begun, named('response.failed', { sequence_number: 9, response })]);
  };

const TOO_LARGE =
  'Request too large for gpt-4.1 in organization o on tokens per min (TPM): Limit 30000, Requested 35364.';

function failing(code: string, message: string, type: string, reason?: string): CallRow {
  return {
    through: 'call',
    kind: `a failed response: ${code}${reason === undefined ? '' : `, ${reason}`}`,
    rule: 'vercel/ai#6534: response.failed, and status failed, carry the error of the response',
    wires: ['openai'],
    says: (cell) => failedResponse({ code, message })(cell),
    expects: (result) => {
      const { type: found, details } = errorIn(result);
      assert.deepEqual([found, details['reason']], [type, reason]);
    },
  };
}

const FAILURES: readonly CallRow[] = [
  row(
    'a failure in an answer is a failed attempt',
    'OpenRouter: finish_reason "error"; Responses: status failed; Anthropic: error; Gemini: MALFORMED_FUNCTION_CALL',
    undefined,
    {
      says: broken,
      expects: (result) => {
        const { type, retryable } = errorIn(result);
        assert.deepEqual([type, retryable], ['provider_error', true]);
      },
    },
  ),
  failing('rate_limit_exceeded', 'Rate limit reached, please try again in 2s.', 'rate_limited'),
  failing('rate_limit_exceeded', TOO_LARGE, 'validation_error', 'request_too_large'),
  row(
    'an answer that fills the context window is cut',
    'Anthropic, stop reasons: model_context_window_exceeded; earendil-works/pi#1868',
    ['anthropic'],
    {
      says: ({ mode }) => {
        const body = bodyOfAnswer('anthropic', SAID) as object;
        if (mode === 'whole') return json(200, { ...body, stop_reason: 'model_context_window_exceeded' });
        const texts = eventsOf('anthropic', SAID);
        return events(texts.map((text) => text.replace('end_turn', 'model_context_window_exceeded')));
      },
      expects: (result) => assert.equal(turnIn(result).finish_reason, 'length'),
    },
  ),
];

const BLOCKED = row(
  'a prompt that is refused',
  '2389-research/tracker#543: promptFeedback.blockReason and no candidates, with status 200',
  ['google'],
  {
    says: ({ mode }) => {
      const body = {
        promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
        usageMetadata: {},
        modelVersion: 'm',
      };
      return mode === 'whole' ? json(200, body) : events([data(body)]);
    },
    expects: (result, seen) => {
      assert.deepEqual([turnIn(result).finish_reason, turnIn(result).text], ['content_filter', '']);
      assert.equal(seen.length, 1);
    },
  },
);

const PROXY_PAGE = '<!DOCTYPE html><html><head><title>api.x | 524: A timeout occurred</title></head></html>';

const ends: readonly CallRow[] = [
  BLOCKED,
  ENDED_BY_MARK,
  ENDED_BY_REASON,
  ...FAILURES,
  streamed(
    '[DONE] without a finish reason is an answer',
    'OpenAI: the stream is terminated by data: [DONE]',
    CHAT,
    {
      says: says({ parts: [{ text: TEXT }], finish: null }),
      expects: saysHello,
    },
  ),
  row(
    'a refusal with output_schema is asked for once',
    'OpenAI: refusal; Anthropic: stop_reason refusal; Google: finishReason SAFETY',
    undefined,
    {
      asks: { output_schema: { type: 'object', required: ['n'] } } as NonNullable<CallRow['asks']>,
      says: says({ parts: [{ text: 'I cannot help with that.' }], finish: 'refusal' }),
      expects: (_result, seen) => assert.equal(seen.length, 1),
    },
  ),
  row('white space alone is an empty answer', 'as an empty answer: nothing was said', undefined, {
    says: says({ parts: [{ text: ' \n\t ' }] }),
    expects: (result) => {
      const { type, retryable, details } = errorIn(result);
      assert.deepEqual([type, retryable, details['reason']], ['provider_error', true, 'empty_answer']);
    },
  }),
];

function explained(kind: string, rule: string, says: CallRow['says']): CallRow {
  const expects: CallRow['expects'] = (result) => assert.match(errorIn(result).message, new RegExp(WORDS));
  return row(kind, rule, undefined, { says, expects });
}

const refusedPrompt: CallRow['expects'] = (result) => {
  const { type, retryable, details } = errorIn(result);
  assert.deepEqual([type, retryable, details['reason']], ['validation_error', false, 'refused']);
};

const errors: readonly CallRow[] = [
  row(
    'a page of a proxy with its own status',
    'Cloudflare: 520 to 527; 1024XEngineer/Windup#269',
    undefined,
    {
      says: () => json(524, PROXY_PAGE, { 'content-type': 'text/html' }),
      expects: (result) => {
        const { type, retryable, message } = errorIn(result);
        assert.deepEqual([type, retryable], ['provider_error', true]);
        assert.match(message, /524: A timeout occurred/);
      },
    },
  ),
  row(
    'a prompt that the filter of a proxy refuses',
    'Azure: 400 content_filter, ResponsibleAIPolicyViolation; tatsu-lab/alpaca_eval#227 repeats it',
    undefined,
    {
      says: ({ wire }) => refused(wire, { status: 400, code: 'content_filter', message: FILTERED }),
      expects: refusedPrompt,
    },
  ),
  streamed('the same inside a stream', 'OpenRouter: errors while streaming', undefined, {
    says: ({ wire }) => refusedInStream(wire, { status: 400, code: 'content_filter', message: FILTERED }),
    expects: refusedPrompt,
  }),
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
  streamed(
    'a whole answer to stream: true',
    'servers that do not stream answer with application/json',
    CHAT,
    {
      says: ({ wire }) => json(200, bodyOfAnswer(wire, SAID)),
      expects: saysHello,
    },
  ),
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
    agent: 'hasty',
    wires: ['openai-chat', 'anthropic', 'compatible'],
    says: says({ parts: [{ text: 'I will call a tool now.' }], finish: 'calls' }),
    expects: ({ error }, seen) => {
      assert.match(JSON.stringify(error), /no_tool_calls/);
      assert.equal(seen.length, 2);
    },
  },
];

export const ENDS: readonly Row[] = [...odds, ...fragmented, ...counted, ...ends, ...errors, ...runs];
