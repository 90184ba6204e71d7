/** Long calls of MCP clients while processes are killed: held ones are rejoined, tasks are fetched, nothing runs twice by itself.
 *  It must not look into the service: requests, answers, and what the tools have recorded. */
import { expect, test } from 'vitest';
import { eventually, untilListed } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { openHost, openTaskHost, textOf } from '../support/mcp-clients.ts';
import { askModern, type ModernAnswer } from '../support/modern-requests.ts';
import { freePort } from '../support/process.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const HOLD_MS = 300;

test('the API is killed between call and answer, then the worker: the held call and the tasks are fetched', async () => {
  await using installation = await install({
    config: { limits: { mcp_hold_ms: HOLD_MS }, worker: { lease_ms: 1_500 } },
  });
  const port = await freePort();
  const [api, worker] = await Promise.all([installation.start('api', port), installation.start('worker')]);
  const url = `${api.url}/mcp`;
  await untilListed(api.url, 'counting.once');

  const ask = async (tool: string, label: string, delay_ms: number, more = {}, extensions: string[] = []) =>
    askModern(url, {
      method: 'tools/call',
      name: `counting__${tool}`,
      params: { name: `counting__${tool}`, arguments: { label, delay_ms }, ...more },
      extensions,
    });
  const task = async (method: 'tasks/get' | 'tasks/cancel', taskId: unknown, extensions = [TASKS]) =>
    askModern(url, { method, name: String(taskId), params: { taskId }, extensions });
  const countOf = (label: string): number =>
    installation.executions().filter((execution) => execution.label === label).length;

  // A client that knows neither tasks nor state comes back by itself.
  await using host = await openHost('modern', url);
  expect(textOf(await host.call('counting__once', { label: 'patient', delay_ms: 3 * HOLD_MS }))).toContain(
    'patient',
  );
  expect(countOf('patient')).toBe(1);

  const [held, doomed]: ModernAnswer[] = await Promise.all([
    ask('once', 'held', 2_000),
    ask('once', 'doomed', 60_000, {}, [TASKS]),
  ]);
  expect(held?.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
  await installation.untilExecuted((all) => all.some(({ label }) => label === 'held'));
  await api.kill9();
  const second = await installation.start('api', port);

  const requestState = held?.result?.['requestState'];
  const rejoined = async (state: unknown, tool = 'once') => ask(tool, 'held', 4_000, { requestState: state });
  await eventually(async () => (await rejoined(requestState)).result).toMatchObject({
    resultType: 'complete',
    content: [{ text: expect.stringContaining('"execution":1') }],
  });
  expect(countOf('held'), 'it ran once').toBe(1);
  expect((await rejoined(`${String(requestState)}x`)).error?.code, 'a broken seal').toBe(-32_602);
  expect((await rejoined(requestState, 'read')).error?.code, 'another tool').toBe(-32_602);

  const doomedId = doomed?.result?.['taskId'];
  expect((await task('tasks/get', doomedId)).result).toMatchObject({ status: 'working' });
  expect((await task('tasks/get', 'made-up')).error?.code).toBe(-32_602);
  expect((await task('tasks/get', doomedId, [])).error?.code, 'not declared').toBe(-32_021);
  expect((await task('tasks/cancel', doomedId)).error).toBeUndefined();
  await eventually(async () => (await task('tasks/get', doomedId)).result).toMatchObject({
    status: 'cancelled',
  });

  const before = await openTaskHost(url);
  const taskId = await before.begin('counting__idempotent', { label: 'task', delay_ms: 2_500 });
  expect(await before.task(taskId)).toMatchObject({ status: 'working' });
  // It is working from its acceptance on, also before a worker has called the tool.
  await installation.untilExecuted((all) => all.some(({ label }) => label === 'task'));
  await Promise.all([worker.kill9(), second.kill9()]);
  await before[Symbol.asyncDispose]();
  await Promise.all([installation.start('worker'), installation.start('api', port)]);
  await using after = await openTaskHost(url);
  await eventually(async () => after.task(taskId)).toMatchObject({
    status: 'completed',
    result: { content: [{ text: expect.stringContaining('"execution":2') }] },
  });
});
