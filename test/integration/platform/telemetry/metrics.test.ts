/** What a real scrape of a running service shows, read by a strict parser.
 *  It must never assert a duration. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { startOtlpReceiver } from '../../../support/otlp-receiver.ts';
import { startRedis } from '../../../support/redis.ts';
import { startService } from '../../../support/running-service.ts';
import { useRedis } from '../../../support/shared.ts';
import { frames } from '../../../support/public-api.ts';
import { parsePrometheus, type Sample, valueOf } from '../../../support/prometheus-text.ts';

const redis = useRedis();

function post(url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function scrape(url: string): Promise<Sample[]> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parsePrometheus(await answer.text());
}

/** The data of the first signal of this type, as soon as it is there. */
async function firstSignal(url: string, requestId: string, type: string): Promise<unknown> {
  for await (const { event, data } of frames(url, requestId))
    if (event === type) return (JSON.parse(data) as { data: unknown }).data;
  throw new Error(`the log has ended without ${type}`);
}

test('a scrape of the API shows the lanes, Redis and the process', async () => {
  await using service = await startService({ redisUrl: redis.url });
  const samples = await scrape(service.url);
  expect(valueOf(samples, 'adjutant_lane_depth', { lane: 'tool.peer', state: 'waiting' })).toBe(0);
  expect(valueOf(samples, 'adjutant_lane_depth', { lane: 'tool.peer', state: 'gated' })).toBe(0);
  expect(valueOf(samples, 'adjutant_lane_oldest_age_seconds', { lane: 'tool.peer' })).toBe(0);
  expect(valueOf(samples, 'adjutant_redis_up')).toBe(1);
  expect(valueOf(samples, 'adjutant_redis_round_trip_seconds')).toBeGreaterThan(0);
  expect(valueOf(samples, 'nodejs_eventloop_delay_max_seconds')).toBeGreaterThanOrEqual(0);
  expect(valueOf(samples, 'process_memory_usage_bytes')).toBeGreaterThan(1_000_000);
  expect(valueOf(samples, 'target_info', { service_name: 'adjutant' })).toBe(1);
});

test('what waits in a lane that nobody works on is counted, and its age', async () => {
  await using service = await startService({ redisUrl: redis.url, roles: { api: true } });
  const directive = { type: 'tool_exec', request_id: 'r', id: 'd', tool_name: 'peer.echo', arguments: {} };
  const accepted = await fetch(`${service.url}/v1/directives`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(directive),
  });
  expect(accepted.status).toBe(202);
  const samples = await scrape(service.url);
  expect(valueOf(samples, 'adjutant_lane_depth', { lane: 'tool.peer', state: 'waiting' })).toBe(1);
  expect(valueOf(samples, 'adjutant_lane_oldest_age_seconds', { lane: 'tool.peer' })).toBeGreaterThan(0);
  expect(valueOf(samples, 'adjutant_open')).toBe(1);
});

test('a worker serves its metrics and its health on a port of its own', async () => {
  await using service = await startService({
    redisUrl: redis.url,
    roles: { worker: true },
    environment: { ADJUTANT_METRICS_PORT: '0' },
  });
  const samples = await scrape(service.metricsUrl);
  expect(valueOf(samples, 'adjutant_attempts_running')).toBe(0);
  expect(valueOf(samples, 'adjutant_redeliveries_total', { lane: 'tool.peer' })).toBe(0);
  expect(valueOf(samples, 'adjutant_outcome_unknown_total', { type: 'tool_exec' })).toBe(0);
  expect(valueOf(samples, 'adjutant_lane_depth')).toBeNull();
  expect(await (await fetch(`${service.metricsUrl}/healthz`)).json()).toMatchObject({ status: 'ok' });
  expect((await fetch(`${service.metricsUrl}/readyz`)).status).toBe(200);
  expect((await fetch(`${service.metricsUrl}/v1/lanes`)).status).toBe(404);
  expect((await fetch(`${service.metricsUrl}/metrics`, { method: 'POST' })).status).toBe(405);
});

