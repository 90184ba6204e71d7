/** The routes of the model endpoint: the paths of the providers' APIs, alone and under a run.
 *  It must never answer an error in another form than that of its wire. */
import { isUtf8 } from 'node:buffer';
import type { WireFamily } from '../../contract/model/model-wire.ts';
import { identifierSchema } from '../../contract/identifiers.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import { withoutKeys } from '../../contract/json/secret-text.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { ApiFeature } from '../../http/api.ts';
import type { ApiReply, ApiRequest, App } from '../../http/app.ts';
import { noteRefusal } from '../../http/request-report.ts';
import { refusalOf } from '../../http/refusal.ts';
import { withoutQueryValues } from '../../http/request-report.ts';
import { jsonShape } from '../../platform/bounds/json-shape.ts';
import { createModelEndpoint, type EndpointOptions } from './endpoint.ts';
import { listedModels, modelList } from './model-choice.ts';
import { googlePath, PATHS, type ReadBody, readCall } from './read-call.ts';
import { errorBody, errorOfProblem } from './wire-errors.ts';

export interface ModelRoutesOptions extends EndpointOptions {
  /** Models with settings of their own, by provider. */
  readonly configured: ReadonlyMap<string, readonly string[]>;
  readonly limits: { readonly bodyBytes: number; readonly bodyValues: number };
}

/** Paths of the endpoint, with and without a run. */
const ENDPOINT = /^(?:\/runs\/[^/]{1,1024})?\/(openai|anthropic|google)\//;

const BASES: readonly (readonly [family: WireFamily, base: string])[] = [
  ['openai', '/openai/v1'],
  ['anthropic', '/anthropic/v1'],
  ['google', '/google/v1beta'],
];

/** The usual cause is an address of the SDK with a version too few or too many. */
function unserved(call: string, base: string): DirectiveRefused {
  const detail = `The model endpoint does not serve ${call.slice(0, 256)}. Its paths begin with ${base}/ (docs/model-endpoint.md).`;
  return new DirectiveRefused(problem('not_found', { detail }));
}

function familyOfUrl(url: string): WireFamily {
  return (ENDPOINT.exec(url)?.[1] ?? 'openai') as WireFamily;
}

export function modelEndpoint(options: ModelRoutesOptions): ApiFeature {
  return {
    beforeAccess: readKeys,
    routes: (app, shared) => {
      const { handle } = createModelEndpoint(options, shared);
      app.register(async (scope: App) => {
        readText(scope, options.limits);
        scope.setErrorHandler(handleError);
        for (const run of ['', '/runs/:run']) {
          for (const [path, wire] of PATHS)
            route(scope, 'POST', `${run}${path}`, async (request, reply) =>
              handle(readCall(request, wire, null), request, reply, runOf(request)),
            );
          route(scope, 'POST', `${run}/google/v1beta/models/*`, async (request, reply) => {
            const { model, wire } = googlePath((request.params as { '*': string })['*']);
            await handle(readCall(request, wire, model), request, reply, runOf(request));
          });
          for (const [family, base] of BASES) {
            route(scope, 'GET', `${run}${base}/models`, async () =>
              modelList(family, listedModels(family, await options.models.current(), options.configured)),
            );
            for (const method of ['GET', 'POST'] as const)
              route(scope, method, `${run}/${family}/*`, async ({ url }) => {
                throw unserved(`${method} ${url.split('?')[0]}`, base);
              });
          }
        }
      });
    },
  };
}

type Handler = (request: ApiRequest, reply: ApiReply) => Promise<unknown>;

/** Not in the description of the API: the providers describe theirs. */
function route(app: App, method: 'GET' | 'POST', url: string, answer: Handler): void {
  const handler = async (request: ApiRequest, reply: ApiReply): Promise<unknown> =>
    (await answer(request, reply)) ?? reply;
  app.route({
    method,
    url,
    schema: { hide: true },
    config: { rule: 'submit', lasts: true },
    handler,
  } as never);
}

function runOf({ params, headers }: ApiRequest): string | null {
  const run = (params as { run?: string }).run ?? headers['adjutant-run'];
  if (run === undefined) return null;
  const read = identifierSchema.safeParse(run);
  if (read.success) return read.data;
  throw refusedAt('invalid_header', [
    { path: 'adjutant-run', message: 'the name of a run must be 1 to 128 characters of A-Z a-z 0-9 . _ : -' },
  ]);
}

/** Each SDK sends its key in a header of its own. */
function readKeys(app: App): void {
  app.addHook('onRequest', ({ headers, url }, _reply, done) => {
    const key = headers['x-api-key'] ?? headers['x-goog-api-key'];
    if (headers.authorization === undefined && typeof key === 'string' && ENDPOINT.test(url))
      headers.authorization = `Bearer ${key}`;
    done();
  });
}

const DEEPEST = 1_024;

/** The body as its caller wrote it, beside its value. */
function readText(scope: App, { bodyBytes, bodyValues }: ModelRoutesOptions['limits']): void {
  scope.addHook('onRoute', (each) => void (each.bodyLimit = bodyBytes));
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, readBody(body as Buffer, bodyValues));
    } catch (error) {
      done(error as Error);
    }
  });
}

function readBody(body: Buffer, maxValues: number): ReadBody {
  const { excess } = jsonShape(body, { maxDepth: DEEPEST, maxValues });
  if (excess !== null) {
    const code = excess.limit === 'depth' ? 'invalid_body' : 'body_too_large';
    throw new DirectiveRefused(problem(code, { detail: `The body ${excess.text}.` }));
  }
  if (!isUtf8(body))
    throw new DirectiveRefused(problem('invalid_json', { detail: 'The body is not valid UTF-8.' }));
  const text = body.toString('utf8');
  try {
    return { text, value: JSON.parse(text) as unknown };
  } catch (error) {
    const detail = `The body is not valid JSON: ${(error as Error).message}`;
    throw new DirectiveRefused(problem('invalid_json', { detail }));
  }
}

function handleError(error: unknown, request: ApiRequest, reply: ApiReply): ApiReply {
  const refusal = refusalOf(error);
  const refused = refusal?.problem ?? problem('internal_error');
  const url = withoutKeys(withoutQueryValues(request.url));
  if (refusal === null) request.log.error({ err: error, method: request.method, url }, 'A request failed');
  noteRefusal(reply, refused);
  const wireError = errorOfProblem(refused, refusal?.retryAfterSeconds ?? null);
  if (wireError.retryAfterSeconds !== null) void reply.header('retry-after', wireError.retryAfterSeconds);
  // SDKs repeat what they get with 409, too.
  else if (wireError.status < 500) void reply.header('x-should-retry', 'false');
  return reply
    .code(wireError.status)
    .header('content-type', 'application/json')
    .serializer(JSON.stringify)
    .send(errorBody(familyOfUrl(request.url), wireError));
}
