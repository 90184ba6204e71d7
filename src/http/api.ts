/** The HTTP API over a directive client: composition of parser, routes, description and error replies.
 *  It must never touch Redis itself, nor know how a directive is executed. */
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  type FastifySchemaCompiler,
  LogController,
} from 'fastify';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { AccessClient } from '../contract/access/access.ts';
import { LONGEST_WAIT_MS } from '../contract/operations/operation.ts';
import { checkAccess, type Doors, type SeesDetails } from './access-check.ts';
import { allowOrigins, type PageOrigins, refuseOtherHosts } from './allowed-host.ts';
import type { App } from './app.ts';
import { limitOpenBodies } from './body-budget.ts';
import { acceptJsonOnly, type BodyLimits } from './json-body.ts';
import { describeApi } from './openapi.ts';
import type { PageFiles } from './page-files.ts';
import { setAnswerHeaders } from './page-headers.ts';
import { handleClientError, handleError, handleNotFound, refuseOtherMethods } from './problem-reply.ts';
import { reportRequests, type RequestReports } from './request-report.ts';
import { type ArchiveOf, archiveRoutes } from './routes/archive.ts';
import { directiveRoutes } from './routes/directives.ts';
import { type McpHandler, mcpRoutes } from './routes/mcp.ts';
import { healthRoutes, metricRoutes, type Readiness } from './routes/probes.ts';
import { type LoginDoor, oidcRoutes } from './routes/oidc.ts';
import { consoleRoutes, docsRoutes } from './routes/pages.ts';
import { requestRoutes } from './routes/requests.ts';
import { sessionRoutes } from './routes/session.ts';
import { createStreamPlaces, signalRoutes, type StreamPlaces } from './routes/signals.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { serve, serveCalls } from './served-operation.ts';
import * as z from 'zod';
import { fieldErrors, refusedAt } from '../contract/json/field-error.ts';
import type { ProblemCode } from '../contract/problem.ts';
import { ownMember } from '../contract/json/json-object.ts';
import { randomHex } from '../platform/telemetry/random-pool.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import type { Attributes, SpanRecord } from '../platform/telemetry/traces/span.ts';
import { traceparentOf } from '../platform/telemetry/traces/span-place.ts';
import { isTraceparent, newTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import { REPLAYED_HEADER, RUN_HEADER } from '../contract/run/foreign-run.ts';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createUnreadBudget, type UnreadBudget } from './unread-budget.ts';
import { createRequesterSignals, type RequesterSignal } from './waiting.ts';

export interface ApiLimits extends BodyLimits {
  /** Most streams and downloads of archived requests of one caller. Default: 1 000. */
  readonly streams?: number;
  /** Most bytes that all readers of streams together may leave unread. Default: 64 MiB. */
  readonly unreadBytes?: number;
}

/** Parts of the API that routes of features share with its own. */
export interface FeatureShared {
  readonly requester: RequesterSignal;
  /** Aborts when the API begins to close. */
  readonly stop: AbortSignal;
  readonly places: StreamPlaces;
  readonly unread: UnreadBudget;
}

/** Routes of a feature, outside the description of the API. */
export interface ApiFeature {
  /** Hooks that run before the caller is known. Default: none. */
  beforeAccess?(app: App): void;
  routes(app: App, shared: FeatureShared): void;
}

export interface ApiOptions {
  /** Default: none. */
  readonly features?: readonly ApiFeature[];
  readonly client: DirectiveClient;
  readonly ready: () => Promise<Readiness>;
  readonly logger: FastifyBaseLogger;
  /** Reads the metrics of the process. null: there are none. Default: null. */
  readonly scrape?: (() => Promise<string>) | null;
  /** Serves `/mcp`; closed with the API. null: there is none. Default: null. */
  readonly mcp?: McpHandler | null;
  /** The access rules and how they are changed. null: no key exists, and none is required. Default: null. */
  readonly access?:
    | (Doors & {
        readonly keys: AccessClient;
        /** A login at an issuer. null: there is none. Default: null. */
        readonly login?: LoginDoor | null;
      })
    | null;
  /** Reads archived requests. null: nothing is archived. Default: null. */
  readonly archive?: ArchiveOf | null;
  /** Observer of requests. Default: none. */
  readonly reports?: RequestReports;
  /** Default: nothing is traced. */
  readonly spans?: Spans;
  /** Files of the console; null: they are not built. Default: null. */
  readonly console?: PageFiles | null;
  /** Files of the documentation; null: they are not built. Default: null. */
  readonly docs?: PageFiles | null;
  /** The service's version, shown by `/healthz` and the description. */
  readonly version: string;
  readonly limits?: ApiLimits;
  /** Names that are accepted in the Host header, from `allowedHosts`. null: any. Default: any. */
  readonly allowedHosts?: ReadonlySet<string> | null;
  /** Origins of web pages that may call from a browser. Default: none. */
  readonly origins?: PageOrigins;
  /** Networks of proxies, in CIDR notation, whose `X-Forwarded-For` is believed. Default: none. */
  readonly trustedProxies?: readonly string[];
  /** How long a stream is idle before a comment is sent, milliseconds. Default: 15 000. */
  readonly heartbeatMs?: number;
}

