/** A collector that fails: it costs spans and one line of the log, and holds nothing up.
 *  It must use the real export, over a real socket. */
import { expect, test } from 'vitest';
import { probeCollector } from '../../../../src/platform/telemetry/traces/collector-probe.ts';
import { createKnownSecrets } from '../../../../src/contract/json/secret-text.ts';
import { shown } from '../../../../src/platform/telemetry/traces/content.ts';
import { exportFault } from '../../../../src/platform/telemetry/export-fault.ts';
import { createTraces, type TracingSettings } from '../../../../src/platform/telemetry/traces/traces.ts';
import { SILENT } from '../../../../src/platform/telemetry/logger.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';
import { placeUnder } from '../../../../src/platform/telemetry/traces/span-place.ts';
import { eventually } from '../../../support/eventually.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../../support/otlp-receiver.ts';

const TRACE = 'a'.repeat(32);

function settings({ url }: OtlpReceiver, more: Partial<TracingSettings> = {}): TracingSettings {
  const resource = { 'service.name': 'test' };
  return { url: `${url}/v1/traces`, ratio: 1, contentBytes: 0, resource, newNames: [], ...more };
}

const span = (name: string) => ({
  place: placeUnder({ traceId: TRACE, spanId: null }, name),
  name,
  kind: 'internal' as const,
  startedAt: 1_000,
  endedAt: 1_002.5,
  attributes: { a: 'x'.repeat(2_000), b: undefined },
  error: null,
});

test('a stop sends what is left', async () => {
  await using collector = await startOtlpReceiver();
  const traces = createTraces(settings(collector), SILENT);
  await traces.start();
  traces.spans.report(span('last'));
  await traces.stop();
  const [received] = collector.spans();
  expect(received).toMatchObject({ service: 'test', name: 'last', status: 'UNSET', parentId: '' });
  expect(Number((received?.endNano ?? 0n) - (received?.startNano ?? 0n))).toBe(2_500_000);
  expect(String(received?.attributes['a'])).toHaveLength(1_024);
});

