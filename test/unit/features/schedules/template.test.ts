/** What a firing submits: under which id, or under a key which name.
 *  It must not need a service. */
import { expect, test } from 'vitest';
import type { Schedule } from '../../../../src/features/schedules/schedule-record.ts';
import { sent } from '../../../../src/features/schedules/sending.ts';
import { submittedAs } from '../../../../src/features/schedules/template.ts';

const scheduleOf = (template: object) =>
  ({ id: 'nightly', template, spec: { ...template } }) as never as Schedule;

test('a run under a key is named by the instant, and its request by the service', async () => {
  const run = { agent: 'a', query: 'q' };
  const singleton = { key: 'k' };
  const started: unknown[] = [];
  const runs = {
    start: async (...given: unknown[]) => {
      started.push(given);
      return { request_id: 'once.k.1' };
    },
  };
  const client = { runs } as never;
  const fire = async (template: object) =>
    sent(client, submittedAs(scheduleOf(template), 'schedule.nightly.1'), undefined);
  expect(await fire({ run: { ...run, singleton } })).toEqual({ requestId: 'once.k.1', isRepeat: true });
  await fire({ run });
  const metadata = { schedule: 'nightly' };
  expect(started).toEqual([
    [{ ...run, singleton, metadata }, { idempotencyKey: 'schedule.nightly.1' }],
    [{ ...run, request_id: 'schedule.nightly.1', metadata }, {}],
  ]);
});