const DEFAULT_UNREAD_BYTES = 64 * 1024 * 1024;
const DEFAULT_STREAMS = 1_000;
const DEFAULT_HEARTBEAT_MS = 15_000;
/** The largest body within it is 35 KB a second. Answers may take longer. */
const LONGEST_UPLOAD_MS = 120_000;
/** A proxy may keep an idle connection for the longest wait; one that the API closes first costs the proxy's next request a 502. */
export const IDLE_CONNECTION_MS = LONGEST_WAIT_MS + 60_000;
/** Bound for two percent-encoded ids; longer ones are refused by their schema, not by the router. */
const MAX_PARAM_CHARACTERS = 1_024;

/** `listen` and `close` are fastify's; `close` ends every stream and every wait first. */
export function createApi(options: ApiOptions): App {
  const app = createApp(options);
  const stop = stopSignal(app);
  endUnsent(app);
  const refuseOthers = refuseOtherMethods(app);
  setAnswerHeaders(app);
  if (options.reports) reportRequests(app, options.reports);
  const { spans = NO_SPANS } = options;
  if (spans !== NO_SPANS) traceRequests(app, spans);
  const { origins = { mcp: new Set(), api: new Set() } } = options;
  refuseOtherHosts(app, { names: options.allowedHosts ?? null, origins });
  allowOrigins(app, origins);
  for (const feature of options.features ?? []) feature.beforeAccess?.(app);
  const sees = checkAccess(app, options.access ?? null);
  limitOpenBodies(app);
  acceptJsonOnly(app, options.limits ?? {});
  readBeforeRefusal(app);
  describeApi(app, options.version);
  app.register(async (scope) => {
    routes(scope as App, options, { stop, sees });
  });
  app.after(() => refuseOthers());
  return app;
}

function createApp({ logger, trustedProxies = [] }: ApiOptions): App {
  const app = fastify({
    loggerInstance: serverLogger(logger),
    trustProxy: trustedProxies.length > 0 && [...trustedProxies],
    logController: new LogController({ disableRequestLogging: true }),
    requestTimeout: LONGEST_UPLOAD_MS,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    routerOptions: { maxParamLength: MAX_PARAM_CHARACTERS },
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
    clientErrorHandler: handleClientError,
  }) as App;
  if (trustedProxies.length > 0) app.addHook('onRequest', leavePortsOut);
  app.setErrorHandler(handleError);
  app.setNotFoundHandler(handleNotFound);
  app.setValidatorCompiler(validateInput);
  // Answers have the contract's own types; checking them again would only cost time.
  app.setSerializerCompiler(() => JSON.stringify);
  return app;
}

const FORWARDED_FOR = 'x-forwarded-for';
const WITH_PORT = /^(?:\[(?<six>[0-9a-f:.]{2,45})\]|(?<four>\d{1,3}(?:\.\d{1,3}){3}))(?::\d{1,5})?$/i;

/** Some proxies append the port of the client: one that changes it for each connection would have as many addresses. */
function leavePortsOut({ raw: { headers } }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const forwarded = headers[FORWARDED_FOR];
  if (typeof forwarded === 'string' && forwarded.includes(':'))
    headers[FORWARDED_FOR] = forwarded.split(',').map(withoutPort).join(',');
  done();
}

function withoutPort(entry: string): string {
  const { six, four } = WITH_PORT.exec(entry.trim())?.groups ?? {};
  return six ?? four ?? entry;
}

