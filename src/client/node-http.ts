/** JSON exchanges over Node's own HTTP, for a third of what its `fetch` costs: that makes web streams for every answer.
 *  It must never be used where a program has changed how `fetch` connects, nor follow a redirection itself. */
import type { Agent, ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { type Answer, type AskedRequest, isJson } from './answer.ts';

/** null: this answer is one for `fetch`. */
export type NodeAsk = (request: AskedRequest) => Promise<Answer | null>;

/** As `fetch` has them. */
const CONNECT_MS = 10_000;
const SILENT_MS = 300_000;
/** Limit of an answer: JavaScript has no longer texts. */
const MOST_BYTES = 256 * 1_024 * 1_024;

/** Milliseconds and bytes. */
export interface ExchangeBounds {
  readonly connectMs: number;
  readonly silentMs: number;
  readonly mostBytes: number;
}

const BOUNDS: ExchangeBounds = { connectMs: CONNECT_MS, silentMs: SILENT_MS, mostBytes: MOST_BYTES };

/** null: not of this runtime, or not of this address. */
export function nodeAsk(base: string, bounds: ExchangeBounds = BOUNDS): NodeAsk | null {
  const url = plainUrl(base);
  const http = url && nodeModule(url);
  if (!url || !http) return null;
  const { request } = http;
  const fixed: RequestOptions = {
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    agent: guardedAgent(new http.Agent({ keepAlive: true, timeout: bounds.silentMs }), url, bounds),
  };
  const prefix = url.pathname.replace(/\/+$/, '');
  const once: NodeAsk = async ({ path, method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const how = signal === undefined ? fixed : { ...fixed, signal };
      const asked: ClientRequest = request({ ...how, path: prefix + path, method, headers }, (response) =>
        receive(response, bounds.mostBytes, { resolve, reject }),
      );
      const fail = (error: Error): void => reject(isStale(asked, error) ? new StaleConnection() : error);
      asked.on('error', fail);
      // Its own event: without a listener nobody would hear of it.
      asked.on('upgrade', (_response, socket) => {
        socket.destroy();
        reject(new Error('It switched to another protocol'));
      });
      asked.end(body);
    });
  return async (asked) =>
    once(asked).catch((error: unknown) => {
      if (error instanceof StaleConnection && asked.method === 'GET') return once(asked);
      throw error;
    });
}

/** A connection that was kept, and that the other side has closed meanwhile: only what changes nothing is asked again. */
class StaleConnection extends Error {
  override readonly message = 'The connection had been closed';
}

function isStale(asked: ClientRequest, error: NodeJS.ErrnoException): boolean {
  return asked.reusedSocket && error.code === 'ECONNRESET';
}

/** null: `fetch` would refuse it, or do more with it than connect. */
function plainUrl(base: string): URL | null {
  if (!URL.canParse(base)) return null;
  const url = new URL(base);
  return /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === ''
    ? url
    : null;
}

/** Asked of the process, not imported: other runtimes and bundlers for browsers have no such module. */
function nodeModule({ protocol }: URL): typeof import('node:http') | null {
  const { process } = globalThis as { process?: Partial<NodeJS.Process> };
  if (process?.versions?.node === undefined || 'bun' in process.versions || 'deno' in process.versions)
    return null;
  const name = protocol === 'https:' ? 'node:https' : 'node:http';
  const found = process.getBuiltinModule?.(name) as typeof import('node:http') | undefined;
  // A proxy named by the environment is for `fetch`.
  return found === undefined || proxyOf(found.globalAgent) !== undefined ? null : found;
}

function proxyOf(agent: object): unknown {
  return (agent as { options?: { proxyEnv?: unknown } }).options?.proxyEnv;
}

/** A host that drops packets, or a service that hangs, does not hold a call for ever. */
function guardedAgent(agent: Agent, { protocol }: URL, { connectMs }: ExchangeBounds): Agent {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (...args) => {
    const socket = connect(...args) as Socket;
    const fail = (what: string): void => void socket.destroy(new Error(what));
    const timer = setTimeout(() => fail('It did not connect in time'), connectMs);
    const clear = (): void => clearTimeout(timer);
    socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', clear).once('close', clear);
    return socket.on('timeout', () => fail('It did not answer in time'));
  };
  return agent;
}

interface Settle {
  resolve(answer: Answer | null): void;
  reject(error: Error): void;
}

function receive(response: IncomingMessage, mostBytes: number, { resolve, reject }: Settle): void {
  const { statusCode: status = 0, headers } = response;
  const { 'content-type': contentType = '', 'retry-after': retryAfter = null } = headers;
  const end = (text: string | null): void => resolve({ status, contentType, retryAfter, text });
  const isForFetch = (status >= 300 && status < 400) || headers['content-encoding'] !== undefined;
  if (isForFetch || !isJson(contentType)) {
    response.on('error', () => {}).destroy();
    return isForFetch ? resolve(null) : end('');
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    bytes += part.length;
    if (bytes > mostBytes) response.destroy(new TooLarge(mostBytes));
    else parts.push(part);
  });
  response.on('error', (error) => (error instanceof TooLarge ? reject(error) : end(null)));
  response.on('end', () => end(textOf(parts)));
}

class TooLarge extends Error {
  constructor(mostBytes: number) {
    super(`Its answer is larger than ${mostBytes} bytes`);
  }
}

function textOf(parts: readonly Buffer[]): string {
  return Buffer.concat(parts).toString();
}

/** Where undici keeps what `fetch` connects with. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/** A program may replace `fetch`, to trace or test it, or to go through a proxy. */
export function isNodeFetch(fetch: typeof globalThis.fetch): boolean {
  return Function.prototype.toString.call(fetch).includes("require('internal/deps/undici/undici')");
}

/** Whether Node's `fetch` connects in its own way: a program may set a proxy, or certificates. */
export function connectsByDefault(): boolean {
  const found = Object.getOwnPropertyDescriptor(globalThis, DISPATCHER);
  // Before it is used it is a getter.
  return found === undefined || found.get !== undefined || isDefaultAgent(found.value);
}

function isDefaultAgent(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value.constructor.name !== 'Agent') return false;
  const agent = value as { dispatch?: unknown };
  const own = Object.getOwnPropertySymbols(agent).find(({ description }) => description === 'options');
  const options: unknown = own && (agent as Record<symbol, unknown>)[own];
  const prototype = Object.getPrototypeOf(agent) as { dispatch?: unknown };
  if (typeof options !== 'object' || options === null || agent.dispatch !== prototype.dispatch) return false;
  return Object.values(options).every((each) => each === undefined || each === Infinity);
}
