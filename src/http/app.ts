/** The fastify application that the routes are registered on.
 *  It must never hold a setting: the API's composition makes it. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { IncomingMessage, ServerResponse } from 'node:http';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** A request to the API, and its reply, for the routes of features. */
export type ApiRequest = FastifyRequest;
export type ApiReply = FastifyReply;
