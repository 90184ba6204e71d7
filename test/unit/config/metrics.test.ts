/** Where metrics go, by the variables of OpenTelemetry and our own.
 *  It must not send any. */
import { expect, test } from 'vitest';
import { parse } from '../../support/parsed-config.ts';

const COLLECTOR = 'http://collector.test:4318';

test.each([
  [{}, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR }, `${COLLECTOR}/v1/metrics`],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${COLLECTOR}/` }, `${COLLECTOR}/v1/metrics`],
  [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${COLLECTOR}/own` }, `${COLLECTOR}/own`],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_METRICS_EXPORTER: 'none' }, null],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: COLLECTOR, OTEL_SDK_DISABLED: 'true' }, null],
])('%j: metrics are posted to %s', (environment, url) => {
  expect(parse({}, environment).metrics.otlp?.url ?? null).toBe(url);
});

test('metrics are on, and have no port of their own', () => {
  expect(parse({}).metrics).toEqual({ isOn: true, port: null, otlp: null });
  expect(parse({}, { ADJUTANT_METRICS: 'off', ADJUTANT_METRICS_PORT: '9464' }).metrics).toMatchObject({
    isOn: false,
    port: 9_464,
  });
});

test.each([
  { ADJUTANT_METRICS_PORT: '65536' },
  { ADJUTANT_METRICS_PORT: 'x' },
  { OTEL_METRIC_EXPORT_INTERVAL: '10' },
  { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'collector:4318' },
])('%j is refused', (environment) => {
  expect(() => parse({}, environment)).toThrow(Object.keys(environment)[0]);
});
