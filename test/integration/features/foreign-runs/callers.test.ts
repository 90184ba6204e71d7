/** Runs of other programs through the doors that their programs use: the MCP address, the routes and the client of steps (issue 37, section B).
 *  It looks at what the tool has counted and at the public API. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createRunClient } from '../../../../src/client/http-client.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { ERAS, openHost, textOf } from '../../../support/mcp-clients.ts';
import { askModern } from '../../../support/modern-requests.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { useKeyedService } from '../../../support/keyed-service.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const keyed = useKeyedService();

const service = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-foreign-'));
  const counter = join(folder, 'counter.jsonl');
  await writeFile(counter, '');
  const mcpServers = { counting: ownServerEntry('counting.ts', { COUNTER_FILE: counter }) };
  const running = await startService({ redisUrl: redis.url, config: { mcpServers } });
  await untilListed(running.url, 'counting.once');
  return {
    url: running.url,
    executions: (label: string) =>
      readFileSync(counter, 'utf8').split(`"label":${JSON.stringify(label)}`).length - 1,
    async [Symbol.asyncDispose]() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

test.each(ERAS)('a %s host at the MCP address of a run: an equal once call is the same one, in another run another one', async (era) => {
  const [run, label] = [`once-${era}`, `label-${era}`];
  const call = async (name: string): Promise<string> => {
    await using host = await openHost(era, `${service.url}/runs/${name}/mcp`);
    return textOf(await host.call('counting__once', { label }));
  };
  const first = await call(run);
  expect(first).toContain('"execution":1');
  expect(await call(run)).toBe(first);
  expect(service.executions(label)).toBe(1);
  expect(await call(`${run}-other`)).toContain('"execution":1');
  expect(service.executions(label)).toBe(2);
  await using one = await openHost(era, `${service.url}/runs/${run}/mcp/counting`);
  expect(textOf(await one.call('once', { label })), 'the address of one server').toBe(first);
});

test('a host that is lost in the middle of a call of a run does not end it: the next one joins', async () => {
  const url = `${service.url}/runs/lost/mcp`;
  const lost = new AbortController();
  const params = { name: 'counting__once', arguments: { label: 'lost', delay_ms: 1_000 } };
  const raw = askModern(url, { method: 'tools/call', name: params.name, params, signal: lost.signal });
  await eventually(async () => service.executions('lost')).toBe(1);
  lost.abort();
  await expect(raw).rejects.toThrow();
  await using host = await openHost('modern', url);
  expect(textOf(await host.call('counting__once', { label: 'lost', delay_ms: 1_000 }))).toContain('"execution":1');
  expect(service.executions('lost')).toBe(1);
});

test('names of runs that are none are refused, and so is an unknown tool', async () => {
  const response = await fetch(`${service.url}/runs/a%20b/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{}',
  });
  expect(response.status).toBe(400);
  await using host = await openHost('modern', `${service.url}/runs/unknown/mcp`);
  await expect(host.call('counting__nothing')).rejects.toThrow('Unknown tool');
});

test('a step runs once: a second client gets its result, waits for one that runs, and sees an error of a once step again', async () => {
  const [one, two] = [createRunClient({ baseUrl: service.url }), createRunClient({ baseUrl: service.url })];
  let ran = 0;
  const charge = async (): Promise<{ paid: number }> => ({ paid: (ran += 1) });
  expect(await one.step('steps', 'charge', charge)).toEqual({ paid: 1 });
  expect(await two.step('steps', 'charge', charge)).toEqual({ paid: 1 });
  expect(await one.step('steps', 'charge', charge), 'its second one').toEqual({ paid: 2 });
  expect(await two.step('steps', 'charge', charge)).toEqual({ paid: 2 });

  const gate = Promise.withResolvers<string>();
  const running = one.step('steps', 'slow', () => gate.promise);
  await eventually(async () => (await one.read('steps')).steps).toBe(3);
  const joined = two.step('steps', 'slow', () => 'not run');
  gate.resolve('run');
  expect(await Promise.all([running, joined])).toEqual(['run', 'run']);

  const fail = (): never => {
    throw new Error('no funds');
  };
  await expect(one.step('steps', 'broken', fail)).rejects.toThrow('no funds');
  await expect(two.step('steps', 'broken', () => 1)).rejects.toThrow('no funds');
  await expect(one.step('steps', 'read', fail, { effect: 'read' })).rejects.toThrow('no funds');
  expect(await two.step('steps', 'read', () => 1, { effect: 'read' })).toBe(1);
  expect(await one.close('steps', { result: 'done' })).toMatchObject({ status: 'completed', result: 'done' });
  await expect(two.step('steps', 'late', charge)).rejects.toMatchObject({ problem: { code: 'request_closed' } });
});

test('a step whose process died is unknown to its successor until a decision', async () => {
  const dead = { key: 'refund', lease_ms: 1_000, token: 'dead' };
  await fetch(`${service.url}/v1/runs/dead/steps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(dead),
  });
  const runs = createRunClient({ baseUrl: service.url });
  const refund = async () => runs.step('dead', 'refund', () => 'again', { key: 'refund' });
  await expect(refund()).rejects.toMatchObject({ problem: { code: 'outcome_unknown' } });
  await runs.decide('dead', 'refund', { result: 'it was refunded' });
  expect(await refund()).toBe('it was refunded');
});

test('a run is of the key that began it: another key of the tenant sees none, and one without scopes may nothing', async () => {
  const [ann, bob, reader] = await Promise.all([
    keyed.make(),
    keyed.make(),
    keyed.make({ scopes: ['read'] }),
  ]);
  const of = (key: string) => createRunClient({ baseUrl: keyed.service.url, apiKey: key });
  expect(await of(ann.key).step('own', 'id', () => 'of ann')).toBe('of ann');
  expect(await of(bob.key).step('own', 'id', () => 'of bob')).toBe('of bob');
  await of(ann.key).close('own');
  expect(await of(bob.key).read('own')).toMatchObject({ status: 'open' });
  await expect(of(reader.key).read('own')).rejects.toMatchObject({ problem: { code: 'not_found' } });
  await expect(of(reader.key).step('own', 'id', () => 1)).rejects.toMatchObject({ problem: { code: 'forbidden' } });
});