test('without Redis a scrape says so, and leaves out what only Redis knows', async () => {
  await using own = await startRedis();
  await using service = await startService({ redisUrl: own.url, roles: { api: true } });
  await own.kill9();
  const samples = await scrape(service.url);
  expect(valueOf(samples, 'adjutant_redis_up')).toBe(0);
  expect(valueOf(samples, 'adjutant_redis_round_trip_seconds')).toBeNull();
  expect(valueOf(samples, 'adjutant_lane_depth')).toBeNull();
  expect(valueOf(samples, 'process_memory_usage_bytes')).toBeGreaterThan(1_000_000);
});

test('a tool call is counted by lane, type and outcome, and an error by its reason', async () => {
  await using service = await startService({ redisUrl: redis.url });
  const call = (id: string, tool: string, more: object = {}) => ({
    type: 'tool_exec',
    request_id: 'counted',
    id,
    tool_name: `peer.${tool}`,
    arguments: { text: 'x' },
    max_retries: 0,
    ...more,
  });
  const directives = [call('a', 'echo'), call('b', 'echo'), call('c', 'no_such_tool')];
  const body = JSON.stringify({ directives });
  const headers = { 'content-type': 'application/json' };
  const accepted = await fetch(`${service.url}/v1/directives`, { method: 'POST', headers, body });
  expect(accepted.status).toBe(202);
  for (const id of ['a', 'b', 'c'])
    await fetch(`${service.url}/v1/requests/counted/directives/${id}?wait_ms=20000`);
  const samples = await scrape(service.url);
  const lane = 'tool.peer';
  expect(valueOf(samples, 'adjutant_lane_wait_seconds_count', { lane })).toBe(3);
  expect(valueOf(samples, 'adjutant_attempts_total', { lane, outcome: 'end' })).toBe(3);
  expect(valueOf(samples, 'adjutant_attempt_duration_seconds_count', { lane })).toBe(3);
  const type = 'tool_exec';
  expect(valueOf(samples, 'adjutant_results_total', { type, outcome: 'succeeded' })).toBe(2);
  expect(valueOf(samples, 'adjutant_results_total', { type, error_type: 'unknown_tool' })).toBe(1);
  expect(valueOf(samples, 'adjutant_directive_duration_seconds_count', { type })).toBe(3);
  expect(valueOf(samples, 'adjutant_mcp_connected', { server: 'peer' })).toBe(1);
});

test('a directive that nobody takes is ended by the sweeper, and counted as such', async () => {
  await using service = await startService({ redisUrl: redis.url, roles: { api: true } });
  const directive = { type: 'tool_exec', request_id: 'late', id: 'd', tool_name: 'peer.echo', arguments: {} };
  const { status } = await post(`${service.url}/v1/directives`, { ...directive, deadline_ms: 100 });
  expect(status).toBe(202);
  await fetch(`${service.url}/v1/requests/late/directives/d?wait_ms=20000`);
  await eventually(async () => valueOf(await scrape(service.url), 'adjutant_sweeper_ends_total')).toBe(1);
  const samples = await scrape(service.url);
  const late = { type: 'tool_exec', outcome: 'failed', error_type: 'deadline_exceeded' };
  expect(valueOf(samples, 'adjutant_results_total', late)).toBe(1);
  expect(valueOf(samples, 'adjutant_directive_duration_seconds_sum', { type: 'tool_exec' })).toBeGreaterThan(
    0,
  );
});

test('an MCP server that is started again is counted', async () => {
  await using service = await startService({ redisUrl: redis.url });
  await untilListed(service.url, 'peer.echo');
  expect(valueOf(await scrape(service.url), 'adjutant_mcp_reconnects_total')).toBeNull();
  const directive = { type: 'tool_exec', request_id: 'r', id: 'd', tool_name: 'peer.crash', arguments: {} };
  await post(`${service.url}/v1/directives`, { ...directive, max_retries: 0 });
  const server = { server: 'peer' };
  const reconnects = async () => valueOf(await scrape(service.url), 'adjutant_mcp_reconnects_total', server);
  await eventually(reconnects).toBe(1);
  expect(valueOf(await scrape(service.url), 'adjutant_mcp_connected', server)).toBe(1);
});

