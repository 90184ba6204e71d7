// fetch for a provider: answers within limits, no redirects, and refusals without the secrets that they may repeat.
// Must never change what an answer within its limits says, nor send a key to the target of a redirect.
import { APICallError } from '@ai-sdk/provider';
import { boundedBody, boundedEvents, withBody } from '../platform/bounds/bounded-response.ts';
import type { RefusedEvent } from '../platform/bounds/event-cutter.ts';
import { jsonExcess } from '../platform/bounds/json-shape.ts';
import { heldBack } from '../platform/bounds/while-it-holds.ts';
import { markLostNumbers } from '../contract/json/exact-json.ts';
import { isObject } from '../contract/json/json-object.ts';
import { type HideText, hiding } from '../contract/json/secret-text.ts';
import { wellFormedJson } from '../contract/json/well-formed.ts';
import {
  type AnswerLimits,
  EMBEDDING_LIMITS,
  MAX_ERROR_BYTES,
  MAX_STREAM_BYTES,
} from './answers/answer-limits.ts';
import { noteComplete } from './call-limits.ts';
import { reportedError } from './answers/provider-status.ts';
import { RefusedAnswer } from './answers/refused-answer.ts';
import { followed } from './requests/sent-requests.ts';
import { asStream, createAnswerEvents, MAX_MENDED_BYTES, saysAnswer } from './wires/answer-events.ts';
import type { Wire } from './wires/wire.ts';

type Fetch = typeof globalThis.fetch;

export interface GuardedFetchOptions {
  /** Texts that no error may show. */
  readonly secrets: readonly string[];
  readonly limits: AnswerLimits;
  /** The form of the answers; null: they are passed on as they are. */
  readonly wire: Wire | null;
  /** Whether a stream is a sequence of frames with their length first, as Bedrock's. Default: false. */
  readonly binaryFrames?: boolean;
}

export function guardedFetch({ secrets, limits, wire, binaryFrames = false }: GuardedFetchOptions): Fetch {
  // Most answers are no refusal: the secrets are prepared for the first one.
  let prepared: HideText | null = null;
  const hide: HideText = (text) => (prepared ??= hiding(secrets))(text);
  return async (input, init) => {
    const send = async (): Promise<Response> =>
      // @guard flow-written-model
      globalThis.fetch(input, heldBack({ ...wellFormedInit(init), redirect: 'manual' }));
    const response = await followed(init?.signal, send);
    if (isRedirect(response)) throw redirected(response, input);
    if (!response.ok) return refusal(response, hide);
    if (response.body === null) return response;
    if (binaryFrames && isFramed(response)) return withBody(response, boundedFrames(response.body));
    const isStream = asksForStream(input, init);
    const begun = isStream ? await beginning(response) : null;
    if (begun !== null && (wire === null || begun.isEvents))
      return withBody(
        response,
        boundedStream(begun.body, { limits, wire, hide }, () => noteComplete(init?.signal)),
      );
    const { bytes } = await whole(begun?.body ?? response.body, limits);
    const fail: Fail = (message, status = response.status) =>
      unanswered(response, {
        message,
        status,
        body: hide(bytes.toString('utf8', 0, MAX_ERROR_BYTES)),
      });
    // Vectors hold no arguments, and may hold any number.
    const marked = limits === EMBEDDING_LIMITS ? bytes : withMarks(bytes);
    return withBody(response, wire === null ? marked : readable(marked, { wire, isStream, fail }));
  };
}

/** Providers refuse a request with half a surrogate pair, and a conversation that holds one would never go on. */
function wellFormedInit(init: RequestInit | undefined): RequestInit | undefined {
  return typeof init?.body === 'string' ? { ...init, body: wellFormedJson(init.body) } : init;
}

function isRedirect({ status }: Response): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Names the target, so that it can be configured; never its query, which may hold the key. */
function redirected(response: Response, input: Parameters<Fetch>[0]): RefusedAnswer {
  void response.body?.cancel().catch(() => {});
  const from = input instanceof Request ? input.url : String(input);
  const target = URL.parse(response.headers.get('location') ?? '', from);
  const where = target === null ? '' : ` to ${target.origin}${target.pathname}`;
  return new RefusedAnswer(
    'redirect',
    `the provider redirects${where}; redirects are not followed: correct its base_url`,
  );
}

/** Google asks in the URL, the others in the body. In a text of a caller the quotes are escaped. */
function asksForStream(input: Parameters<Fetch>[0], init: Parameters<Fetch>[1]): boolean {
  const url = input instanceof Request ? input.url : String(input);
  return (
    url.includes(':streamGenerateContent') ||
    (typeof init?.body === 'string' && init.body.includes('"stream":true'))
  );
}

type Body = ReadableStream<Uint8Array<ArrayBuffer>>;

async function whole(body: Body, limits: AnswerLimits): Promise<{ bytes: Buffer<ArrayBuffer> }> {
  const { ok, bytes } = await boundedBody(body, limits.maxBodyBytes);
  const excess = ok ? jsonExcess(bytes, limits) : `is larger than ${limits.maxBodyBytes} bytes`;
  if (excess !== null) throw tooLarge(excess);
  return { bytes };
}