test('spans show no secret of the process, and no key or token in any place of a text (docs/observability.md)', async () => {
  await using collector = await startOtlpReceiver();
  const configured = ['hunter2-of-the-process'];
  const secrets = createKnownSecrets();
  secrets.add(() => configured);
  const traces = createTraces(settings(collector, { secrets, contentBytes: 70 }), SILENT);
  await traces.start();
  const path = '/v1/requests/adj_0123456789ab_hunter2/eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.hunter2';
  // The limit is in the middle of the secret.
  const content = shown(traces.spans.content, `${'x'.repeat(60)}${configured[0]}`);
  traces.spans.report({
    ...span('POST hunter2-of-the-process'),
    attributes: { 'url.path': path, list: configured, content },
    events: [{ name: 'said', at: 1_001, attributes: { text: `got ${configured[0]}` } }],
  });
  await traces.stop();
  const spans = collector.spans();
  expect(spans).toHaveLength(1);
  expect(
    JSON.stringify(spans, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  ).not.toContain('hunter2');
  expect(spans[0]?.attributes['url.path']).toBe('/v1/requests/adj_0123456789ab_[REDACTED]/[REDACTED]');
});

test('a collector that never answers holds a stop no longer than the stop allows', async () => {
  await using collector = await startOtlpReceiver();
  collector.answer('nothing');
  const traces = createTraces(settings(collector), SILENT);
  await traces.start();
  traces.spans.report(span('unheard'));
  // Far less than the limits of the exporter: the stop would miss it only if it waited for the collector.
  await traces.stop({ leftMs: () => 10 });
  expect(collector.spans()).toEqual([]);
});

test('a failing collector is one line, however many exports fail, and one when it is back', async () => {
  await using collector = await startOtlpReceiver();
  const lines: string[] = [];
  const note = (_fields: object, message: string): void => void lines.push(message);
  const failed = Promise.withResolvers<void>();
  let failures = 0;
  const lost: [reason: string, count: number][] = [];
  const exportFailed = (): void => {
    failures += 1;
    if (failures === 2) failed.resolve();
  };
  const losses = { exportFailed, spansLost: (...each: [string, number]) => void lost.push(each) };
  const traces = createTraces(settings(collector), { ...SILENT, warn: note, info: note }, losses);
  await traces.start();
  collector.answer(400);
  traces.spans.report(span('first'));
  await collector.until(() => collector.requests() === 1);
  traces.spans.report(span('second'));
  await failed.promise;
  collector.answer(200);
  traces.spans.report(span('third'));
  await traces.stop();
  expect(collector.spans().map(({ name }) => name)).toEqual(['third']);
  expect(lines).toEqual([
    'the collector takes no traces; they are dropped',
    'the collector takes traces again',
  ]);
  expect(lost).toEqual([
    ['export_failed', 1],
    ['export_failed', 1],
  ]);
});

interface Trial {
  readonly answer: number | 'nothing' | 'web page';
  readonly path: string;
  readonly error: string;
  readonly fix: RegExp;
}

const TRIALS: readonly Trial[] = [
  {
    answer: 'web page',
    path: '/v1/traces',
    error: 'it answers with a web page (text/html)',
    fix: /port .*4318/,
  },
  {
    answer: 404,
    path: '/v1/traces/v1/traces',
    error: '404 Not Found',
    fix: /^Take \/v1\/traces off the endpoint/,
  },
  {
    answer: 404,
    path: '/v2',
    error: '404 Not Found',
    fix: /^Correct the endpoint: \/v1\/traces is added to it\./,
  },
  { answer: 401, path: '/v1/traces', error: '401 Unauthorized', fix: /OTEL_EXPORTER_OTLP_HEADERS/ },
];

test.each(TRIALS)(
  'the line about a collector that answers $answer at $path has the address, the error and what to do; so has the probe',
  async ({ answer, path, error, fix }) => {
    await using collector = await startOtlpReceiver();
    collector.answer(answer);
    const lines: object[] = [];
    const note = (fields: object, message: string): void => void lines.push({ message, ...fields });
    const secret = collector.url.replace('//', '//user:pass@');
    const traces = createTraces(settings(collector, { url: `${secret}${path}?key=1` }), {
      ...SILENT,
      warn: note,
    });
    await traces.start();
    traces.spans.report(span('lost'));
    await traces.stop();
    const says = { collector: `${collector.url}${path}`, error, fix: expect.stringMatching(fix) as string };
    expect(lines).toEqual([{ message: 'the collector takes no traces; they are dropped', ...says }]);
    const found = await probeCollector('traces', `${collector.url}${path}`);
    expect(found).toEqual({ ...says, isNotServed: answer === 404 });
    collector.answer(200);
    expect(await probeCollector('traces', `${collector.url}${path}`)).toBeNull();
    expect(collector.spans()).toEqual([]);
  },
);

test('Jaeger, which has no place for metrics, is named as one, and the port of gRPC as one', async () => {
  await using collector = await startOtlpReceiver();
  collector.answer(404);
  const url = `${collector.url}/v1/metrics`;
  expect(await probeCollector('metrics', url)).toMatchObject({
    isNotServed: true,
    fix: expect.stringMatching(/^Set OTEL_METRICS_EXPORTER=none if it is Jaeger/) as string,
  });
  const parse = exportFault('metrics', url, new Error('Parse Error: Expected HTTP/, RTSP/ or ICE/'));
  expect(parse.fix).toMatch(/4317 is the one for gRPC/);
  expect(exportFault('metrics', url, new Error('Request timed out')).fix).toMatch(/^It does not answer/);
  expect(exportFault('metrics', url, new Error('connect ECONNREFUSED')).fix).toMatch(/^Start the collector/);
});

test('spans that nobody can keep are counted, and one line says so; the others arrive', async () => {
  await using collector = await startOtlpReceiver();
  const lines: object[] = [];
  const note = (fields: object, message: string): void => void lines.push({ message, ...fields });
  let lost = 0;
  const losses = { exportFailed: () => {}, spansLost: (_: string, count: number) => void (lost += count) };
  const traces = createTraces(settings(collector), { ...SILENT, warn: note, info: note }, losses);
  await traces.start();
  for (let nth = 0; nth < 10_000; nth += 1) traces.spans.report(span(`nth ${nth}`));
  // A stop gives the collector two seconds, which are few on a busy machine.
  await eventually(() => collector.spans().length + lost).toBe(10_000);
  await traces.stop();
  expect(lost).toBeGreaterThan(0);
  expect(lines).toEqual([
    { message: 'spans are made faster than the collector takes them; some are dropped' },
    { message: 'every span is sent again', dropped: lost },
  ]);
});

test('the share decides alike in every process, and a decision of the caller stands', async () => {
  await using collector = await startOtlpReceiver();
  const [none, all] = [
    createTraces(settings(collector, { ratio: 0 }), SILENT),
    createTraces(settings(collector), SILENT),
  ];
  await Promise.all([none.start(), all.start()]);
  const undecided = newTraceparent();
  expect(none.spans.decided(undecided)).toBe(`${undecided.slice(0, 53)}00`);
  expect(all.spans.decided(undecided)).toBe(undecided);
  expect(all.spans.under(undecided)).toEqual({ traceId: undecided.slice(3, 35), spanId: null });
  const sampled = `00-${TRACE}-${'b'.repeat(16)}-01`;
  expect(none.spans.under(sampled)).toEqual({ traceId: TRACE, spanId: 'b'.repeat(16) });
  expect(all.spans.under(`00-${TRACE}-${'b'.repeat(16)}-00`)).toBeNull();
  await Promise.all([none.stop(), all.stop()]);
});
