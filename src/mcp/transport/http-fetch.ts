/** fetch for the HTTP transports: keeps the Retry-After of a refusal, and bounds everything that comes back.
 *  It must never change a response that is within bounds. */
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type FetchLike,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { boundedBody, boundedEvents, withBody } from '../../platform/bounds/bounded-response.ts';
import type { RefusedEvent } from '../../platform/bounds/event-cutter.ts';
import { PrivateAddress, PUBLIC_ONLY, sendChecked } from '../../platform/bounds/outgoing-request.ts';
import { heldBack, lastQuestion } from '../../platform/bounds/while-it-holds.ts';
import { MAX_MESSAGE_BYTES, MAX_REFUSAL_BYTES, MESSAGE_LIMITS, messageExcess } from './message-limits.ts';
import { createPace, OPENINGS, type Pace } from '../pace.ts';
import { type ReadMessages, readMessages, startsAsMessage } from './read-message.ts';

/** A message that is not passed on. */
export interface RefusedMessage extends RefusedEvent {
  /** The request that it answers; null: a stream that answers several. */
  readonly requestId: string | number | null;
}

export interface HttpFetchOptions {
  readonly pace: Pace;
  /** Option of `HttpTransportOptions`. */
  readonly privateAddresses?: boolean | undefined;
  /** How fast event streams are opened. Default: a pace of its own. */
  readonly openings?: Pace;
  /** May be called twice for one message: when it crosses a limit, and at its end. */
  readonly onRefused: (message: RefusedMessage) => void;
  /** Answers come over the stream that a GET opens, not in the responses. Default: no. */
  readonly answersElsewhere?: boolean;
}

/** Statuses whose answer has no body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Whether a `Response` may have the status. */
function isReadable(status: number): boolean {
  return status >= 200 && status <= 599;
}

/** `fetch` that follows no redirect, and connects to public addresses only where `rule` says so. */
function checkedFetch(rule: typeof PUBLIC_ONLY | null): FetchLike {
  return async (url, { method = 'GET', headers, body = null, signal } = {}) => {
    const answer = await sendChecked(new URL(url), {
      method,
      headers: { 'accept-encoding': 'identity', ...Object.fromEntries(new Headers(headers)) },
      body: typeof body === 'string' || body === null ? body : await new Response(body).text(),
      signal: signal ?? new AbortController().signal,
      rule,
      // Not before: the name is looked up, and the connection made, for a long time maybe.
      holds: body === null ? null : lastQuestion(),
    }).catch((error: unknown) => {
      if (!(error instanceof PrivateAddress)) throw error;
      throw new SdkError(SdkErrorCode.SendFailed, error.message, undefined, { cause: error });
    });
    const { statusCode: status = 0 } = answer;
    const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const hasBody = !BODILESS.has(status);
    // Not read to its end: a body here has no bound.
    if (!hasBody || !isReadable(status)) answer.destroy();
    if (!isReadable(status))
      throw new Error(`The server answered with the status ${status}, which HTTP does not have`);
    return new Response(hasBody ? (Readable.toWeb(answer) as ReadableStream) : null, {
      status,
      headers: pairs,
    });
  };
}

export function createHttpFetch({
  pace,
  privateAddresses,
  openings = createPace(undefined, OPENINGS),
  onRefused,
  answersElsewhere = false,
}: HttpFetchOptions): FetchLike {
  const restMs = (events: number): number => {
    pace.received(events);
    return pace.restMs();
  };
  const checked = privateAddresses === undefined ? null : checkedFetch(privateAddresses ? null : PUBLIC_ONLY);
  return async (url, init) => {
    const isGet = (init?.method ?? 'GET').toUpperCase() === 'GET';
    if (isGet) await waitToOpen(openings, init?.signal);
    const request = isGet ? null : requestOf(init?.body);
    const sent = traced(init, request);
    // @guard flow-written
    const response = await (checked === null ? fetch(url, heldBack(sent)) : checked(url, sent));
    if (isGet && !answersElsewhere && hasNoStream(response, init)) return withoutStream(response);
    if (response.status === 429 || response.status === 503) throw await refusal(response);
    if (request !== null && response.ok) pace.requested();
    const awaited = answersElsewhere ? null : request;
    if (!response.ok) return refusalOrAnswer(await shortened(response), awaited);
    const requestId = awaited?.id ?? null;
    const refuse = (event: RefusedEvent): void => onRefused({ ...event, requestId });
    // The SDK reads every response to a GET as events.
    if (response.body !== null && (isGet || (requestId !== null && isEventStream(response))))
      return withBody(response, readEvents(response.body, refuse, restMs));
    return awaited === null ? shortened(response) : wholeMessage(response, awaited, refuse);
  };
}

