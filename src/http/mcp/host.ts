/** The client behind a request, as far as it can ask the person who uses it.
 *  It must never ask in a way that the client has not declared. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import { isObject } from '../../contract/json/json-object.ts';

export interface Host {
  /** As answers and decisions name it. */
  readonly by: string;
  readonly showsForms: boolean;
  readonly opensUrls: boolean;
}

const PREFIX = 'io.modelcontextprotocol/';
const MAX_NAME_CHARACTERS = 100;

/** A client of the stateless protocol says with each request what it can do. */
export function modernHost(context: ServerContext): Host {
  return hostOf(declaredBy(context), envelopeOf(context)[`${PREFIX}clientInfo`]);
}

/** The capabilities that a client of the stateless protocol says with this request. */
export function declaredBy(context: ServerContext): unknown {
  return envelopeOf(context)[`${PREFIX}clientCapabilities`];
}

function envelopeOf({ mcpReq }: ServerContext): Readonly<Record<string, unknown>> {
  return Object(mcpReq.envelope) as Readonly<Record<string, unknown>>;
}

/** The trace context of the client, else that of the request that carries the call. */
export function traceparentOf({ mcpReq, http }: ServerContext): unknown {
  return mcpReq._meta?.['traceparent'] ?? http?.req?.headers.get('traceparent');
}

/** An older one has said it at the beginning of its session. */
export function sessionHost(server: Server): Host {
  return hostOf(server.getClientCapabilities(), server.getClientVersion());
}

export function canAsk({ showsForms, opensUrls }: Host): boolean {
  return showsForms || opensUrls;
}

function hostOf(capabilities: unknown, info: unknown): Host {
  const elicitation = isObject(capabilities) ? capabilities['elicitation'] : undefined;
  const name = isObject(info) ? info['name'] : undefined;
  const modes = isObject(elicitation) ? elicitation : null;
  // Without a mode it is the capability of older revisions, which knew forms only.
  const isBare = modes !== null && modes['form'] === undefined && modes['url'] === undefined;
  return {
    by: `MCP host ${typeof name === 'string' ? shown(name) : ''}`.trim(),
    showsForms: isBare || isObject(modes?.['form']),
    opensUrls: isObject(modes?.['url']),
  };
}

function shown(name: string): string {
  return name.slice(0, MAX_NAME_CHARACTERS).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '');
}

/** A header of the request that carries the call; null: there is none. */
export function headerOf({ http }: ServerContext, name: string): string | null {
  return http?.req?.headers.get(name) ?? null;
}

const whenResponded = new WeakMap<Request, (() => void)[]>();

/** Calls `work`, on behalf of the caller of now, once the response to this request was written whole; never where the connection broke before. */
export function whenWritten({ http }: ServerContext, work: () => void): void {
  const request = http?.req;
  if (request === undefined) return;
  whenResponded.set(request, [...(whenResponded.get(request) ?? []), AsyncLocalStorage.bind(work)]);
}

/** The response to a request was written whole to its connection. */
export function responseWritten(request: Request): void {
  for (const work of whenResponded.get(request) ?? []) work();
}
