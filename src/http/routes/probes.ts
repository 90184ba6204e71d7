/** GET /healthz, /readyz and /metrics: whether the process is alive, whether it can work, and its measurements for Prometheus.
 *  Never fails because Redis is away, nor shows addresses or credentials to callers that may not know them. */
import type { SeesDetails } from '../access-check.ts';
import type { App } from '../app.ts';
import { replyWithProblem } from '../problem-reply.ts';
import { unavailable } from '../refusal.ts';
import { serve } from '../served-operation.ts';

export interface Readiness {
  readonly ok: boolean;
  readonly checks: Readonly<Record<string, unknown>>;
}

export interface HealthOptions {
  readonly ready: () => Promise<Readiness>;
  readonly version: string;
  /** Who does not only gets the status. */
  readonly sees: SeesDetails;
}

export function healthRoutes(app: App, { ready, version, sees }: HealthOptions): void {
  serve(app, 'health', async (request) => ({
    status: 'ok' as const,
    ...(sees(request) ? { version } : {}),
  }));

  serve(app, 'readiness', async (request, reply) => {
    const { ok, checks: all } = await ready();
    const checks = sees(request) ? all : {};
    if (ok) return { ok: true as const, checks };
    const refusal = unavailable('A part of the service is not ready.');
    return replyWithProblem(reply, { ...refusal, problem: { ...refusal.problem, checks } });
  });
}

/** The text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function metricRoutes(app: App, scrape: () => Promise<string>): void {
  serve(app, 'metrics', async (_request, reply) =>
    reply
      .header('content-type', METRICS_TYPE)
      .serializer((text: string) => text)
      .send(await scrape()),
  );
}
