/** The API's description of itself: OpenAPI 3.1 from the contract's schemas, and pages to read it offline.
 *  It must never repeat by hand what a schema already describes. */
import fastifySwagger from '@fastify/swagger';
import fastifySwaggerUi from '@fastify/swagger-ui';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import * as z from 'zod';
import { agentListingSchema } from '../contract/agent-listing.ts';
import { budgetListingSchema } from '../contract/budget-listing.ts';
import { directiveSchema, submittedDirectiveSchema } from '../contract/directive.ts';
import { laneListingSchema } from '../contract/lane-listing.ts';
import { problemSchema } from '../contract/problem.ts';
import { requestTimelineSchema } from '../contract/request-timeline.ts';
import { requestTraceSchema } from '../contract/request-trace.ts';
import { directiveViewSchema, requestViewSchema } from '../contract/request-view.ts';
import { runViewSchema, startedRunSchema } from '../contract/run.ts';
import { signalPageSchema } from '../contract/signal-page.ts';
import { signalSchema } from '../contract/signal.ts';
import { submissionSchema } from '../contract/submission.ts';
import { toolListingSchema } from '../contract/tool-listing.ts';
import { workerListingSchema } from '../contract/worker-listing.ts';
import { CONTRACT_VERSION } from '../contract/version.ts';
import type { App } from './app.ts';
import { pagePolicy } from './page-headers.ts';
import type { RouteRule } from './route-rules.ts';

const TITLES = {
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
} as const;

const OF_EVERY_ROUTE = [400, 401, 403, 500, 503] as const;

/** The problem answers of a route: those of every route, and its own. */
export function problems(...own: Exclude<keyof typeof TITLES, (typeof OF_EVERY_ROUTE)[number]>[]) {
  const content = { 'application/problem+json': { schema: problemSchema } };
  return Object.fromEntries(
    [...OF_EVERY_ROUTE, ...own].map((status) => [status, { description: TITLES[status], content }]),
  );
}

/** The policy of the console, but for what Swagger UI needs: styles in elements, images in addresses, markup from texts. */
const DOCS_POLICY = pagePolicy({
  'img-src': "'self' data:",
  'style-src': "'self' 'unsafe-inline'",
});

const KEY_SCHEME = 'key';
const KEY_SECURITY = {
  type: 'http',
  scheme: 'bearer',
  description:
    'An API key, where the service asks for one. Each operation names the scope that the key needs.',
} as const;

/** What an operation asks of a key: its scope; nothing where it is public. */
export function securityOf(rule: RouteRule): Record<string, string[]>[] {
  return rule === 'public' ? [] : [{ [KEY_SCHEME]: [rule] }];
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
      tags: ['directives', 'runs', 'schedules', 'requests', 'service', 'access'].map((name) => ({ name })),
      components: { securitySchemes: { [KEY_SCHEME]: KEY_SECURITY } },
    },
    transform: createJsonSchemaTransform({ ...options, skipList: [] }),
    transformObject: (document) => withoutUnused(addComponents(document) as OpenApi),
  });
  app.register(fastifySwaggerUi, { routePrefix: '/docs', staticCSP: DOCS_POLICY });
}

export function serveDescription(app: App): void {
  const schema = {
    operationId: 'openapi',
    summary: 'This description',
    tags: ['service'],
    response: { 200: z.record(z.string(), z.unknown()) },
  };
  app.get('/openapi.json', { schema }, async () => app.swagger() as unknown as Record<string, unknown>);
}

/** The wire types that the description defines once and refers to. */
const COMPONENTS = {
  Directive: directiveSchema,
  SubmittedDirective: submittedDirectiveSchema,
  Submission: submissionSchema,
  Signal: signalSchema,
  SignalPage: signalPageSchema,
  Request: requestViewSchema,
  RequestTimeline: requestTimelineSchema,
  RequestTrace: requestTraceSchema,
  Run: runViewSchema,
  StartedRun: startedRunSchema,
  DirectiveView: directiveViewSchema,
  AgentListing: agentListingSchema,
  ToolListing: toolListingSchema,
  LaneListing: laneListingSchema,
  BudgetListing: budgetListingSchema,
  WorkerListing: workerListingSchema,
  Problem: problemSchema,
};

/** Our own registry: names of this document must not leak into schemas that are generated elsewhere. */
function componentRegistry() {
  const registry = z.registry<{ id?: string | undefined }>();
  for (const [id, schema] of Object.entries(COMPONENTS)) registry.add(schema, { id });
  return registry;
}

/** Notes of a schema (`describe`, `meta`) are in the global registry, which ours hides. */
function addNotes({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: object }): void {
  const { id: _, ...notes } = z.globalRegistry.get(zodSchema) ?? {};
  Object.assign(jsonSchema, notes);
}

type OpenApi = ReturnType<ReturnType<typeof createJsonSchemaTransformObject>> & {
  components?: { schemas?: Record<string, unknown> };
};

/** Each component exists as an input and as an output; about half of them are never used. */
function withoutUnused(document: OpenApi): OpenApi {
  const schemas = document.components?.schemas ?? {};
  const others = { ...document, components: {} };
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(schemas[name] ?? null);
    }
  };
  visit(others);
  const kept = Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)));
  return { ...document, components: { ...document.components, schemas: kept } } as OpenApi;
}
