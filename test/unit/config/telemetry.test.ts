/** Where traces go: the file, and the variables of OpenTelemetry above it. */
import { describe, expect, test } from 'vitest';
import { fault, parse } from '../../support/parsed-config.ts';

const endpoint = 'http://collector:4318';

describe('traces', () => {
  test.each([
    [{}, {}, null],
    [{ endpoint }, {}, `${endpoint}/v1/traces`],
    [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` }, `${endpoint}/v1/traces`],
    [{ endpoint }, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/own` }, `${endpoint}/own`],
    [{ endpoint }, { OTEL_SDK_DISABLED: 'true' }, null],
    [{ endpoint }, { OTEL_SDK_DISABLED: 'TRUE' }, null],
  ])('with %j and %j go to %s', (telemetry, environment, url) => {
    expect(parse({ telemetry }, environment).telemetry.tracing?.url ?? null).toBe(url);
  });

  test('a variable wins over the file', () => {
    const telemetry = { endpoint, sample_ratio: 0.5, service_name: 'file' };
    const environment = { OTEL_TRACES_SAMPLER_ARG: '0.01', OTEL_SERVICE_NAME: 'variable' };
    const read = parse({ telemetry }, environment).telemetry;
    expect([read.tracing?.ratio, read.serviceName]).toEqual([0.01, 'variable']);
  });

  test.each([
    { OTEL_TRACES_SAMPLER_ARG: 'half' },
    { OTEL_TRACES_SAMPLER_ARG: '2' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'here' },
  ])('%j is refused', (environment) => {
    expect(fault(() => parse({}, environment)).message).toContain(Object.keys(environment)[0]);
  });

  test('a page without the place of the id is refused', () => {
    expect(fault(() => parse({ telemetry: { trace_url: 'http://jaeger/' } })).message).toContain(
      '{trace_id}',
    );
  });
});
