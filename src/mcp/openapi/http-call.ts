/** One call of an operation over HTTP: the request from its arguments, and its response as a tool result.
 *  Never sends a request that an argument could lead to another path or host, nor follows a redirect to another origin. */
import type { IncomingMessage } from 'node:http';
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { createByteGatherer } from '../../platform/bounds/byte-gatherer.ts';
import { jsonExcess } from '../../platform/bounds/json-shape.ts';
import { PrivateAddress, PUBLIC_ONLY, sendChecked } from '../../platform/bounds/outgoing-request.ts';
import { lastQuestion } from '../../platform/bounds/while-it-holds.ts';
import { isUnreached } from '../connect-fault.ts';
import type { OpenApiTransportOptions } from '../server-options.ts';
import { readRetryAfterMs } from '../transport/http-fetch.ts';
import { ANSWER_REFUSED } from '../transport/message-delivery.ts';
import { MESSAGE_LIMITS } from '../transport/message-limits.ts';
import type { Operation, OperationParameter } from './operations.ts';

type Members = Readonly<Record<string, unknown>>;
type Reach = Pick<OpenApiTransportOptions, 'headers' | 'privateAddresses'>;

const MOST_ANSWER_BYTES = 4 * 1024 * 1024;
const MOST_REDIRECTS = 3;
const MOST_ERROR_CHARACTERS = 16_384;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly retryAfter: string | null;
  readonly bytes: Buffer;
}

/** A GET within the bounds, with redirects within its origin. Rejects as `sendChecked` does. */
export async function fetched(url: URL, reach: Reach, signal: AbortSignal): Promise<HttpAnswer> {
  return exchanged(url, { method: 'GET', headers: reach.headers, body: null }, reach, signal);
}

interface Sent {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

async function exchanged(
  url: URL,
  sent: Sent,
  { privateAddresses }: Reach,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const rule = privateAddresses ? null : PUBLIC_ONLY;
  let place = url;
  for (let redirects = 0; ; redirects += 1) {
    const answer = await sendChecked(place, { ...sent, signal, rule, holds: lastQuestion() });
    const { statusCode: status = 0, headers } = answer;
    const next = sent.method === 'GET' && REDIRECTS.has(status) ? headers.location : undefined;
    if (next === undefined || redirects === MOST_REDIRECTS || !URL.canParse(next, place.href))
      return readAnswer(answer);
    const target = new URL(next, place);
    if (target.origin !== url.origin) return readAnswer(answer);
    answer.destroy();
    place = target;
  }
}

async function readAnswer(answer: IncomingMessage): Promise<HttpAnswer> {
  const held = createByteGatherer(MOST_ANSWER_BYTES);
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    if (held.add(chunk)) continue;
    answer.destroy();
    throw new ProtocolError(
      ANSWER_REFUSED,
      `The answer of the API is larger than ${MOST_ANSWER_BYTES} bytes`,
    );
  }
  const { statusCode: status = 0, headers } = answer;
  const type = (headers['content-type'] ?? '').toLowerCase();
  return { status, type, retryAfter: headers['retry-after'] ?? null, bytes: held.take() };
}

interface OperationCall {
  readonly operation: Operation;
  readonly arguments: Members;
  readonly meta: Members;
}

/** Throws errors as a transport does: `call-failure.ts` decides whether the API may have seen the request. */
export async function callOperation(
  base: URL,
  reach: Reach,
  { operation, arguments: args, meta }: OperationCall,
  signal: AbortSignal,
): Promise<CallToolResult> {
  const url = addressOf(base, operation, args);
  const key = meta['adjutant/idempotencyKey'];
  const { traceparent } = meta;
  const { keyHeader, method, bodyType } = operation;
  const hasBody = bodyType !== null && args['body'] !== undefined;
  const headers = {
    accept: 'application/json, */*;q=0.5',
    'accept-encoding': 'identity',
    ...headersOf(operation, args, reach),
    ...(typeof traceparent === 'string' ? { traceparent } : {}),
    ...(keyHeader !== null && typeof key === 'string' ? { [keyHeader]: key } : {}),
    ...(hasBody ? { 'content-type': bodyType } : {}),
    ...reach.headers,
  };
  const body = hasBody ? bodyText(bodyType, args['body']) : null;
  try {
    return resultOf(await exchanged(url, { method, headers, body }, reach, signal));
  } catch (error) {
    if (isUnreached(error) || error instanceof PrivateAddress)
      throw new SdkError(SdkErrorCode.SendFailed, (error as Error).message, undefined, { cause: error });
    throw error;
  }
}