/** A server without a stream for GET answers it with a page, with JSON, or, where it has no sessions, as a wrong path. */
function hasNoStream(response: Response, init: RequestInit | undefined): boolean {
  const headers = new Headers(init?.headers);
  // Such a request goes on with the stream of a call, which is awaited.
  if (headers.has('last-event-id')) return false;
  if (response.status === 404) return !headers.has('mcp-session-id');
  return response.ok && mediaTypeOf(response) !== undefined && !isEventStream(response);
}

/** The only answer to a GET after which the SDK does not ask again. */
async function withoutStream(response: Response): Promise<Response> {
  await response.body?.cancel();
  return new Response(null, { status: 405 });
}

type Refuse = (event: RefusedEvent) => void;

function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  refuse: Refuse,
  restMs: (events: number) => number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const refuseBroken = (text: string): void =>
    refuse({ reason: NOT_JSON, head: `data: ${text.slice(0, 512)}`, tail: text.slice(-512) });
  const rewrite = (event: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> => readEvent(event, refuseBroken);
  return boundedEvents(body, { limits: MESSAGE_LIMITS, rewrite, onRefused: refuse, restMs });
}

const NOT_JSON = 'is not JSON';

/** The server sets the pause before an ended stream is opened again: `retry: 0` would reopen it without end. */
async function waitToOpen(openings: Pace, signal: AbortSignal | null | undefined): Promise<void> {
  openings.received(1);
  const restMs = openings.restMs();
  if (restMs > 0) await delay(restMs, undefined, { ref: false, ...(signal ? { signal } : {}) });
}

interface SentRequest {
  id: string | number;
  /** null: it belongs to no trace. */
  traceparent: string | null;
}

/** null: the body is a notification or an answer, whose response holds nothing of interest. */
function requestOf(body: unknown): SentRequest | null {
  if (typeof body !== 'string') return null;
  const { id, method, params } = JSON.parse(body) as {
    id?: unknown;
    method?: unknown;
    params?: { _meta?: { traceparent?: unknown } };
  };
  if (typeof method !== 'string' || (typeof id !== 'string' && typeof id !== 'number')) return null;
  const traceparent = params?._meta?.traceparent;
  return { id, traceparent: typeof traceparent === 'string' ? traceparent : null };
}

/** Servers that know HTTP only continue the trace, too. */
function traced(init: RequestInit | undefined, request: SentRequest | null): RequestInit | undefined {
  if (request === null || request.traceparent === null) return init;
  const headers = new Headers(init?.headers);
  headers.set('traceparent', request.traceparent);
  return { ...init, headers };
}

function isEventStream(response: Response): boolean {
  return mediaTypeOf(response) === 'text/event-stream';
}

function isJson(response: Response): boolean {
  return mediaTypeOf(response) === 'application/json';
}

function mediaTypeOf({ headers }: Response): string | undefined {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
}

/** Redirects and refusals are short, or are cut. */
async function shortened(response: Response): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_REFUSAL_BYTES);
  return withBody(response, bytes);
}

/** The SDK waits for ever for an answer that is not there. */
async function wholeMessage(response: Response, { id }: SentRequest, refuse: Refuse): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_MESSAGE_BYTES + 1);
  // The SDK refuses another sort of content by itself.
  if (response.status !== 202 && response.headers.has('content-type') && !isJson(response))
    return withBody(response, bytes);
  const excess = messageExcess(bytes);
  const read = excess === null ? readMessages(bytes.toString('utf8')) : null;
  const reason = excess ?? faultOf(read, bytes.length, id);
  if (read !== null && reason === null) return withMessages(response, read);
  refuse({ reason: reason ?? NOT_JSON, head: '', tail: '' });
  throw new Error(`The answer ${reason}`);
}

