/** Requests and answers of three wires for comparing, byte by byte, what a provider sends with what its caller gets.
 *  It must never be random: the same seed makes the same cases. */
import type { Answer } from './provider-server.ts';
import { sse } from './provider-server.ts';
import { ANTHROPIC, GOOGLE, OPENAI_CHAT, OPENAI_CHAT_TOOLS, OPENAI_RESPONSES } from './recorded-answers.ts';

export type Family = 'openai' | 'anthropic' | 'google';

export interface PassedCase {
  readonly name: string;
  readonly family: Family;
  /** Path after the base URL of the provider's API. */
  readonly path: string;
  /** Body of the request, without the name of its model. */
  readonly request: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer, as it leaves the provider. */
  readonly chunks: readonly Buffer[];
}

/** Numbers from 0 to 1 (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const STREAMS: readonly (readonly [name: string, family: Family, path: string, text: string])[] = [
  ['chat', 'openai', '/chat/completions', OPENAI_CHAT],
  ['chat with tools', 'openai', '/chat/completions', OPENAI_CHAT_TOOLS],
  ['responses', 'openai', '/responses', OPENAI_RESPONSES],
  ['messages', 'anthropic', '/messages', ANTHROPIC],
  ['google', 'google', '/models/m:streamGenerateContent?alt=sse', GOOGLE],
];

/** Forms that a provider may give a stream of events. */
const FORMS: readonly (readonly [name: string, form: (text: string) => string])[] = [
  ['as recorded', (text) => text],
  ['with CRLF', (text) => text.replaceAll('\n', '\r\n')],
  ['with comments and ids', (text) => `: open\n\n${text.replaceAll('data:', 'id: 1\nretry: 10\ndata:')}`],
  ['with unknown events', (text) => sse([{ type: 'x.future', deep: [{ a: null }] }], { named: true }) + text],
  ['with a byte order mark', (text) => `\u{feff}${text}`],
  ['with bytes after its end', (text) => `${text}: bye\n\n`],
];

/** Whole answers in the form of each wire, with members and numbers that no client knows. */
const WHOLE: readonly (readonly [name: string, family: Family, path: string, text: string])[] = [
  [
    'chat',
    'openai',
    '/chat/completions',
    '{ "id":"c", "object":"chat.completion", "choices":[ {"index":0,"message":{"role":"assistant","content":"h\\u00e9 \\ud83c\\udf0d"},"finish_reason":"stop","x_future":12345678901234567890} ],\n "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2},"z":1e400,"z":2.50 }\n',
  ],
  [
    'embeddings',
    'openai',
    '/embeddings',
    '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10000000000000000555,-1.0E-7]}],"model":"e","usage":{"prompt_tokens":8,"total_tokens":8}}',
  ],
  [
    'responses',
    'openai',
    '/responses',
    '{"id":"resp_1","object":"response","status":"completed","output":[{"type":"web_search_call","id":"ws"},{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"usage":{"input_tokens":1,"output_tokens":1},"future":{"a":[]}}',
  ],
  [
    'messages',
    'anthropic',
    '/messages',
    '{"type":"message","content":[{"type":"text","text":"hi"},{"type":"from_the_future","x":[1,2]}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":1,"tier":"x"},"__proto__":{"a":1}}',
  ],
  ['count', 'anthropic', '/messages/count_tokens', '{"input_tokens":2095}'],
  [
    'google',
    'google',
    '/models/m:generateContent',
    '{"candidates":[{"content":{"parts":[{"text":"hi"},{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},"finishReason":"STOP","safetyRatings":[]}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}',
  ],
  ['embedding', 'google', '/models/m:embedContent', '{"embedding":{"values":[0.013168523,-0.0001]}}'],
];