test('refused requests are counted by their code, and requests by their route', async () => {
  await using service = await startService({ redisUrl: redis.url, roles: { api: true } });
  for (const id of ['one', 'two']) await fetch(`${service.url}/v1/requests/${id}`);
  await fetch(`${service.url}/nowhere/${'x'.repeat(50)}`);
  const samples = await scrape(service.url);
  expect(valueOf(samples, 'adjutant_refusals_total', { code: 'not_found' })).toBe(3);
  const count = 'http_server_request_duration_seconds_count';
  expect(valueOf(samples, count, { http_route: '/v1/requests/:request_id' })).toBe(2);
  expect(valueOf(samples, count, { http_route: '_OTHER', http_response_status_code: '404' })).toBe(1);
});

test('metrics that are off are neither measured nor served', async () => {
  await using service = await startService({
    redisUrl: redis.url,
    roles: { api: true },
    environment: { ADJUTANT_METRICS: 'off' },
  });
  expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
});

test('a model call is measured by the conventions, and its run by agent and status', async () => {
  await using service = await startService({
    redisUrl: redis.url,
    config: {
      providers: {
        play: { type: 'scripted', pace: 10_000, models: { m: { price: { input: 1, output: 2 } } } },
      },
      models: { fast: ['play:m'] },
      agents: { helper: { model_alias: 'fast', tools: [] } },
    },
  });
  const started = await post(`${service.url}/v1/requests`, {
    request_id: 'run',
    agent: 'helper',
    query: 'hello',
  });
  expect(started.status).toBe(202);
  const log = await fetch(`${service.url}/v1/requests/run/signals`, {
    headers: { accept: 'text/event-stream' },
  });
  expect(await log.text()).toContain('adjutant.end');
  const samples = await scrape(service.url);
  const model = { gen_ai_provider_name: 'play', gen_ai_request_model: 'm' };
  const chat = { ...model, gen_ai_operation_name: 'chat' };
  expect(valueOf(samples, 'gen_ai_client_operation_duration_seconds_count', chat)).toBe(1);
  expect(valueOf(samples, 'gen_ai_client_operation_time_to_first_chunk_seconds_count', chat)).toBe(1);
  const tokens = 'gen_ai_client_token_usage_sum';
  expect(valueOf(samples, tokens, { ...chat, gen_ai_token_type: 'input' })).toBeGreaterThan(0);
  expect(valueOf(samples, tokens, { ...chat, gen_ai_token_type: 'output' })).toBeGreaterThan(0);
  expect(valueOf(samples, 'adjutant_model_cost_total', model)).toBeGreaterThan(0);
  const agent = { agent: 'helper' };
  expect(valueOf(samples, 'adjutant_runs_started_total', agent)).toBe(1);
  expect(valueOf(samples, 'adjutant_runs_ended_total', { ...agent, status: 'completed' })).toBe(1);
  expect(valueOf(samples, 'adjutant_run_duration_seconds_count', agent)).toBe(1);
  expect(valueOf(samples, 'adjutant_turn_duration_seconds_count')).toBeGreaterThanOrEqual(2);
  expect(valueOf(samples, 'adjutant_runs')).toBe(0);
});

