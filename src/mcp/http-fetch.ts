/** fetch for the HTTP transports: keeps the Retry-After of a refusal, and bounds everything that comes back.
 *  It must never change a response that is within bounds. */
import { setTimeout as delay } from 'node:timers/promises';
import { type FetchLike, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { boundedBody, boundedEvents, withBody } from '../bounds/bounded-response.ts';
import type { RefusedEvent } from '../bounds/event-cutter.ts';
import { MAX_MESSAGE_BYTES, MAX_REFUSAL_BYTES, MESSAGE_LIMITS, messageExcess } from './message-limits.ts';
import { createPace, OPENINGS, type Pace } from './pace.ts';

/** A message that is not passed on. */
export interface RefusedMessage extends RefusedEvent {
  /** The request that it answers; null: a stream that answers several. */
  readonly requestId: string | number | null;
}

export interface HttpFetchOptions {
  readonly pace: Pace;
  /** How fast event streams are opened. Default: a pace of its own. */
  readonly openings?: Pace;
  /** May be called twice for one message: when it crosses a limit, and at its end. */
  readonly onRefused: (message: RefusedMessage) => void;
}

export function createHttpFetch({
  pace,
  openings = createPace(undefined, OPENINGS),
  onRefused,
}: HttpFetchOptions): FetchLike {
  const restMs = (events: number): number => {
    pace.received(events);
    return pace.restMs();
  };
  return async (url, init) => {
    const isGet = (init?.method ?? 'GET').toUpperCase() === 'GET';
    if (isGet) await waitToOpen(openings, init?.signal);
    const request = isGet ? null : requestOf(init?.body);
    const response = await fetch(url, traced(init, request));
    if (response.status === 429 || response.status === 503) throw await refusal(response);
    if (!response.ok || response.body === null) return shortened(response);
    const requestId = request?.id ?? null;
    if (requestId !== null) pace.requested();
    const refuse = (event: RefusedEvent): void => onRefused({ ...event, requestId });
    // The SDK reads every response to a GET as events.
    if (isGet || (requestId !== null && isEventStream(response)))
      return withBody(
        response,
        boundedEvents(response.body, { limits: MESSAGE_LIMITS, onRefused: refuse, restMs }),
      );
    return requestId === null ? shortened(response) : wholeMessage(response, refuse);
  };
}

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

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() === 'text/event-stream';
}

/** Redirects and refusals are short, or are cut. */
async function shortened(response: Response): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_REFUSAL_BYTES);
  return withBody(response, bytes);
}

async function wholeMessage(response: Response, refuse: (event: RefusedEvent) => void): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_MESSAGE_BYTES + 1);
  const excess = messageExcess(bytes);
  if (excess === null) return withBody(response, bytes);
  refuse({ reason: excess, head: '', tail: '' });
  throw new Error(`The answer ${excess}`);
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