/** The first line of a stream of events, or the beginning of one. */
const EVENT_LINE = /^\u{feff}?\s*(?::|(?:data|event|id|retry)(?::|\s|$))/u;
/** The longest name of a field, and its colon. */
const LINE_BYTES = 6;
/** White space that may come before the first line. */
const MAX_BLANK_BYTES = 4_096;

/** Some servers answer with a whole JSON or a page instead of events, others label their events as something else. */
async function beginning(response: Response): Promise<{ isEvents: boolean; body: Body }> {
  const body = response.body as Body;
  if (response.headers.get('content-type')?.includes('text/event-stream')) return { isEvents: true, body };
  const reader = body.getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let text = '';
  while (text.trim().length < LINE_BYTES && text.length < MAX_BLANK_BYTES) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    text += Buffer.from(value).toString('utf8');
  }
  const isEvents = text.trim() === '' || EVENT_LINE.test(text);
  const pull = async (
    controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
  ): Promise<void> => {
    const chunk = chunks.shift() ?? (await reader.read()).value;
    if (chunk === undefined) controller.close();
    else controller.enqueue(chunk);
  };
  const cancel = async (reason: unknown): Promise<void> => reader.cancel(reason);
  return { isEvents, body: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }) };
}

/** Some clients parse the arguments of a tool call and write them again. */
function withMarks(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const text = bytes.toString('utf8');
  const marked = markLostNumbers(text);
  return marked === text ? bytes : Buffer.from(marked);
}

/** The error of an answer, with another status than the response has. */
type Fail = (message: string, status?: number) => APICallError;

/** The bytes of a whole answer that the client can read. Throws the error that the provider reports instead of one. */
function readable(
  bytes: Buffer<ArrayBuffer>,
  { wire, isStream, fail }: { wire: Wire; isStream: boolean; fail: Fail },
): Buffer<ArrayBuffer> {
  if (bytes.length > MAX_MENDED_BYTES && !isStream) return bytes;
  const answer = parsed(bytes);
  const list = Array.isArray(answer) ? (answer as unknown[]).filter(isObject) : [answer].filter(isObject);
  const answers = list.filter((each) => saysAnswer(each, wire));
  const [first] = answers;
  if (first === undefined) {
    const reported = reportedError(answer);
    throw fail(reported?.members.message ?? 'the answer cannot be read', reported?.status);
  }
  if (isStream) return Buffer.concat(answers.map((each) => asStream(each, wire)));
  const mending = { isChanged: false };
  wire.mendWhole(first, mending);
  return mending.isChanged ? Buffer.from(JSON.stringify(first)) : bytes;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

/** The error that a client throws for the same body with an HTTP error. */
function unanswered(
  { headers }: Response,
  { message, status, body }: { message: string; status: number; body: string },
): APICallError {
  return new APICallError({
    message,
    url: '',
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: Object.fromEntries(headers),
    responseBody: body,
  });
}

function boundedStream(
  body: Body,
  { limits, wire, hide }: { limits: AnswerLimits; wire: Wire | null; hide: HideText },
  onComplete: () => void,
): Body {
  const onRefused = ({ reason }: RefusedEvent): never => {
    throw tooLarge(`has an event that ${reason}`);
  };
  let bytes = 0;
  const onChunk = (chunk: Uint8Array): void => {
    bytes += chunk.length;
    if (bytes > MAX_STREAM_BYTES) throw tooLarge(`is larger than ${MAX_STREAM_BYTES} bytes`);
  };
  const events = wire === null ? {} : createAnswerEvents(wire, hide, onComplete);
  return boundedEvents(body, { limits, onRefused, onChunk, ...events });
}

function isFramed({ headers }: Response): boolean {
  return headers.get('content-type')?.startsWith('application/vnd.amazon.eventstream') ?? false;
}

/** The client joins the chunks of a frame anew with each chunk. */
const MAX_FRAME_BYTES = 1024 * 1024;
const LENGTH_BYTES = 4;

/** The same bytes, until a frame announces more than the limit. */
function boundedFrames(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  let left = 0;
  let length: number[] = [];
  const check = (chunk: Uint8Array): void => {
    bytes += chunk.length;
    if (bytes > MAX_STREAM_BYTES) throw tooLarge(`is larger than ${MAX_STREAM_BYTES} bytes`);
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        length.push(chunk[at] ?? 0);
        at += 1;
        if (length.length < LENGTH_BYTES) continue;
        left = length.reduce((sum, byte) => sum * 256 + byte, 0) - LENGTH_BYTES;
        length = [];
        if (left <= 0 || left > MAX_FRAME_BYTES)
          throw tooLarge(`has a frame of no byte, or of more than ${MAX_FRAME_BYTES}`);
      }
      const passed = Math.min(left, chunk.length - at);
      left -= passed;
      at += passed;
    }
  };
  return body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        check(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
}

function tooLarge(excess: string): RefusedAnswer {
  return new RefusedAnswer('too_large', `the answer of the provider ${excess}`);
}

async function refusal(response: Response, hide: HideText): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_ERROR_BYTES);
  const { status, statusText, headers } = response;
  const empty = new Response(null, { status, statusText, headers: safeHeaders(hide, headers) });
  return withBody(empty, hide(bytes.toString('utf8')));
}

/** The body is decoded, and may have another length. */
function safeHeaders(hide: HideText, headers: Headers): Headers {
  const kept = [...headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return new Headers(kept.map(([name, value]): [string, string] => [name, hide(value)]));
}
