/** Notices of ends under kills: the receiver of the examples counts, in a process of its own, while all others die.
 *  It must judge by what the receiver has printed. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { WebhookEvent } from '../../src/contract/signal/webhook-event.ts';
import { countingCalls, idsOf } from '../support/calls.ts';
import { eventually } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { freePort, spawnNode } from '../support/process.ts';
import { newSecret } from '../support/webhook-receiver.ts';

const EACH = 12;
const secret = newSecret();

async function startReceiver(port = 0) {
  const child = spawnNode(['examples/webhooks/receiver.ts', String(port)], {
    env: { WEBHOOK_SECRET: secret },
  });
  const url = /http:\S+/.exec(await child.waitForLine(/^receives on/))?.[0] ?? '';
  const printed = () =>
    child.lines
      .filter((line) => line.startsWith('msg_'))
      .map((line) => ({
        id: line.slice(0, line.indexOf(' ')),
        event: JSON.parse(line.slice(line.indexOf(' '))) as WebhookEvent,
      }));
  return { child, url, printed };
}

test('each end is delivered, under one id, though API, workers and receiver are killed', async () => {
  const port = await freePort();
  const first = await startReceiver(port);
  const endpoint = { url: first.url, secrets: [secret], private_addresses: true, retry_backoff_ms: 100 };
  await using installation = await install({
    server: { lane: { concurrency: 3 } },
    config: { worker: { lease_ms: 1_000 }, webhooks: { endpoints: { mine: endpoint } } },
  });
  const [api, worker] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const calls = countingCalls(['read', 'once'], EACH / 2, { requestId: 'killed', delayMs: 50 });
  const client = createHttpClient({ baseUrl: api.url });
  await client.submit({ directives: calls.map((call) => ({ ...call, on_end: 'mine' })) } as never);
  // In the middle: some have ended, some notices are on their way, some calls are running.
  await eventually(() => first.printed().length).toBeGreaterThan(0);
  await Promise.all([worker.kill9(), api.kill9(), first.child.kill9()]);
  const second = await startReceiver(port);
  await Promise.all([installation.start('api'), installation.start('worker')]);
  const all = () => [...first.printed(), ...second.printed()];
  const notified = () => new Set(all().map(({ event }) => ('id' in event.data ? event.data.id : '')));
  await eventually(() => notified().size).toBe(EACH);
  expect([...notified()].toSorted()).toEqual(idsOf(calls).toSorted());
  const idsOfEnd = Map.groupBy(all(), ({ event }) => JSON.stringify([event.data.request_id, event.data.url]));
  for (const messages of idsOfEnd.values()) expect(new Set(messages.map(({ id }) => id)).size).toBe(1);
  await second.child.kill9();
});
