/** Workers that die or stop while servers keep their calls as tasks: the next one asks for the end, and nothing runs twice.
 *  It must never let a task end before the worker has gone. */
import { expect, test } from 'vitest';
import { auditRequest, outcome } from '../support/audit.ts';
import { install } from '../support/installation.ts';
import { get, post, untilClosed } from '../support/public-api.ts';
import { completed, startTaskServer } from '../support/task-server.ts';

test.concurrent('the calls of a worker that is killed, and of one that is stopped, end as their tasks do', async () => {
  await using server = await startTaskServer();
  await using installation = await install({
    config: {
      mcpServers: { tasks: { url: server.url } },
      worker: { lease_ms: 1_500, drain_ms: 100 },
    },
  });
  const [{ url }, killed] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const requestId = 'resumed';
  const labels = ['done', 'broken', 'forgotten', 'again', 'unwanted'];
  const directives = labels.map((label) => ({
    type: 'tool_exec',
    id: label,
    request_id: requestId,
    tool_name: label === 'again' ? 'tasks.read' : 'tasks.work',
    arguments: { label },
  }));
  const untilAsked = async (asked: readonly string[], from: number): Promise<void> =>
    server.until(() => asked.every((each) => server.asked.slice(from).includes(`tasks/get ${each}`)));

  expect((await post(`${url}/v1/directives`, { directives })).status).toBe(202);
  await untilAsked(labels, 0);
  await killed.kill9();
  server.says('done', completed('of the first call'));
  server.says('broken', { status: 'failed', error: { code: -32_000, message: 'it broke' } });
  server.says('forgotten', null);
  server.says('again', null);
  const stopped = await installation.start('worker');
  await server.until(() => server.ran.filter((label) => label === 'again').length === 2);
  await untilAsked(['again', 'unwanted'], server.asked.length);
  // What is written down is given back: no worker died, and the outcome is not unknown.
  expect(await stopped.stop()).toEqual({ code: 0, signal: null });
  const before = server.asked.length;
  await installation.start('worker');
  await untilAsked(['again', 'unwanted'], before);
  server.says('again', completed('of the second call'));
  server.onCancel({ status: 'cancelled' });
  await post(`${url}/v1/requests/${requestId}/directives/unwanted/cancel`, {});
  await untilClosed(url, requestId);

  const results = await auditRequest(url, requestId, labels);
  expect(labels.map((label) => [label, outcome(results.get(label))])).toEqual([
    ['done', 'ok'],
    ['broken', 'tool_error'],
    ['forgotten', 'outcome_unknown'],
    ['again', 'ok'],
    ['unwanted', 'cancelled'],
  ]);
  expect(results.get('done')?.data).toMatchObject({
    result: { payload: 'of the first call' },
    metadata: { redeliveries: 1 },
  });
  expect(results.get('again')?.data).toMatchObject({ result: { payload: 'of the second call' } });
  expect(server.ran.toSorted()).toEqual([...labels, 'again'].toSorted());
  expect(server.asked).toContain('tasks/cancel unwanted');
});

test.concurrent('the tasks of calls that ended while no worker was there are cancelled by the next one', async ({
  expect,
}) => {
  await using server = await startTaskServer();
  await using installation = await install({
    config: { mcpServers: { tasks: { url: server.url } }, worker: { lease_ms: 1_500, drain_ms: 100 } },
  });
  const [{ url }, killed] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const requestId = 'left';
  const labels = ['marked', 'cancelled', 'late'];
  const directives = labels.map((label) => ({
    type: 'tool_exec',
    id: label,
    request_id: requestId,
    tool_name: 'tasks.work',
    arguments: { label },
    ...(label === 'late' ? { deadline_ms: 6_000 } : {}),
  }));
  const cancel = async (label: string): Promise<string | undefined> => {
    const path = `/v1/requests/${requestId}/directives/${label}/cancel`;
    const { body } = await post<{ directives: { status: string }[] }>(url + path, {});
    return body.directives[0]?.status;
  };

  expect((await post(`${url}/v1/directives`, { directives })).status).toBe(202);
  await server.until(() => labels.every((label) => server.asked.includes(`tasks/get ${label}`)));
  await killed.kill9();
  await cancel('marked');
  // At once, since its lease is over; the first one has its end from the next worker.
  await expect.poll(async () => cancel('cancelled')).toBe('cancelled');
  const late = async () =>
    (await get<{ status: string }>(`${url}/v1/requests/${requestId}/directives/late`)).body.status;
  await expect.poll(late).toBe('failed');
  expect(server.asked.filter((each) => each.startsWith('tasks/cancel'))).toEqual([]);

  await installation.start('worker');
  await server.until(() => labels.every((label) => server.asked.includes(`tasks/cancel ${label}`)));
  await untilClosed(url, requestId);
  const results = await auditRequest(url, requestId, labels);
  expect(labels.map((label) => outcome(results.get(label)))).toEqual([
    'cancelled',
    'cancelled',
    'deadline_exceeded',
  ]);
  expect(server.ran.toSorted()).toEqual(labels.toSorted());
});
