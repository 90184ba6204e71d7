/** What `adjutant schedule update` sends: what is given, and the rest as it was.
 *  It must not need a service. */
import { expect, test } from 'vitest';
import { changedContent, templateIn } from '../../../../src/cli/options/schedule-content.ts';
import type { ScheduleView } from '../../../../src/contract/schedule/schedule.ts';
import { listedSchedule } from '../../../support/listed-schedule.ts';

const CALL = { id: 'd1', type: 'tool_exec', tool_name: 'a.b', arguments: { x: 1 } };

const shown = (more: Partial<ScheduleView> = {}): ScheduleView => ({
  ...listedSchedule({ jitter_ms: 5_000, overlap: 'queue_one', catch_up_ms: 60_000 }),
  ...CRON,
  template: { directives: [CALL] },
  history: [],
  ...more,
});

const KEPT = { version: 'v1', jitter_ms: 5_000, overlap: 'queue_one', catch_up_ms: 60_000 };
const CRON = { cron: '30 2 * * *', time_zone: 'Europe/Berlin', ends_at: '2027-01-01T00:00:00Z' };

test('the rest is as it was', async () => {
  const changed = await changedContent(shown(), { overlap: 'allow' });
  expect(changed).toEqual({ ...KEPT, ...CRON, overlap: 'allow', directives: [CALL] });
});

test('an interval takes the place of an expression and its zone, `none` that of an end', async () => {
  const changed = await changedContent(shown(), { every: 60_000, ends: 'none' });
  expect(changed).toEqual({ ...KEPT, every_ms: 60_000, directives: [CALL] });
  const back = await changedContent(shown({ cron: null, time_zone: null, every_ms: 1_000, ends_at: null }), {
    cron: '* * * * *',
  });
  expect(back).toEqual({ ...KEPT, cron: '* * * * *', directives: [CALL] });
});

test('arguments alone are those of its call, a query alone is that of its run', async () => {
  const { directives } = await changedContent(shown(), { arguments: '{"x":2}' });
  expect(directives).toEqual([{ ...CALL, arguments: { x: 2 } }]);
  const other = await changedContent(shown(), { tool: 'a.c' });
  expect(other.directives).toEqual([{ ...CALL, tool_name: 'a.c' }]);
  const run = { agent: 'clerk', messages: [{ role: 'user', content: 'before' }] };
  const asked = await changedContent(shown({ template: { run } }), { query: 'now?' });
  expect(asked.run).toEqual({ agent: 'clerk', query: 'now?' });
  const called = await changedContent(shown({ template: { run } }), { tool: 'a.c' });
  expect(called.run).toBe(undefined);
  expect(called.directives).toEqual([{ type: 'tool_exec', tool_name: 'a.c' }]);
});

test.each([
  [{}, 'Nothing is to change.'],
  [{ cron: '* * * * *', every: 1_000 }, 'When it fires is not clear.'],
  [{ query: 'x' }, '--query is what a run is asked.'],
  [{ file: '/dev/null' }, 'The contents of /dev/null are not JSON'],
])('%o is refused', async (options, message) => {
  await expect(changedContent(shown(), options)).rejects.toThrow(message);
});

test('another agent alone keeps what the run is asked, and a query alone is for the agent default', async () => {
  const run = { agent: 'clerk', query: 'now?' };
  const changed = await changedContent(shown({ template: { run } }), { agent: 'cook' });
  expect(changed.run).toEqual({ agent: 'cook', query: 'now?' });
  expect(await templateIn({ query: 'now?' })).toEqual({ run: { agent: 'default', query: 'now?' } });
  await expect(templateIn({ query: 'now?', tool: 'a.b' })).rejects.toThrow('not clear');
  await expect(templateIn({})).rejects.toThrow('not clear');
});
