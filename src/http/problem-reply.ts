/** Sends every error as problem+json, also when the framework or the socket fails.
 *  It must never send an error in another form. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { type Problem, problem } from '../contract/problem.ts';
import { withoutKeys } from '../contract/json/secret-text.ts';
import { noteRefusal, withoutQueryValues } from './request-report.ts';
import { type Refusal, refusalOf } from './refusal.ts';
import { ownMember } from '../contract/json/json-object.ts';

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

export function replyWithProblem(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const shown = shownProblem(refusal.problem);
  noteRefusal(reply, shown);
  if (refusal.retryAfterSeconds !== null) void reply.header('retry-after', refusal.retryAfterSeconds);
  if (refusal.problem.status === 401) void reply.header('www-authenticate', 'Bearer');
  return reply
    .code(refusal.problem.status)
    .header('content-type', PROBLEM_TYPE)
    .serializer(JSON.stringify)
    .send(shown);
}

/** A detail names what was asked for, which may be a whole key. */
function shownProblem(refused: Problem): Problem {
  const { detail } = refused;
  return detail === undefined ? refused : { ...refused, detail: withoutKeys(detail) };
}

/** The error handler of every route, and of the router itself. */
export function handleError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalOf(error);
  if (refusal !== null) return replyWithProblem(reply, refusal);
  if (isCutOff(request)) return replyWithProblem(reply, CUT_OFF);
  const { method } = request;
  const url = withoutKeys(withoutQueryValues(request.url));
  request.log.error({ err: error, method, url }, 'A request failed');
  return replyWithProblem(reply, { problem: problem('internal_error'), retryAfterSeconds: null });
}

const CUT_OFF: Refusal = {
  problem: problem('bad_request', { detail: 'The request ended before its body was complete.' }),
  retryAfterSeconds: null,
};

/** The client left in the middle of its body: no fault of the service, and the answer is not read. */
function isCutOff({ raw }: FastifyRequest): boolean {
  return raw.destroyed && !raw.complete;
}

export function handleNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const detail = `${request.method} ${withoutKeys(request.url).slice(0, 200)} is not a resource of this service.`;
  return replyWithProblem(reply, { problem: problem('not_found', { detail }), retryAfterSeconds: null });
}

const SOCKET_STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** Answers what is not HTTP: there is no request yet, only a socket. */
export function handleClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const status = ownMember(SOCKET_STATUS, error.code ?? '') ?? 400;
  const body = JSON.stringify({
    ...problem('bad_request', { detail: 'This is not a valid HTTP request.' }),
    status,
  });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Answers a known path with a wrong method with 405 and the allowed methods. Call it before the routes. */
export function refuseOtherMethods(app: FastifyInstance): () => void {
  const taken = new Map<string, Set<string>>();
  app.addHook('onRoute', (route) => {
    if (route.schema?.hide === true) return;
    const methods = taken.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    taken.set(route.url, methods);
  });
  return () => {
    for (const [url, methods] of taken) refuseOthers(app, url, [...methods]);
  };
}

function refuseOthers(app: FastifyInstance, url: string, taken: readonly string[]): void {
  const others = METHODS.filter((method) => !taken.includes(method));
  const allow = taken.join(', ');
  app.route({
    method: others,
    url,
    schema: { hide: true },
    config: { rule: 'public' },
    // Before the body is read: its content does not matter.
    onRequest: async (_request, reply) => {
      const refusal = problem('method_not_allowed', { detail: `Use ${allow}.` });
      return replyWithProblem(reply.header('allow', allow), { problem: refusal, retryAfterSeconds: null });
    },
    handler: () => null,
  });
}
