/** Registration of the operations of the contract's table as routes: validation, description and status come from their rows.
 *  Adds nothing to a request: handlers are registered as they are. */
import type { FastifyReply, FastifyRequest, FastifySchema } from 'fastify';
import * as z from 'zod';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { AccessClient } from '../contract/access/access.ts';
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import { tenantSchema } from '../contract/access/tenant-name.ts';
import { operation, type OPERATIONS, schemaOf } from '../contract/operations/operations.ts';
import { type Operation, PATH_PARAMS } from '../contract/operations/operation.ts';
import {
  CALLS,
  type CallName,
  type OperationName,
  type ParamNames,
  type Route,
  ROUTES,
} from '../contract/operations/routes.ts';
import { TRACEPARENT_PATTERN } from '../contract/signal/signal-envelope.ts';
import type { App } from './app.ts';
import { answersOf } from './openapi.ts';
import type { RequesterSignal } from './waiting.ts';

type Read<Name extends OperationName, Part extends 'query' | 'headers'> =
  (typeof OPERATIONS)[Name] extends Readonly<Record<Part, infer Schema extends z.ZodType>>
    ? z.output<Schema>
    : Record<never, never>;

/** A request whose path, query and headers have been read by the schemas of the operation. The body is validated by the client. */
export type OperationRequest<Name extends OperationName> = Omit<
  FastifyRequest,
  'params' | 'query' | 'headers'
> & {
  readonly params: Record<ParamNames<(typeof ROUTES)[Name]['path']>, string>;
  readonly query: Read<Name, 'query'>;
  readonly headers: FastifyRequest['headers'] & Read<Name, 'headers'>;
  readonly body: unknown;
};

type Handler<Name extends OperationName> = (
  request: OperationRequest<Name> & FastifyRequest,
  reply: FastifyReply,
) => Promise<unknown>;

export function serve<Name extends OperationName>(app: App, name: Name, handler: Handler<Name>): void {
  const { method, path: url } = ROUTES[name];
  app.route({ method, url, schema: schemaOfRoute(name), handler: handler as never });
}

const noQuery = z.strictObject({});

function schemaOfRoute(name: OperationName): FastifySchema {
  const { tag, summary, description, query = noQuery, headers, body } = operation(name);
  const names = [...ROUTES[name].path.matchAll(/:(\w+)/g)].map(
    ([, param]) => param as keyof typeof PATH_PARAMS,
  );
  return {
    operationId: name,
    summary,
    ...(description !== undefined && { description }),
    tags: [tag],
    ...(names.length > 0 && {
      params: z.strictObject(Object.fromEntries(names.map((param) => [param, PATH_PARAMS[param]]))),
    }),
    querystring: withTenant(name, query),
    ...(headers && { headers }),
    ...(body && { body: schemaOf(body) }),
    response: answersOf(operation(name)),
  };
}

/** Queries of routes that read or change what a tenant has may name another one; the access check takes it out. */
function withTenant(name: OperationName, query: z.ZodObject): z.ZodObject {
  const { ofTenant }: Route = ROUTES[name];
  return ofTenant === true && !('tenant' in query.shape)
    ? query.extend({ tenant: ownTenantSchema.optional() })
    : query;
}

/** Where no key is needed there is one tenant. */
const ownTenantSchema = tenantSchema
  .refine((tenant) => tenant === DEFAULT_TENANT, 'needs a key with the scope admin of the tenant default')
  .describe(
    'Tenant whose data are read or changed. Needs the scope `admin` of the tenant `default`, and is audited. Default: that of the caller.',
  );

export interface CalledClients {
  readonly client: DirectiveClient;
  /** null: no key exists, and none is required. */
  readonly keys: AccessClient | null;
  readonly requester: RequesterSignal;
}

type Method = (...given: unknown[]) => Promise<unknown>;

/** Serves the operations that are nothing but a call of the client's method. */
export function serveCalls(app: App, { client, keys, requester }: CalledClients): void {
  for (const name of Object.keys(CALLS) as CallName[]) {
    const [first, second] = name.split('.');
    const owner = second === undefined ? client : first === 'keys' ? keys : client[first as 'runs'];
    if (owner === null) continue;
    const call = (owner as unknown as Record<string, Method>)[second ?? name];
    if (call === undefined) throw new TypeError(`The client has no method ${name}`);
    serve(app, name, callHandler(name, call.bind(owner), requester) as Handler<typeof name>);
  }
}

function callHandler(name: CallName, call: Method, requester: RequesterSignal): Handler<OperationName> {
  const { content }: Route = CALLS[name];
  const row = operation(name);
  const status = firstStatus(row);
  const location = row.location as ((answer: unknown) => string) | undefined;
  return async (request, reply) => {
    const ids = Object.values(request.params);
    const sent = content === 'query' ? request.query : bodyOf(row, request.body);
    const given = content === undefined ? ids : [...ids, sent, optionsOf(row, request, reply, requester)];
    const answer = await call(...given);
    if (location !== undefined) void reply.header('location', location(answer));
    return reply.code(status).send(answer);
  };
}

function firstStatus({ statuses = { 200: '' } }: Operation): number {
  return Number(Object.keys(statuses)[0]);
}

/** Bodies are read by the client, which names their faults. */
function bodyOf({ isBodyOptional = false }: Operation, body: unknown): unknown {
  return isBodyOptional ? (body ?? {}) : body;
}

function optionsOf(
  { headers, isAbortable = false }: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  requester: RequesterSignal,
): object | undefined {
  if (isAbortable) return { signal: requester(reply.raw) };
  return headers === undefined ? undefined : submissionOptions(request.headers as SubmissionHeaders);
}

interface SubmissionHeaders {
  readonly 'idempotency-key'?: string | undefined;
  readonly traceparent?: string | undefined;
}

/** A trace context that is not valid is ignored. */
export function submissionOptions({ 'idempotency-key': idempotencyKey, traceparent }: SubmissionHeaders): {
  idempotencyKey?: string;
  traceparent?: string;
} {
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent !== undefined && TRACEPARENT_PATTERN.test(traceparent) ? { traceparent } : {}),
  };
}
