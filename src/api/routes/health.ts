/** GET /healthz and /readyz: whether the process is alive, and whether it can work.
 *  It must never report what only an operator may know: addresses, credentials. */
import * as z from 'zod';
import type { SeesDetails } from '../access-check.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { replyWithProblem } from '../problem-reply.ts';
import { unavailable } from '../refusal.ts';

export interface Readiness {
  readonly ok: boolean;
  readonly checks: Readonly<Record<string, unknown>>;
}

const healthSchema = {
  operationId: 'health',
  summary: 'The process is alive',
  tags: ['service'],
  response: { 200: z.object({ status: z.literal('ok'), version: z.string().optional() }) },
};

const readySchema = {
  operationId: 'readiness',
  summary: 'The service can do its work',
  tags: ['service'],
  response: {
    200: z.object({ ok: z.literal(true), checks: z.record(z.string(), z.unknown()) }),
    ...problems(),
  },
};

export interface HealthOptions {
  readonly ready: () => Promise<Readiness>;
  readonly version: string;
  /** Who does not only gets the status. */
  readonly sees: SeesDetails;
}

export function healthRoutes(app: App, { ready, version, sees }: HealthOptions): void {
  app.get('/healthz', { schema: healthSchema }, async (request) => ({
    status: 'ok' as const,
    ...(sees(request) ? { version } : {}),
  }));

  app.get('/readyz', { schema: readySchema }, async (request, reply) => {
    const { ok, checks: all } = await ready();
    const checks = sees(request) ? all : {};
    if (ok) return { ok: true as const, checks };
    const refusal = unavailable('A part of the service is not ready.');
    return replyWithProblem(reply, { ...refusal, problem: { ...refusal.problem, checks } });
  });
}
