/** A schedule of each second under kills: of three processes that fire, again and again, and of Redis.
 *  It must compute the instants itself, and count the requests from outside. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { untilHolds } from '../support/eventually.ts';
import { type AdjutantProcess, install } from '../support/installation.ts';

const SECOND = 1_000;
/** Of the first schedule: it is changed long before its end, on a busy machine too. */
const SECONDS = 60;
const ENDS = { type: 'emit_tool_error', tool_name: 'a.b', error: 'x', metadata: { tags: ['each-second'] } };

function everySecond(from: number, until: number): number[] {
  const count = Math.max(0, Math.floor((until - from) / SECOND) + 1);
  return Array.from({ length: count }, (_, nth) => from + nth * SECOND);
}

test('each instant has one request and one entry, whoever is killed and whatever is changed', async () => {
  await using installation = await install({ redis: { appendonly: true } });
  const api = await installation.start('api');
  const others = await Promise.all([installation.start('engine'), installation.start('engine')]);
  const client = createHttpClient({ baseUrl: api.url });
  const ends_at = new Date(Math.ceil(Date.now() / SECOND) * SECOND + SECONDS * SECOND).toISOString();
  const { next_at: first } = await client.schedules.create({
    id: 's',
    cron: '* * * * * *',
    ends_at,
    overlap: 'allow',
    directives: [ENDS],
  });
  const fired = async (count: number): Promise<void> => {
    const read = async () => (await client.schedules.get('s')).counts.fired;
    await untilHolds(async () => expect(await read()).toBeGreaterThanOrEqual(count));
  };
  const replaced = async (killed: AdjutantProcess): Promise<AdjutantProcess> => {
    await killed.kill9();
    return installation.start('engine');
  };
  await fired(1);
  const second = await replaced(others[0]);
  await installation.redis.kill9();
  await installation.redis.restart();
  await fired(3);
  const { version } = await client.schedules.get('s');
  const changed_ends = new Date(Math.ceil(Date.now() / SECOND) * SECOND + 4 * SECOND).toISOString();
  const changed = await client.schedules.replace('s', {
    version,
    cron: '*/2 * * * * *',
    ends_at: changed_ends,
    overlap: 'allow',
    directives: [{ ...ENDS, error: 'changed' }],
  });
  await Promise.all([others[1].kill9(), second.kill9(), api.kill9()]);
  // Nobody is there for some instants, until the API is.
  const back = createHttpClient({ baseUrl: (await installation.start('api')).url });
  const over = async (): Promise<void> => expect((await back.schedules.get('s')).status).toBe('ended');
  await untilHolds(over);
  const { history, counts } = await back.schedules.get('s');
  const [from, edited] = [Date.parse(first ?? ''), Date.parse(changed.edited_at ?? '')];
  const before = everySecond(from, Math.min(edited, Date.parse(ends_at)));
  const after = everySecond(Math.floor(edited / SECOND + 1) * SECOND, Date.parse(changed_ends)).filter(
    (at) => at % (2 * SECOND) === 0,
  );
  const instants = [...before, ...after];
  expect(history.map(({ scheduled_at }) => Date.parse(scheduled_at)).toReversed()).toEqual(instants);
  expect(counts).toEqual({ fired: instants.length, triggered: 0, skipped: 0, failed: 0, missed: 0 });
  expect(after.length).toBeGreaterThan(0);
  const { request_id: last } = history[0] ?? {};
  expect(JSON.stringify(await back.directive(last ?? '', 'd1'))).toContain('"changed"');
  const ids = new Set(history.map(({ request_id }) => request_id));
  const listed = async () =>
    (await back.requests({ tag: 'each-second' })).requests.map(({ request_id }) => request_id);
  // The note of one whose process was killed just then is made again whenever the sweeper looks: after a minute at most.
  await untilHolds(async () => expect(new Set(await listed())).toEqual(ids));
});
