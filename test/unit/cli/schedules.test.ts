/** `adjutant schedule show`: the instant on the clocks that are meant, and how each request stands.
 *  It must not need a service. */
import { expect, test } from 'vitest';
import { showSchedule } from '../../../src/cli/commands/schedules.ts';
import type { Invocation } from '../../../src/cli/invocation.ts';
import { zonedText, table } from '../../../src/cli/table.ts';

const firing = (day: number, request: string | null): object => ({
  scheduled_at: `2026-11-2${day}T06:00:00.000Z`,
  outcome: request === null ? 'skipped' : 'fired',
  instants: 1,
  request_id: request,
  reason: null,
});

const SHOWN = {
  id: 'nightly',
  status: 'active',
  cron: '0 7 * * *',
  time_zone: 'Europe/Berlin',
  every_ms: null,
  next_at: '2026-11-24T06:00:00.000Z',
  overlap: 'skip',
  jitter_ms: 5_000,
  catch_up_ms: 3_600_000,
  starts_at: null,
  ends_at: '2027-01-01T00:00:00.000Z',
  edited_at: null,
  paused: null,
  waiting: null,
  fires_as: null,
  template: {},
  history: [
    firing(3, 'schedule.nightly.c'),
    firing(2, null),
    firing(1, 'schedule.nightly.a'),
    firing(0, 'once.x'),
  ],
};

async function printed(requests: (query: object) => Promise<unknown>): Promise<string> {
  const lines: string[] = [];
  const client = { requests, schedules: { get: async () => SHOWN } };
  const rows = (cells: string[][]): unknown => lines.push(...table(cells));
  const terminal = { out: (line: string) => lines.push(line), rows };
  await showSchedule({ client, terminal, json: false } as unknown as Invocation, 'nightly');
  return lines.join('\n');
}

test('each firing says how its request stands, where the list of requests has it', async () => {
  const asked: object[] = [];
  const text = await printed(async (query) => {
    asked.push(query);
    return { requests: [{ request_id: 'schedule.nightly.a', status: 'failed' }] };
  });
  expect(asked).toEqual([{ q: 'schedule.nightly.', since: '2026-11-20T05:59:00.000Z', limit: 200 }]);
  expect(text).toContain('2026-11-24 06:00:00 UTC (2026-11-24 07:00:00 in Europe/Berlin)');
  expect(text).toMatch(/jitter +up to 5s\ncatch up +1h\nends +2027-01-01 00:00:00 UTC\n/);
  expect(text).toMatch(/11-21 06:00:00 +fired +failed +schedule\.nightly\.a/);
  expect(text).toMatch(/11-23 06:00:00 +fired +- +schedule\.nightly\.c/);
});

test('a list of requests that does not answer takes nothing away', async () => {
  const text = await printed(async () => Promise.reject(new Error('away')));
  expect(text).toMatch(/11-21 06:00:00 +fired +- +schedule\.nightly\.a/);
});

test('a zone that this machine does not know is left out, as is UTC', () => {
  expect(zonedText('2026-11-24T06:00:00Z', 'Mars/Olympus')).toBeNull();
  expect(zonedText('2026-11-24T06:00:00Z', 'UTC')).toBeNull();
});
