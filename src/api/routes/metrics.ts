/** GET /metrics: what this process has measured, and what waits in the lanes, for Prometheus.
 *  It must never be slow or fail because Redis is away. */
import * as z from 'zod';
import type { App } from '../app.ts';

/** The text format of Prometheus. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const metricsSchema = {
  operationId: 'metrics',
  summary: 'Metrics in the text format of Prometheus',
  tags: ['service'],
  response: {
    200: { description: 'One line a series.', content: { 'text/plain': { schema: z.string() } } },
  },
};

export function metricRoutes(app: App, scrape: () => Promise<string>): void {
  app.get('/metrics', { schema: metricsSchema }, async (_request, reply) =>
    reply
      .header('content-type', METRICS_TYPE)
      .serializer((text: string) => text)
      .send(await scrape()),
  );
}
