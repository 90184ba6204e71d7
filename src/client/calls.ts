/** Calls of the service as its routes describe them: arguments become path, query, headers and body.
 *  Never sends an idempotency key that differs from the given one. */
import type * as z from 'zod';
import { refusedAt } from '../contract/json/field-error.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM } from '../contract/directive/keyed-ids.ts';
import type { OPERATIONS } from '../contract/operations/operations.ts';
import type { WireType } from '../contract/operations/operation.ts';
import {
  type CallName,
  CALLS,
  type OperationName,
  type Route,
  ROUTES,
} from '../contract/operations/routes.ts';
import type { Exchanger } from './exchange.ts';

type Row<Name extends OperationName> = (typeof OPERATIONS)[Name];

type SchemaIn<Type> = Type extends readonly [string, infer Schema extends z.ZodType]
  ? Schema
  : Type extends z.ZodType
    ? Type
    : never;

export type AnswerOf<Name extends OperationName> =
  Row<Name> extends { readonly answer: infer Type extends WireType } ? z.output<SchemaIn<Type>> : never;

type Ids<Path extends string> = Path extends `${string}:${string}/${infer Rest}`
  ? [id: string, ...Ids<`/${Rest}`>]
  : Path extends `${string}:${string}`
    ? [id: string]
    : [];

type Content<Name extends OperationName> =
  Row<Name> extends { readonly query: infer Query extends z.ZodType }
    ? [query?: z.output<Query>]
    : Row<Name> extends { readonly body: infer Type; readonly isBodyOptional: true }
      ? [body?: z.input<SchemaIn<Type>>]
      : Row<Name> extends { readonly body: infer Type }
        ? [body: z.input<SchemaIn<Type>>]
        : [];

/** Options of a call; each operation reads those that its client method has. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
  /** Tenant that an administrator of the tenant `default` names. */
  readonly tenant?: string | undefined;
}

export type Call<Name extends OperationName> = (
  ...given: [...Ids<(typeof ROUTES)[Name]['path']>, ...Content<Name>, options?: CallOptions]
) => Promise<AnswerOf<Name>>;

export function callOf<Name extends OperationName>(exchanger: Exchanger, name: Name): Call<Name> {
  const { method, path, content }: Route = ROUTES[name];
  const [first = '', ...others] = path.split(/:\w+/);
  const call = async (...given: unknown[]): Promise<unknown> => {
    const ids = given.slice(0, others.length) as string[];
    const [sent, options] = [...(content === undefined ? [undefined] : []), ...given.slice(others.length)];
    const { signal, tenant, ...submission } = (options ?? {}) as CallOptions;
    const place = ids.reduce((begun, id, at) => begun + encodeURIComponent(id) + others[at], first);
    return exchanger.json({
      method,
      path:
        place + queryText({ tenant, ...(content === 'query' ? (sent as object | undefined) : undefined) }),
      headers: submissionHeaders(submission),
      body: content === undefined || content === 'query' ? undefined : (sent ?? {}),
      signal,
    });
  };
  return call as unknown as Call<Name>;
}

type Group = 'runs' | 'schedules' | 'servers' | 'runtimeAgents' | 'policies' | 'keys';

/** Client methods of all calls of a group, by their names without that of the group. */
export function callsOf<G extends Group>(
  exchanger: Exchanger,
  group: G,
): { [Name in CallName as Name extends `${G}.${infer Method}` ? Method : never]: Call<Name> } {
  const names = (Object.keys(CALLS) as CallName[]).filter((name) => name.startsWith(`${group}.`));
  return Object.fromEntries(
    names.map((name) => [name.slice(group.length + 1), callOf(exchanger, name)]),
  ) as never;
}

type PlainName = Exclude<CallName, `${string}.${string}`>;

/** Client methods of all calls that belong to no group. */
export function plainCalls(exchanger: Exchanger): { [Name in PlainName]: Call<Name> } {
  const names = (Object.keys(CALLS) as CallName[]).filter((name) => !name.includes('.'));
  return Object.fromEntries(names.map((name) => [name, callOf(exchanger, name)])) as never;
}

/** '' without a value. */
export function queryText(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? '' : `?${search.toString()}`;
}

/** Throws `DirectiveRefused`. */
export function submissionHeaders({
  idempotencyKey: key,
  traceparent,
}: Omit<CallOptions, 'signal'>): Record<string, string> {
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key))
    throw refusedAt('invalid_header', [{ path: 'idempotency-key', message: IDEMPOTENCY_KEY_FORM }]);
  return {
    ...(key === undefined ? {} : { 'idempotency-key': key }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