const ERRORS: readonly (readonly [status: number, type: string, body: string])[] = [
  [
    400,
    'application/json',
    '{"error":{"message":"Unknown parameter: \'x\'.","type":"invalid_request_error","param":"x","code":null},"more":1}',
  ],
  [
    401,
    'application/json; charset=utf-8',
    '{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}',
  ],
  [403, 'text/html', '<html><head><title>403 Forbidden</title></head></html>\n'],
  [404, 'application/json', '{"error":{"code":404,"message":"models/m is not found","status":"NOT_FOUND"}}'],
  [413, 'text/plain', 'Payload Too Large'],
  [422, 'application/json', '{"detail":[{"loc":["body"],"msg":"bad","type":"x"}]}'],
];

/** Parameters that a caller may send: the provider alone knows them. */
function requestOf(random: () => number, path: string, isStream: boolean, index: number): string {
  const odd = ['1e3', '12345678901234567890', '0.10', '"\\ud83c\\udf0d"', 'null', '[ 1 , { } ]', 'true'];
  const pick = (): string => odd[Math.floor(random() * odd.length)] ?? 'null';
  const members = [
    `"case_number": ${index}`,
    `"messages":[{"role":"user","content":"say \\"model\\": hi"}]`,
    `"from_the_future" :${pick()}`,
    `"metadata": {"model":"inner", "k":${pick()}}`,
    `"temperature":${random().toFixed(2)}`,
    ...(isStream && !path.includes(':') ? ['"stream":true'] : []),
  ].toSorted(() => random() - 0.5);
  return `{ ${members.join(random() < 0.5 ? ',' : ' ,\n\t')} }`;
}

/** The request with the name of a model among its members, as its wire names it. */
export function withModelIn({ request, family }: PassedCase, model: string): string {
  return family === 'google' ? request : request.replace('{ ', `{ "model" : ${JSON.stringify(model)},`);
}

export function passedCases(count: number, seed = 17): PassedCase[] {
  const random = numbers(seed);
  return Array.from({ length: count }, (_, index) => {
    const round = Math.floor(index / 3);
    const kind = index % 3;
    const made = kind === 0 ? streamCase(round) : kind === 1 ? wholeCase(round) : errorCase(round);
    const { text, ...rest } = made;
    const request = requestOf(random, made.path, kind === 0 || round % 2 === 0, index);
    return { ...rest, request, chunks: cut(Buffer.from(text), random) };
  });
}

type Made = Omit<PassedCase, 'request' | 'chunks'> & { readonly text: string };

function streamCase(round: number): Made {
  const [name, family, path, text] = at(STREAMS, round);
  const [formName, form] = at(FORMS, Math.floor(round / STREAMS.length));
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'x-request-id': `req_${round}` };
  return { name: `${name} ${formName}`, family, path, status: 200, headers, text: form(text) };
}

function wholeCase(round: number): Made {
  const [name, family, path, text] = at(WHOLE, round);
  const headers = { 'content-type': 'application/json', 'request-id': `req_${round}`, 'set-cookie': 'a=b' };
  return { name: `whole ${name}`, family, path, status: 200, headers, text };
}

function errorCase(round: number): Made {
  const [status, type, text] = at(ERRORS, round);
  const [, family, path] = at(STREAMS, round);
  const headers = { 'content-type': type, 'x-ratelimit-remaining-requests': '7' };
  return { name: `error ${status}`, family, path, status, headers, text };
}

function at<T>(list: readonly T[], index: number): T {
  return list[index % list.length] as T;
}

/** In up to twelve parts, also within characters and line ends. */
function cut(bytes: Buffer, random: () => number): Buffer[] {
  const ends = Array.from({ length: Math.floor(random() * 12) }, () => Math.floor(random() * bytes.length));
  const places = [0, ...ends.toSorted((left, right) => left - right), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** Answers each request as its `case_number` says. */
export function answerCases(cases: readonly PassedCase[]): Answer {
  return async (response, { body }) => {
    const { case_number: number } = body as { case_number: number };
    const { status, headers, chunks } = cases[number] as PassedCase;
    response.writeHead(status, headers);
    for (const chunk of chunks) {
      response.write(chunk);
      await new Promise((resolve) => void setImmediate(resolve));
    }
    response.end();
  };
}
