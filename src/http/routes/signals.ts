/** GET /v1/requests/{r}/signals: the log of a request, as a page or as a stream that follows it.
 *  It must never skip or repeat a sequence. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { createSteps, type NextStep } from '../../platform/bounds/steps.ts';
import { callerOf } from '../access-check.ts';
import type { App } from '../app.ts';
import { isRedisAway } from '../../platform/redis/unavailable.ts';
import { streamSignals } from '../event-stream.ts';
import { DEFAULT_LOG_PAGE } from '../../contract/operations/requests.ts';
import { keepHeaders } from '../page-headers.ts';
import { serve } from '../served-operation.ts';
import type { UnreadBudget } from '../unread-budget.ts';
import type { RequesterSignal } from '../waiting.ts';

export interface SignalRouteOptions {
  readonly client: DirectiveClient;
  readonly heartbeatMs: number;
  readonly stop: AbortSignal;
  readonly requester: RequesterSignal;
  readonly unread: UnreadBudget;
  readonly places: StreamPlaces;
}

export function signalRoutes(app: App, options: SignalRouteOptions): void {
  const { client } = options;
  serve(app, 'signals', async (request, reply) => {
    const requestId = request.params.request_id;
    const { after, limit } = request.query;
    if (!wantsStream(request))
      return client.page(requestId, { after: after ?? 0, limit: limit ?? DEFAULT_LOG_PAGE });
    const { nextStep } = options.places.take(request, reply.raw);
    const from = request.headers['last-event-id'] ?? after ?? 0;
    // Also finds a 404 or 503 while a status can still be sent.
    const { closed, signals } = await client.page(requestId, { after: from, limit: 1 });
    if (closed && from > 0 && signals.length === 0) return reply.code(204).send(null);
    await stream(requestId, from, request, reply, { ...options, nextStep });
    return reply;
  });
}

interface StreamPlace {
  /** Shared by all streams of the caller. */
  readonly nextStep: NextStep;
}

export interface StreamPlaces {
  /** A place until `response` closes. Throws the refusal. */
  take(request: FastifyRequest, response: ServerResponse): StreamPlace;
}

/** Streams of each key or token; where no key is asked for, of each address. */
export function createStreamPlaces(most: number): StreamPlaces {
  const streams = new Map<string, { open: number; readonly nextStep: NextStep }>();
  return {
    take(request, response) {
      const caller = callerOf(request);
      const id = caller === null || caller === 'open' ? `address ${request.ip}` : caller.principal.id;
      const own = streams.get(id) ?? { open: 0, nextStep: createSteps() };
      if (own.open >= most) throw tooMany(most);
      // The `close` of a caller that has gone was sent before.
      if (response.closed || response.destroyed) return { nextStep: own.nextStep };
      own.open += 1;
      streams.set(id, own);
      response.once('close', () => {
        own.open -= 1;
        if (own.open === 0) streams.delete(id);
      });
      return { nextStep: own.nextStep };
    },
  };
}

function tooMany(most: number): DirectiveRefused {
  const detail = `A caller may have ${most} streams and downloads open at an API: close some, or raise \`limits.streams\`.`;
  return new DirectiveRefused(problem('too_many_open', { detail }));
}

function wantsStream({ method, headers }: FastifyRequest): boolean {
  return method === 'GET' && (headers.accept ?? '').includes('text/event-stream');
}

async function stream(
  requestId: string,
  after: number,
  request: FastifyRequest,
  reply: FastifyReply,
  {
    client,
    heartbeatMs,
    stop,
    requester,
    unread,
    nextStep,
  }: SignalRouteOptions & Pick<StreamPlace, 'nextStep'>,
): Promise<void> {
  reply.hijack();
  keepHeaders(reply);
  try {
    const follow = (signal: AbortSignal) => client.signals(requestId, { after, signal });
    await streamSignals(reply.raw, follow, {
      after,
      heartbeatMs,
      reader: requester(reply.raw),
      stop,
      unread,
      nextStep,
    });
  } catch (error) {
    // The headers are sent: the cut makes the reader reconnect.
    // An outage of Redis has log lines of its own, and there may be a thousand readers.
    const level = isRedisAway(error) ? 'debug' : 'warn';
    request.log[level]({ err: error, requestId }, 'A stream of signals was cut');
    reply.raw.destroy();
  }
}