/**
 * A line names its method and URL: a logger for each request would cost it as much as its route. The lines of fastify
 * itself at the level info repeat the address, which the command line prints.
 */
function serverLogger(logger: FastifyBaseLogger): FastifyBaseLogger {
  const shared = Object.create(logger) as FastifyBaseLogger;
  shared.child = () => shared;
  shared.info = () => {};
  return shared;
}

interface Shared {
  readonly stop: AbortSignal;
  readonly sees: SeesDetails;
}

function routes(app: App, options: ApiOptions, { stop, sees }: Shared): void {
  const { client, heartbeatMs = DEFAULT_HEARTBEAT_MS } = options;
  const requester = createRequesterSignals(stop);
  const places = createStreamPlaces(options.limits?.streams ?? DEFAULT_STREAMS);
  const unread = createUnreadBudget(options.limits?.unreadBytes ?? DEFAULT_UNREAD_BYTES);
  directiveRoutes(app, client, requester);
  serveCalls(app, { client, keys: options.access?.keys ?? null, requester });
  requestRoutes(app, client, requester);
  signalRoutes(app, { client, heartbeatMs, stop, requester, unread, places });
  archiveRoutes(app, { client, archiveOf: options.archive ?? null, places });
  serve(app, 'drainWorker', async ({ params }, reply) =>
    reply.code(202).send(await client.drainWorker(params.worker_id)),
  );
  serve(app, 'resumeWorker', async ({ params }, reply) =>
    reply.code(202).send(await client.drainWorker(params.worker_id, false)),
  );
  sessionRoutes(app, options.access?.sessions ?? null, options.access?.login);
  if (options.access?.login) oidcRoutes(app, options.access.sessions, options.access.login);
  healthRoutes(app, { ...options, sees });
  if (options.scrape) metricRoutes(app, options.scrape);
  if (options.mcp) mcpRoutes(app, options.mcp);
  for (const feature of options.features ?? []) feature.routes(app, { requester, stop, places, unread });
  consoleRoutes(app, options.console ?? null);
  docsRoutes(app, options.docs ?? null);
  serve(app, 'openapi', async () => app.swagger());
}

/** Aborts when the application begins to close: an open stream would keep it from closing. */
function stopSignal(app: App): AbortSignal {
  const controller = new AbortController();
  app.addHook('preClose', async () => controller.abort());
  return controller.signal;
}

/** A request that has not arrived whole by then is not accepted: a sender that pauses would keep the stop waiting. Milliseconds. */
const LATE_MS = 1_000;

/** Closes the connections of unfinished requests when the application closes. */
function endUnsent(app: App): void {
  /** The request that each connection is answered now; null: none has arrived with its headers. */
  const requests = new Map<Socket, IncomingMessage | null>();
  app.server.on('connection', (socket) => {
    requests.set(socket, null);
    socket.once('close', () => requests.delete(socket));
  });
  app.server.on('request', (request, response) => {
    const { socket } = request;
    requests.set(socket, request);
    response.once('close', () => requests.get(socket) === request && requests.set(socket, null));
  });
  const end = (): void => {
    for (const [socket, request] of requests) if (request?.complete !== true) socket.destroy();
  };
  app.addHook('preClose', async () => void setTimeout(end, LATE_MS).unref());
}

const PART_CODES: Readonly<Record<string, ProblemCode>> = {
  querystring: 'invalid_query',
  headers: 'invalid_header',
};

/** Validates parameters, queries and headers. Bodies pass: `parseSubmission` reads them once, with better paths. */
const validateInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = '' }) => {
  if (httpPart === 'body') return (value: unknown) => ({ value });
  const validate = (value: unknown) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    return { error: refusedAt(ownMember(PART_CODES, httpPart) ?? 'bad_request', fieldErrors(parsed.error)) };
  };
  if (httpPart === 'querystring') return remembered(validate);
  if (httpPart !== 'headers' || !(schema instanceof z.ZodObject)) return validate;
  const names = Object.keys(schema.shape);
  // Most requests have none of them, and all are optional: nothing to read, and no copy of all the others.
  return (value: unknown) => (names.some((name) => isNamed(value, name)) ? validate(value) : {});
};

type Validate = (value: unknown) => { value?: unknown; error?: Error };

