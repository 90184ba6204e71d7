// The variables about metrics: whether they are measured, where they are served, where they are sent.
// Must never send anything by itself: without an endpoint metrics are only served.
import * as z from 'zod';
import { httpUrl } from './http-url.ts';
import { notes } from './notes.ts';

const PORT = 'must be a whole number from 0 to 65535; 0 = any free port';
const INTERVAL = 'must be a whole number of milliseconds from 1000 to 3600000';

export const metricsVariables = {
  ADJUTANT_METRICS: z
    .enum(['on', 'off'])
    .default('on')
    .register(notes, { description: 'Whether metrics are measured and served.' }),
  ADJUTANT_METRICS_PORT: z
    .string()
    .refine((text) => /^\d{1,5}$/.test(text) && Number(text) <= 65_535, PORT)
    .transform(Number)
    .optional()
    .register(notes, {
      description:
        'Port on `ADJUTANT_HOST` for `/metrics`, `/healthz` and `/readyz`. Engines and workers have no other; the API has them on its own, too.',
      special: '0 = a free one',
      fallback: 'none',
    }),
  OTEL_METRICS_EXPORTER: z.enum(['otlp', 'none']).default('otlp').register(notes, {
    description: 'Whether metrics are sent to the collector.',
    special: '`none` = they are only served',
  }),
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: httpUrl().optional().register(notes, {
    description: 'The whole address that metrics are posted to (OTLP, HTTP, protobuf).',
    fallback: 'the endpoint with `/v1/metrics`',
  }),
  OTEL_METRIC_EXPORT_INTERVAL: z
    .string()
    .refine((text) => /^\d{4,7}$/.test(text) && Number(text) >= 1_000 && Number(text) <= 3_600_000, INTERVAL)
    .transform(Number)
    .default(60_000)
    .register(notes, { description: 'How often metrics are posted.', unit: 'ms', fallback: '60000' }),
};

const variablesSchema = z.object(metricsVariables);
type Variables = z.output<typeof variablesSchema> & { OTEL_SDK_DISABLED: boolean };

export interface MetricsConfig {
  isOn: boolean;
  /** Port of its own listener; null: none. */
  port: number | null;
  /** null: metrics are not sent. */
  otlp: { url: string; intervalMs: number } | null;
}

/** For a process without a configuration. Throws when a variable has a value that it cannot have. */
export function metricsOfVariables(environment: Readonly<Record<string, string | undefined>>): MetricsConfig {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const OTEL_SDK_DISABLED = /^true$/i.test(given['OTEL_SDK_DISABLED'] ?? '');
  const endpoint = OTEL_SDK_DISABLED ? null : (given['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? null);
  return metricsOf({ ...variablesSchema.parse(given), OTEL_SDK_DISABLED }, endpoint);
}

/** `endpoint`: of all signals, without a path; null: there is none. */
export function metricsOf(variables: Variables, endpoint: string | null): MetricsConfig {
  const base = endpoint === null ? null : `${endpoint.replace(/\/+$/, '')}/v1/metrics`;
  const isSent = variables.OTEL_METRICS_EXPORTER === 'otlp' && !variables.OTEL_SDK_DISABLED;
  const url = isSent ? (variables.OTEL_EXPORTER_OTLP_METRICS_ENDPOINT ?? base) : null;
  return {
    isOn: variables.ADJUTANT_METRICS === 'on',
    port: variables.ADJUTANT_METRICS_PORT ?? null,
    otlp: url === null ? null : { url, intervalMs: variables.OTEL_METRIC_EXPORT_INTERVAL },
  };
}