/** Never a member of `Object.prototype`, which the document may name. */
function argumentIn(args: Members, { argument }: OperationParameter): unknown {
  return Object.hasOwn(args, argument) ? args[argument] : undefined;
}

function wrongArgument(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

const OTHER_PATH = 'An argument would lead to another path';

function isStep(segments: readonly string[]): boolean {
  return segments.some((segment) => /^\.\.?$/.test(segment));
}

/** The base with the path and the query of the call. Refuses an argument that would lead to another path. */
function addressOf(base: URL, { path, parameters }: Operation, args: Members): URL {
  const expanded = path.replaceAll(/\{([^{}]+)\}/g, (_all, name: string) => {
    const parameter = parameters.find((each) => each.place === 'path' && each.name === name);
    const value = parameter === undefined ? undefined : argumentIn(args, parameter);
    const text = plainText(value);
    if (text === '')
      throw wrongArgument(`The argument "${name}" is a part of the path and must not be empty`);
    // Servers that decode the separators of a segment would follow its steps.
    if (isStep(text.split(/[/\\]/))) throw wrongArgument(OTHER_PATH);
    return encodeURIComponent(text.toWellFormed());
  });
  if (isStep(expanded.split('/'))) throw wrongArgument(OTHER_PATH);
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${expanded}`;
  for (const parameter of parameters)
    if (parameter.place === 'query') addQuery(url.searchParams, parameter, argumentIn(args, parameter));
  return url;
}

function addQuery(query: URLSearchParams, { name, explodes }: OperationParameter, value: unknown): void {
  if (value === undefined) return;
  if (Array.isArray(value) && explodes) for (const item of value) query.append(name, plainText(item));
  else query.append(name, plainText(value));
}

function plainText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.map(plainText).join(',');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function headersOf(
  { parameters }: Operation,
  args: Members,
  { headers: own }: Reach,
): Record<string, string> {
  const fixed = new Set(Object.keys(own).map((name) => name.toLowerCase()));
  const headers: Record<string, string> = {};
  for (const parameter of parameters) {
    const { name, argument, place } = parameter;
    const value = place === 'header' ? argumentIn(args, parameter) : undefined;
    if (value === undefined || fixed.has(name.toLowerCase())) continue;
    const text = plainText(value);
    if (/[^\t\x20-\x7E\x80-\xFF]/.test(text))
      throw wrongArgument(
        `The argument "${argument}" is a header and has characters that a header cannot have`,
      );
    headers[name] = text;
  }
  return headers;
}

function bodyText(type: string, body: unknown): string {
  if (!type.toLowerCase().startsWith('application/x-www-form-urlencoded')) return JSON.stringify(body);
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(isObject(body) ? body : {}))
    for (const item of Array.isArray(value) ? value : [value]) form.append(name, plainText(item));
  return form.toString();
}

function resultOf({ status, type, retryAfter, bytes }: HttpAnswer): CallToolResult {
  if (status === 401 || status === 429 || status >= 500) {
    const retryAfterMs = readRetryAfterMs(retryAfter, Date.now());
    const data = { status, ...(retryAfterMs === null ? {} : { retryAfterMs }) };
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `HTTP ${status}`, data);
  }
  if (status >= 300) {
    const text = `HTTP ${status} ${bytes.toString('utf8')}`.trim().slice(0, MOST_ERROR_CHARACTERS);
    return { isError: true, content: [{ type: 'text', text }] };
  }
  if (bytes.length === 0) return { content: [{ type: 'text', text: `HTTP ${status}` }] };
  if (/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return jsonResult(bytes);
  if (type.startsWith('image/'))
    return {
      content: [{ type: 'image', data: bytes.toString('base64'), mimeType: type.split(';', 1)[0] ?? type }],
    };
  if (/^text\/|xml|javascript/.test(type) || type === '')
    return { content: [{ type: 'text', text: bytes.toString('utf8') }] };
  return { content: [{ type: 'text', text: `${bytes.length} bytes of ${type}` }] };
}

/** The older protocol has objects only as structured content. */
function jsonResult(bytes: Buffer): CallToolResult {
  const excess = jsonExcess(bytes, MESSAGE_LIMITS);
  if (excess !== null) throw new ProtocolError(ANSWER_REFUSED, `The answer of the API ${excess}`);
  const text = bytes.toString('utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProtocolError(ANSWER_REFUSED, 'The answer of the API is no JSON');
  }
  return {
    content: [{ type: 'text', text }],
    structuredContent: isObject(value) ? value : { result: value },
  };
}
