/** Submissions on a real Redis: what is accepted, how often, and what is refused as a whole.
 *  It must never need a worker. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { ServiceUnavailable } from '../../../src/contract/problem.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { isTraceparent, newTraceparent } from '../../../src/platform/telemetry/traces/trace-context.ts';
import { done } from '../../support/executors.ts';
import { LANE } from '../../support/journal.ts';
import { calls, openPipeline, refusal } from '../../support/pipeline.ts';
import { startRedis } from '../../support/redis.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openPipeline(redis.url));

type Call = Extract<SubmittedDirective, { type: 'tool_exec' }>;

function call(fields: Partial<Call> = {}): Call {
  return { type: 'tool_exec', tool_name: 'test.echo', ...fields };
}

async function isUntouched(requestId: string): Promise<void> {
  expect(await open.connection.exists(...open.keys.request(requestId))).toBe(0);
  expect(await open.client.request(requestId)).toBeNull();
}

describe('one directive', () => {
  test('submitted a hundred times at once is accepted once, and answered alike each time', async () => {
    const directive = call({ request_id: randomUUID(), id: 'a' });
    const submissions = await Promise.all(Array.from({ length: 100 }, () => open.client.submit(directive)));
    const statuses = submissions.map(({ directives }) => directives[0]?.status);
    expect(statuses.filter((status) => status === 'accepted')).toHaveLength(1);
    const answers = submissions.map((submission) => ({
      ...submission,
      directives: submission.directives.map((entry) => ({ ...entry, status: 'either' })),
    }));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await open.client.request(directive.request_id ?? '')).toMatchObject({ open: 1, sequence: 0 });
    expect(await open.jobs()).toBe(1);
  });

  test('executed by a hundred callers at once runs once, and all get the same signal', async () => {
    let runs = 0;
    await open.startWorker(async () => {
      runs += 1;
      return { result: { ok: true, payload: runs, effects: [] } };
    });
    const directive = call({ request_id: randomUUID(), id: 'a' });
    const signals = await Promise.all(Array.from({ length: 100 }, () => open.client.execute(directive)));
    expect(new Set(signals.map((signal) => JSON.stringify(signal))).size).toBe(1);
    expect(runs).toBe(1);
  });

  test('with other content is refused with both digests, and the first one stays', async () => {
    const request_id = randomUUID();
    const first = await open.client.submit(call({ request_id, id: 'a' }));
    const refused = await refusal(open.client.submit(call({ request_id, id: 'a', arguments: { other: 1 } })));
    expect(refused).toMatchObject({ status: 409, code: 'id_conflict', errors: [{ path: 'id' }] });
    const digests = refused['digests'] as { submitted: string; stored: string };
    expect(digests.stored).toBe(first.directives[0]?.digest);
    expect(digests.submitted).not.toBe(digests.stored);
    expect((await open.client.directive(request_id, 'a'))?.directive).toMatchObject({ arguments: {} });
  });

  test('is the same whatever the order of its keys', async () => {
    const request_id = randomUUID();
    await open.client.submit(call({ request_id, id: 'a', arguments: { x: 1, y: { p: 1, q: 2 } } }));
    const again = await open.client.submit(
      call({ request_id, id: 'a', arguments: { y: { q: 2, p: 1 }, x: 1 } }),
    );
    expect(again.directives[0]?.status).toBe('existing');
  });

  test('belongs to the trace it was submitted under, or to a new one', async () => {
    const traceparent = newTraceparent();
    const traceOf = async (given: string): Promise<string> => {
      const submission = await open.client.submit(call(), { traceparent: given });
      const json = await open.journal.envelope(submission.request_id, submission.directives[0]?.id ?? '');
      return (JSON.parse(json ?? '{}') as { traceparent: string }).traceparent;
    };
    expect(await traceOf(traceparent)).toBe(traceparent);
    expect(isTraceparent(await traceOf('nonsense'))).toBe(true);
  });
});

describe('a batch', () => {
  test('with one conflict enqueues nothing, even if one directive alone would be queued', async () => {
    const request_id = randomUUID();
    const told = { type: 'emit_request_error', request_id, id: 'a', reason: 'r' } as const;
    await open.client.submit({ ...told, message: 'one' });
    const refused = open.client.submit([call({ request_id, id: 'b' }), { ...told, message: 'other' }]);
    expect(await refusal(refused)).toMatchObject({ code: 'id_conflict' });
    expect(await open.jobs()).toBe(0);
  });

  test('with one invalid directive leaves nothing behind', async () => {
    const request_id = randomUUID();
    const refused = await refusal(open.client.submit([call({ request_id }), call({ max_retries: -1 })]));
    expect(refused).toMatchObject({ code: 'invalid_body', errors: [{ path: 'directives[1].max_retries' }] });
    await isUntouched(request_id);
    expect(await open.index.size()).toBe(0);
  });

  test('that names one id twice is one directive when the content is the same, and refused when not', async () => {
    const request_id = randomUUID();
    const same = await open.client.submit([call({ request_id, id: 'a' }), call({ request_id, id: 'a' })]);
    expect(same.directives.map(({ status }) => status)).toEqual(['accepted', 'existing']);
    expect(await open.client.request(request_id)).toMatchObject({ open: 1 });
    const other = randomUUID();
    const twins = [call({ request_id: other, id: 'a' }), call({ id: 'a', arguments: { x: 1 } })];
    expect(await refusal(open.client.submit(twins))).toMatchObject({
      errors: [{ path: 'directives[1].id' }],
    });
    await isUntouched(other);
  });

  test('of a thousand is accepted in one step and enqueued in each lane', async () => {
    const submission = await open.client.submit(Array.from({ length: 1_000 }, () => call()));
    expect(submission.directives).toHaveLength(1_000);
    expect(await open.client.request(submission.request_id)).toMatchObject({ open: 1_000 });
    expect(await open.jobs()).toBe(1_000);
    expect(await open.index.size()).toBe(1_000);
  });
});

test('a batch that is submitted again while its jobs are gone keeps its first trace', async () => {
  const batch = calls(2);
  const request_id = batch[0]?.request_id ?? '';
  const [first, second] = [newTraceparent(), newTraceparent()];
  await open.client.submit(batch, { traceparent: first });
  for (const { id } of batch) await open.lanes.removeJob(LANE, request_id, id);
  await open.client.submit(batch, { traceparent: second });
  await open.startWorker(async () => done);
  for (const each of batch) await open.resultOf(each);
  const traces = (await open.log(request_id)).map(({ traceparent }) => traceparent?.split('-')[1]);
  expect(new Set(traces)).toEqual(new Set([first.split('-')[1]]));
});

describe('an idempotency key', () => {
  test('makes a repeated submission the same, also at the same time', async () => {
    const options = { idempotencyKey: 'order 17' };
    const batch = [call(), call({ arguments: { x: 1 } })];
    const submissions = await Promise.all(
      Array.from({ length: 20 }, () => open.client.submit(batch, options)),
    );
    const ids = submissions.map(({ request_id, directives }) => [
      request_id,
      ...directives.map(({ id }) => id),
    ]);
    expect(new Set(ids.map((each) => each.join())).size).toBe(1);
    const accepted = submissions
      .flatMap(({ directives }) => directives)
      .filter(({ status }) => status === 'accepted');
    expect(accepted).toHaveLength(2);
  });
});

describe('a directive that needs no worker', () => {
  test.each<[string, SubmittedDirective, string, string]>([
    [
      'an emitted tool error',
      { type: 'emit_tool_error', tool_name: 't', error: 'e' },
      'ai.tool.result',
      'succeeded',
    ],
    [
      'an emitted request error',
      { type: 'emit_request_error', reason: 'r', message: 'm' },
      'ai.request.error',
      'succeeded',
    ],
    ['a tool nobody offers', { type: 'tool_exec', tool_name: 'nowhere.tool' }, 'ai.tool.result', 'failed'],
    ['a model nobody serves', { type: 'llm_embed', model: 'm', texts: 'a' }, 'ai.embed.result', 'failed'],
  ])(
    '%s ends at once, with one signal, however often it is submitted',
    async (_what, directive, type, status) => {
      const request_id = randomUUID();
      const identified = { ...directive, request_id, id: 'a' };
      const [signal, again] = await Promise.all([1, 2].map(() => open.client.execute(identified)));
      expect(again).toEqual(signal);
      expect(signal).toMatchObject({ type, sequence: 1, subject: request_id, causationid: 'a' });
      expect(await open.log(request_id)).toEqual([signal]);
      expect(await open.client.directive(request_id, 'a')).toMatchObject({ status, lane: null, attempts: 0 });
      expect(await open.client.request(request_id)).toMatchObject({ status: 'closed', open: 0 });
      expect(await open.keysWithoutExpiry()).toEqual([]);
      expect([await open.jobs(), await open.index.size()]).toEqual([0, 0]);
    },
  );
});

describe('waiting for a result', () => {
  test('too large to announce gets it from the log', async () => {
    const payload = 'x'.repeat(100_000);
    await open.startWorker(async (_directive, { report }) => {
      report('ai.tool.progress', {
        call_id: 'a',
        tool_name: 'test.echo',
        progress: 1,
        message: payload,
        metadata: {},
      });
      return { result: { ok: true, payload, effects: [] } };
    });
    const request_id = randomUUID();
    const directive = call({ id: 'a', request_id });
    const [executed, submission] = await Promise.all([
      open.client.execute(directive),
      open.client.submit(directive),
    ]);
    expect(executed.data).toMatchObject({ result: { payload } });
    expect(await open.client.result(submission.request_id, 'a')).toEqual(executed);
  });

  test('survives the death of its subscription', async () => {
    const { request_id } = await open.client.submit(call({ id: 'a' }));
    const waiting = open.client.result(request_id, 'a');
    await open.client.result(request_id, 'a', { timeoutMs: 1 });
    await open.connection.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await open.startWorker(async () => done);
    expect((await waiting)?.data).toMatchObject({ result: { payload: 'done' } });
  });
});

test('without Redis every call reports that, and none waits for ever', async () => {
  const gone = await startRedis();
  const client = await createDirectClient({ redisUrl: gone.url, knownServers: ['test'] });
  await gone.kill9();
  const calls = [
    client.submit(call()),
    client.execute(call()),
    client.submit(call(), { waitMs: 1 }),
    client.result('r', 'a'),
    client.request('r'),
    client.tools(),
  ];
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(ServiceUnavailable) as unknown });
  }
  await client.close();
  await gone.stop();
});
