/** The process that holds jobs of the queue `directives` dies at several instants: each directive runs once, each job ends once.
 *  It must not warn the process. */
import type { QueueEventsListener } from 'bullmq';
import { expect, test } from 'vitest';
import { executionsByLabel } from '../support/audit.ts';
import { install } from '../support/installation.ts';
import { startProducer } from '../support/queue-producer.ts';

/** As a job is taken, as its directive was accepted, as another one has ended. */
const INSTANTS = [
  'active',
  'progress',
  'completed',
] as const satisfies readonly (keyof QueueEventsListener)[];
const EACH = 12;

test('kill -9 of the API that serves the queue: one execution, one end', async () => {
  await using installation = await install({ server: { lane: { concurrency: 20 } } });
  const { redis, prefix } = installation;
  await using producer = await startProducer(redis, prefix);
  const [first] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const ends = new Map<string, number>();
  const count = ({ jobId }: { jobId: string }): void => void ends.set(jobId, (ends.get(jobId) ?? 0) + 1);
  producer.events.on('completed', count);
  producer.events.on('failed', count);

  let victim = first;
  const jobs = [];
  for (const instant of INSTANTS) {
    const reached = new Promise<void>((resolve) => producer.events.once(instant, () => resolve()));
    const calls = Array.from({ length: EACH }, (_, index) => `${instant}-${index}`).map((label) => ({
      name: label,
      data: { type: 'tool_exec', tool_name: 'counting.once', arguments: { label, delay_ms: 200 } },
    }));
    jobs.push(...(await producer.queue.addBulk(calls)));
    await reached;
    await victim.kill9();
    victim = await installation.start('api');
  }

  const values = await Promise.all(jobs.map(async (job) => producer.returned(job)));
  expect(values.filter(({ ok }) => ok === true)).toHaveLength(EACH * INSTANTS.length);
  const executed = executionsByLabel(installation.executions());
  expect(Object.fromEntries([...executed].map(([label, { length }]) => [label, length]))).toEqual(
    Object.fromEntries(jobs.map(({ name }) => [name, 1])),
  );
  expect(Object.fromEntries(ends)).toEqual(Object.fromEntries(jobs.map(({ id }) => [id, 1])));
  // Several were in hand as their process died.
  const stalled = await Promise.all(
    jobs.map(async ({ id = '' }) => (await producer.queue.getJob(id))?.stalledCounter),
  );
  expect(stalled.filter((count) => (count ?? 0) > 0).length).toBeGreaterThan(0);
});

test('kill -9 of Redis while jobs are in hand fails none of them', async () => {
  await using installation = await install({
    redis: { appendonly: true, appendfsync: 'always' },
    server: { lane: { concurrency: 20 } },
  });
  const { redis, prefix } = installation;
  await using producer = await startProducer(redis, prefix);
  await Promise.all([installation.start('api'), installation.start('worker')]);
  const calls = Array.from({ length: EACH }, (_, index) => ({
    name: `read-${index}`,
    data: {
      type: 'tool_exec',
      tool_name: 'counting.read',
      arguments: { label: `read-${index}`, delay_ms: 500 },
    },
  }));
  const jobs = await producer.queue.addBulk(calls);
  await installation.untilExecuted(({ length }) => length > 0);
  await redis.kill9();
  await redis.restart();
  const values = await Promise.all(jobs.map(async (job) => producer.returned(job)));
  expect(values.filter(({ ok }) => ok === true)).toHaveLength(EACH);
});
