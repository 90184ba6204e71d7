// fetch for a provider: answers within limits, no redirects, and refusals without the secrets that they may repeat.
// Must never change an answer within its limits, nor send a key to the target of a redirect.
import { boundedBody, boundedEvents, withBody } from '../bounds/bounded-response.ts';
import type { RefusedEvent } from '../bounds/event-cutter.ts';
import { jsonExcess } from '../bounds/json-shape.ts';
import { heldBack } from '../bounds/while-it-holds.ts';
import { REDACTED } from '../contract/redaction.ts';
import { wellFormedJson } from '../contract/well-formed.ts';
import { type AnswerLimits, MAX_ERROR_BYTES, MAX_STREAM_BYTES } from './answer-limits.ts';
import { createDirectChunks, type DirectChunks } from './direct-chunks.ts';
import { type DirectPieces, directPieces } from './direct-stream.ts';
import { RefusedAnswer } from './refused-answer.ts';
import { followed } from './sent-requests.ts';

type Fetch = typeof globalThis.fetch;

/** Shorter texts are not treated as secrets: they would match everywhere. */
const SHORTEST_SECRET = 6;

const NOTHING = Buffer.alloc(0);

export interface GuardedFetchOptions {
  /** Texts that no error may show. */
  readonly secrets: readonly string[];
  readonly limits: AnswerLimits;
}

export function guardedFetch({ secrets, limits }: GuardedFetchOptions): Fetch {
  const hidden = secrets.filter(({ length }) => length >= SHORTEST_SECRET);
  return async (input, init) => {
    const pieces = directPieces(init?.signal);
    const direct = pieces && createDirectChunks(pieces, limits);
    const send = async (): Promise<Response> =>
      globalThis.fetch(input, heldBack({ ...wellFormedInit(init), ...direct?.init, redirect: 'manual' }));
    const response = await followed(init?.signal, send);
    if (isRedirect(response)) throw redirected(response, input);
    if (!response.ok) return refusal(response, hidden);
    await pieces?.led();
    if (response.body === null) return response;
    return asksForStream(input, init)
      ? withBody(response, boundedStream(response.body, limits, pieces, direct))
      : whole(response, limits);
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

async function whole(response: Response, limits: AnswerLimits): Promise<Response> {
  const { ok, bytes } = await boundedBody(response.body, limits.maxBodyBytes);
  const excess = ok ? jsonExcess(bytes, limits) : `is larger than ${limits.maxBodyBytes} bytes`;
  if (excess !== null) throw tooLarge(excess);
  return withBody(response, bytes);
}

function boundedStream(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  limits: AnswerLimits,
  pieces: DirectPieces | undefined,
  direct: DirectChunks | undefined,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const onRefused = ({ reason }: RefusedEvent): never => {
    throw tooLarge(`has an event that ${reason}`);
  };
  let bytes = 0;
  const onChunk = (chunk: Uint8Array): void => {
    bytes = direct?.came(chunk.length) ?? bytes + chunk.length;
    if (bytes > MAX_STREAM_BYTES) throw tooLarge(`is larger than ${MAX_STREAM_BYTES} bytes`);
  };
  const rewrite = (event: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> =>
    pieces?.take(event) ? NOTHING : event;
  const room = (): Promise<void> | undefined => pieces?.room();
  const hold = (): Promise<void> | undefined => pieces?.led();
  const onRead = (isWhole: boolean): void => direct?.read(isWhole);
  return boundedEvents(body, { limits, onRefused, onChunk, onRead, rewrite, room, hold });
}

function tooLarge(excess: string): RefusedAnswer {
  return new RefusedAnswer('too_large', `the answer of the provider ${excess}`);
}

async function refusal(response: Response, hidden: readonly string[]): Promise<Response> {
  const { bytes } = await boundedBody(response.body, MAX_ERROR_BYTES);
  const { status, statusText, headers } = response;
  const empty = new Response(null, { status, statusText, headers: safeHeaders(hidden, headers) });
  return withBody(empty, without(hidden, bytes.toString('utf8')));
}

function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), text);
}

/** The body is decoded, and may have another length. */
function safeHeaders(secrets: readonly string[], headers: Headers): Headers {
  const kept = [...headers].filter(([name]) => name !== 'content-encoding' && name !== 'content-length');
  return new Headers(kept.map(([name, value]): [string, string] => [name, without(secrets, value)]));
}