test('a run that waits for an approval is counted as such until it has ended', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-metrics-'));
  const file = join(folder, 'script.json');
  const turns = [
    { when: { tool_results: false }, tool_calls: [{ name: 'peer.echo', arguments: { said: 'hi' } }] },
    { text: 'done' },
  ];
  await writeFile(file, JSON.stringify({ pace: 10_000, turns }));
  const started = {
    redisUrl: redis.url,
    prefix: `test-${randomUUID()}`,
    config: {
      providers: { play: { type: 'scripted', file } },
      models: { fast: ['play:m'] },
      agents: {
        careful: { model_alias: 'fast', tools: ['peer.*'], policies: { approvals: { '*': 'ask' } } },
      },
    },
  };
  await using service = await startService(started);
  await rm(folder, { recursive: true });
  await untilListed(service.url, 'peer.echo');
  const { status } = await post(`${service.url}/v1/requests`, {
    request_id: 'run',
    agent: 'careful',
    query: 'echo',
  });
  expect(status).toBe(202);
  const asked = await firstSignal(service.url, 'run', 'ai.tool.approval_requested');
  const { call_id } = asked as { call_id: string };
  const runs = async (): Promise<Record<string, number | null>> => {
    // What waits is at most five seconds old: another API asks anew.
    await using reader = await startService({ ...started, roles: { api: true } });
    const samples = await scrape(reader.url);
    const statuses = ['running', 'waiting', 'approval'];
    return {
      ...Object.fromEntries(
        statuses.map((status) => [status, valueOf(samples, 'adjutant_runs', { status })]),
      ),
      approvals: valueOf(samples, 'adjutant_approvals'),
    };
  };
  expect(await runs()).toEqual({ running: 0, waiting: 0, approval: 1, approvals: 1 });
  await post(`${service.url}/v1/requests/run/approvals/${call_id}`, { decision: 'approve' });
  await firstSignal(service.url, 'run', 'ai.request.completed');
  expect(await runs()).toEqual({ running: 0, waiting: 0, approval: 0, approvals: 0 });
});

test('ten thousand tools and requests add no series', async () => {
  await using service = await startService({ redisUrl: redis.url, roles: { api: true } });
  const batch = (request_id: string, most: number) => ({
    directives: Array.from({ length: most }, (_, nth) => ({
      type: 'tool_exec',
      request_id,
      id: `d${nth}`,
      tool_name: nth % 2 === 0 ? `peer.${request_id}-${nth}` : `nowhere.${request_id}-${nth}`,
      arguments: {},
    })),
  });
  const one = async (name: string, most: number): Promise<void> => {
    expect((await post(`${service.url}/v1/directives`, batch(name, most))).status).toBe(202);
    expect((await fetch(`${service.url}/v1/requests/${name}`)).status).toBe(200);
    expect((await fetch(`${service.url}/v1/requests/no-${name}`)).status).toBe(404);
  };
  await one('first', 2);
  await scrape(service.url);
  const before = await scrape(service.url);
  for (let nth = 0; nth < 10; nth += 1) await one(`more-${nth}`, 1_000);
  const after = await scrape(service.url);
  const type = 'tool_exec';
  expect(valueOf(after, 'adjutant_results_total', { type, error_type: 'unknown_tool' })).toBe(5_001);
  // On a slow machine the sweeper looks at what nobody takes: a counter without labels.
  const named = (samples: readonly Sample[]) =>
    samples
      .filter(({ name }) => !name.startsWith('adjutant_sweeper_'))
      .map(({ name, labels }) => JSON.stringify([name, labels]));
  expect(named(after)).toEqual(named(before));
});

test('metrics are posted to a collector under the names of OpenTelemetry, and a collector that is away stops nothing', async () => {
  await using collector = await startOtlpReceiver();
  await using service = await startService({
    redisUrl: redis.url,
    roles: { api: true },
    environment: {
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/v1/metrics`,
      OTEL_METRIC_EXPORT_INTERVAL: '1000',
    },
  });
  await fetch(`${service.url}/v1/requests/none`);
  await collector.until(() => collector.metrics().some(({ name }) => name === 'adjutant.refusals'));
  const refusals = collector.metrics().findLast(({ name }) => name === 'adjutant.refusals');
  expect(refusals).toEqual({
    service: 'adjutant',
    name: 'adjutant.refusals',
    unit: '{request}',
    points: [{ attributes: { code: 'not_found' }, value: 1 }],
  });
  expect(collector.metrics().find(({ name }) => name === 'adjutant.redis.up')?.points).toEqual([
    { attributes: {}, value: 1 },
  ]);
  collector.answer(503);
  const asked = collector.requests();
  await collector.until(() => collector.requests() > asked);
  expect((await fetch(`${service.url}/metrics`)).status).toBe(200);
});
