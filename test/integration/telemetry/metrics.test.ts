/** What a real scrape of a running service shows, read by a strict parser.
 *  It must never assert a duration. */
import { expect, test } from 'vitest';
import { startRedis } from '../../support/redis.ts';
import { startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';
import { parsePrometheus, type Sample, valueOf } from '../../support/prometheus-text.ts';

const redis = useRedis();

async function scrape(url: string): Promise<Sample[]> {
  const answer = await fetch(`${url}/metrics`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parsePrometheus(await answer.text());
}

test('a scrape of the API shows the lanes, Redis and the process', async () => {
  await using service = await startService({ redisUrl: redis.url });
  const samples = await scrape(service.url);
  expect(valueOf(samples, 'adjutant_lane_depth', { lane: 'tool.peer', state: 'waiting' })).toBe(0);
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
