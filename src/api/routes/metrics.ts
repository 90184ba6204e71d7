/** GET /metrics: what this process has measured, and what waits in the lanes, for Prometheus.
 *  It must never be slow or fail because Redis is away. */
import type { App } from '../app.ts';
import { serve } from '../served-operation.ts';

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
