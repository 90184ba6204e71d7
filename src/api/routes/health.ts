/** GET /healthz and /readyz: whether the process is alive, and whether it can work.
 *  It must never report what only an operator may know: addresses, credentials. */
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