/** Most queries of a route are the one before again; only those with one value, or none, are compared. */
function remembered(validate: Validate): Validate {
  let last: { name: string | undefined; text: unknown; value: object } | null = null;
  return (query: unknown) => {
    const [name, other] = Object.keys(query as object);
    if (other !== undefined) return validate(query);
    const text = name === undefined ? '' : (query as Record<string, unknown>)[name];
    if (last !== null && last.name === name && last.text === text) return { value: { ...last.value } };
    const validated = validate(query);
    if (typeof text === 'string' && validated.error === undefined)
      last = { name, text, value: validated.value as object };
    return validated;
  };
}

function isNamed(headers: unknown, name: string): boolean {
  return (headers as Record<string, unknown>)[name] !== undefined;
}

/** The routes read the context from the header, whether the caller sent one or not. */
function traceRequests(app: App, spans: Spans): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST' && !isTracedByRun(request)) traceRequest(request, reply, spans);
    done();
  });
}

/** A call of a run that another program leads belongs to the trace of the run, which its route reads, unless its caller names one. */
function isTracedByRun({ url, headers }: FastifyRequest): boolean {
  return (
    headers['traceparent'] === undefined && (url.startsWith('/runs/') || headers[RUN_HEADER] !== undefined)
  );
}

function traceRequest(request: FastifyRequest, reply: FastifyReply, spans: Spans): void {
  const { traceparent } = request.headers as { traceparent?: unknown };
  const context = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
  const parent = spans.under(context);
  const place = parent && { traceId: parent.traceId, parentId: parent.spanId, spanId: randomHex(8) };
  request.headers['traceparent'] = place === null ? context : traceparentOf(place);
  if (place === null) return;
  const startedAt = spans.now();
  const begun = { place, startedAt, endedAt: startedAt, ...entered(request) };
  spans.begin(begun);
  // Also where the caller is gone before it is answered.
  reply.raw.once('close', () => spans.report({ ...begun, endedAt: spans.now(), ...left(begun, reply) }));
}

function entered(request: FastifyRequest): Omit<SpanRecord, 'place' | 'startedAt' | 'endedAt'> {
  const { params, routeOptions } = request;
  const { request_id: requestId, schedule_id: schedule } = (params ?? {}) as Record<string, string>;
  const attributes: Attributes = {
    [ATTRIBUTE.httpMethod]: 'POST',
    [ATTRIBUTE.httpRoute]: routeOptions.url,
    [ATTRIBUTE.urlPath]: request.url.split('?')[0],
    [ATTRIBUTE.urlScheme]: 'http',
    [ATTRIBUTE.request]: requestId,
    [ATTRIBUTE.schedule]: schedule,
  };
  return { name: `POST ${routeOptions.url ?? ''}`.trimEnd(), kind: 'server', attributes, error: null };
}

/** A caller that did not wait has got no status; that is not the service's error. */
function left(
  { attributes: entered }: Pick<SpanRecord, 'attributes'>,
  reply: FastifyReply,
): Pick<SpanRecord, 'attributes' | 'error'> {
  const { statusCode, raw } = reply;
  const isReplayed = reply.getHeader(REPLAYED_HEADER) === 'true';
  const attributes = isReplayed ? { ...entered, [ATTRIBUTE.replayed]: true } : entered;
  if (!raw.writableFinished) return { attributes, error: null };
  const error = statusCode >= 500 ? String(statusCode) : null;
  return { attributes: { ...attributes, [ATTRIBUTE.httpStatus]: statusCode }, error };
}

const MOST_BYTES = 64 * 1024 * 1024;
const LONGEST_MS = 10_000;

/** Closing a connection while its sender is sending loses the answer. */
function readBeforeRefusal(app: App): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (reply.statusCode < 400) done();
    else discardBody(request.raw, done);
  });
}

function discardBody(request: IncomingMessage, done: () => void): void {
  if (request.complete || request.destroyed) return done();
  let leftBytes = MOST_BYTES;
  const finish = (): void => {
    clearTimeout(timer);
    request.off('end', finish).off('close', finish).off('data', count).resume();
    done();
  };
  const count = (chunk: Buffer): void => {
    leftBytes -= chunk.length;
    if (leftBytes < 0) finish();
  };
  const timer = setTimeout(finish, LONGEST_MS);
  request.once('end', finish).once('close', finish).on('data', count);
}
