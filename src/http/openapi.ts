/** The API's description of itself: OpenAPI 3.1 from the contract's schemas, and pages to read it offline.
 *  It must never repeat by hand what a schema already describes. */
import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import * as z from 'zod';
import type { Scope } from '../contract/access/access.ts';
import type { Operation, OwnProblem } from '../contract/operations/operation.ts';
import { schemaOf } from '../contract/operations/operations.ts';
import { problemSchema } from '../contract/problem.ts';
import { CONTRACT_VERSION } from '../contract/version.ts';
import type { App } from './app.ts';
import { addNotes, componentRegistry, type Document, readable } from './openapi-components.ts';
import { pagePolicy } from './page-headers.ts';
import type { RouteRule } from '../contract/operations/routes.ts';

const TITLES: Record<400 | 401 | 403 | 500 | 503 | OwnProblem, string> = {
  400: 'The request is not valid; `errors` names each place.',
  401: 'Keys are asked for, and the request has none that is valid.',
  403: 'The key has not the right, or the host or the origin of the request is not allowed.',
  404: 'It does not exist.',
  409: 'It conflicts with existing data.',
  413: 'The body is too large.',
  415: 'The body must be application/json.',
  429: 'Too much work is waiting; try again after `Retry-After` seconds.',
  500: 'The service has failed internally; its log says why.',
  503: 'The service is unavailable; try again after `Retry-After` seconds.',
};

const OF_EVERY_ROUTE = [400, 401, 403, 500, 503] as const;

const PROBLEM = { 'application/problem+json': { schema: problemSchema } };

/** All answers of an operation, by status. */
export function answersOf(row: Operation): Record<number, unknown> {
  const { answer, statuses = { 200: 'The answer.' }, others = {}, problems = [], isProbe = false } = row;
  const refusals: readonly (keyof typeof TITLES)[] = isProbe ? [] : [...OF_EVERY_ROUTE, ...problems];
  return {
    ...(answer && ofEach(statuses, (description) => json(description, schemaOf(answer)))),
    ...ofEach(others, (other) => (typeof other === 'string' ? z.null().describe(other) : contentOf(other))),
    ...Object.fromEntries(
      refusals.map((status) => [status, { description: TITLES[status], content: PROBLEM }]),
    ),
  };
}

function json(description: string, schema: z.ZodType): object {
  return { description, content: { 'application/json': { schema } } };
}

function contentOf({
  description,
  content,
}: Exclude<NonNullable<Operation['others']>[number], string>): object {
  return { description, content: ofEach(content, ({ schema }) => ({ schema: schemaOf(schema) })) };
}

function ofEach<T>(
  record: Readonly<Record<string, T>>,
  made: (value: T) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, made(value)]));
}

/** The policy of the console, but for what Swagger UI needs: styles in elements, images in addresses, markup from texts. */
const REFERENCE_POLICY = pagePolicy({
  'img-src': "'self' data:",
  'style-src': "'self' 'unsafe-inline'",
});

const KEY_SCHEME = 'key';
const KEY_SECURITY = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key, where the service requires one. Each operation names the scopes that the key needs.',
} as const;

/** Scopes that an operation requires of a key; nothing where it is public. */
export function securityOf(rule: RouteRule, also?: Scope): Record<string, string[]>[] {
  return rule === 'public' ? [] : [{ [KEY_SCHEME]: also === undefined ? [rule] : [rule, also] }];
}

/** Call it before the routes are registered. */
export function describeApi(app: App, version: string): void {
  const options = { schemaRegistry: componentRegistry(), zodToJsonConfig: { override: addNotes } };
  const addComponents = createJsonSchemaTransformObject(options);
  app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Adjutant',
        version,
        description: `Durable directives for AI agents. Contract ${CONTRACT_VERSION}.`,
      },
      tags: TAGS.map((name) => ({ name })),
      components: { securitySchemes: { [KEY_SCHEME]: KEY_SECURITY } },
    },
    transform: createJsonSchemaTransform({ ...options, skipList: [] }),
    transformObject: (document) => readable(addComponents(document) as Document) as never,
  });
  app.register(fastifySwaggerUi, { routePrefix: '/docs/api', staticCSP: REFERENCE_POLICY });
}

const TAGS: readonly Operation['tag'][] = [
  'directives',
  'runs',
  'schedules',
  'requests',
  'dead letters',
  'service',
  'access',
];