function faultOf(read: ReadMessages | null, bytes: number, id: string | number): string | null {
  if (bytes === 0) return 'is empty';
  if (read === null) return NOT_JSON;
  return read.messages.some((message) => isAnswerTo(message, id))
    ? null
    : 'is not for the request that was sent';
}

function isAnswerTo(message: JSONRPCMessage, id: string | number): boolean {
  return !('method' in message) && String(message.id) === String(id);
}

/** Parsed once, here. */
function withMessages(response: Response, { messages }: ReadMessages): Response {
  const { url } = response;
  const headers = new Headers(response.headers);
  headers.set('content-type', 'application/json');
  const copy = new Response(null, { status: 200, headers });
  const json = (): Promise<unknown> => Promise.resolve(messages.length === 1 ? messages[0] : messages);
  return Object.defineProperties(copy, { url: { value: url }, json: { value: json } });
}

const METHOD_NOT_FOUND = -32_601;

/** Statuses of a refusal that may hold the answer of the server itself. */
const ANSWERING: ReadonlySet<number> = new Set([400, 404, 405, 422]);

/** A refusal with a JSON-RPC error for the request is its answer; one about the session is not. */
async function refusalOrAnswer(response: Response, request: SentRequest | null): Promise<Response> {
  if (!ANSWERING.has(response.status) || request === null || !isJson(response)) return response;
  const read = readMessages(await response.clone().text());
  const answer = read?.messages.find((message) => isAnswerTo(message, request.id));
  const isError = answer !== undefined && 'error' in answer && !/session/i.test(answer.error.message);
  const isAnswer = isError && (response.status === 400 || answer.error.code === METHOD_NOT_FOUND);
  return isAnswer ? withMessages(response, { messages: [answer], isSound: true }) : response;
}

/** The SDK's error for a refused request has no headers, so Retry-After is added here. */
async function refusal(response: Response): Promise<SdkHttpError> {
  const { status, statusText } = response;
  const text = await boundedBody(response.body, MAX_REFUSAL_BYTES).then(
    ({ bytes }) => bytes.toString('utf8', 0, 500),
    () => '',
  );
  const retryAfterMs = readRetryAfterMs(response.headers.get('retry-after'), Date.now());
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `HTTP ${status}`, {
    status,
    statusText,
    text,
    ...(retryAfterMs === null ? {} : { retryAfterMs }),
  });
}
/** Retry-After is either seconds or an HTTP date. null: absent or neither. */
export function readRetryAfterMs(header: string | null, now: number): number | null {
  if (header === null || header.trim() === '') return null;
  const seconds = Number(header);
  if (Number.isFinite(seconds)) return Math.max(0, Math.ceil(seconds * 1_000));
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

type Bytes = Buffer<ArrayBuffer>;

const CARRIAGE_RETURN = 0x0d;
const DATA = /^data(?:: ?|$)/;

/** The event itself when nothing is wrong with it. `onBroken`: its message is not JSON. */
export function readEvent(event: Bytes, onBroken: (text: string) => void): Bytes {
  // A reader waits at a carriage return: a line feed may follow.
  const plain = event.includes(CARRIAGE_RETURN) ? withLineFeeds(event) : event;
  const lines = plain
    .toString('utf8')
    .replace(/^\u{feff}/u, '')
    .split('\n');
  const data = lines.filter((line) => DATA.test(line)).map((line) => line.replace(DATA, ''));
  if (data.length === 0 || lines.some(isOtherType)) return plain;
  const text = data.join('\n');
  const read = readMessages(text);
  if (read === null && startsAsMessage(text)) onBroken(text);
  if (read === null || read.isSound || read.messages.length === 0) return plain;
  const others = lines.filter((line) => line !== '' && !DATA.test(line)).map((line) => `${line}\n`);
  const events = read.messages.map((message) => `${others.join('')}data: ${JSON.stringify(message)}\n\n`);
  return Buffer.from(events.join(''));
}

function withLineFeeds(event: Bytes): Bytes {
  return Buffer.from(event.toString('utf8').replaceAll(/\r\n?/g, '\n'));
}

/** An event of the transport itself, such as the endpoint of the older one. */
function isOtherType(line: string): boolean {
  return line.startsWith('event:') && !['', 'message'].includes(line.slice('event:'.length).trim());
}
