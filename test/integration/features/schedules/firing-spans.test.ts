/** The spans of a schedule: of what it fires, and of what it does not fire.
 *  It must never need a collector: spans are kept as they are reported. */
import { expect, test } from 'vitest';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { createFiringLoop, type FiringLoopParts } from '../../../../src/features/schedules/firing-loop.ts';
import type { SpanRecord } from '../../../../src/platform/telemetry/traces/span.ts';
import { NO_SPANS, type Spans } from '../../../../src/platform/telemetry/traces/spans.ts';
import { traceContext } from '../../../../src/platform/telemetry/traces/trace-context.ts';
import { dying, INSTANTS, overdueSchedule } from '../../../support/overdue-schedule.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

/** Every trace is recorded, and nobody is above the span of a firing. */
function keptSpans() {
  const kept: SpanRecord[] = [];
  const begun: SpanRecord[] = [];
  const spans: Spans = {
    ...NO_SPANS,
    under: (traceparent) => ({ traceId: traceContext(traceparent).traceId, spanId: null }),
    begin: (span) => void begun.push(span),
    report: (span) => void kept.push(span),
    now: () => Date.now(),
  };
  return { spans, kept, begun };
}

const ids = (spans: readonly SpanRecord[]): string[] =>
  spans.map(({ place }) => `${place.traceId}/${place.spanId}`);

test('each firing is the first span of its trace, which what it submits continues', async () => {
  await using it = await overdueSchedule(redis.url, 'allow');
  const { spans, kept, begun } = keptSpans();
  const contexts: (string | undefined)[] = [];
  const { client } = it;
  const noting: typeof client.submit = async (directives, options) => {
    contexts.push(options?.traceparent);
    return client.submit(directives, options);
  };
  const clientOf = () => ({ ...client, submit: noting });
  await createFiringLoop({ ...it.parts, clientOf, spans }).fireDue();
  expect(kept).toHaveLength(INSTANTS);
  expect(new Set(ids(kept)).size).toBe(INSTANTS);
  expect(ids(begun)).toEqual(ids(kept));
  expect(contexts).toEqual(kept.map(({ place }) => `00-${place.traceId}-${place.spanId}-01`));
  const { history } = await client.schedules.get('s');
  expect(kept).toMatchObject(
    history.toReversed().map(({ scheduled_at, request_id }) => ({
      name: 'fire s',
      kind: 'internal',
      error: null,
      place: { parentId: null },
      attributes: {
        'adjutant.schedule.id': 's',
        'adjutant.schedule.instant': scheduled_at,
        'adjutant.schedule.outcome': 'fired',
        'adjutant.request.id': request_id,
      },
    })),
  );
});

test('a firing that another process repeats has the same span, and one that it finds done has no second one', async () => {
  await using it = await overdueSchedule(redis.url, 'allow');
  const { mortal, dead } = dying(1, 'after');
  const first = keptSpans();
  const dies: FiringLoopParts = {
    ...it.parts,
    spans: first.spans,
    clientOf: () => ({ ...it.client, submit: mortal(it.client.submit) }),
  };
  await Promise.race([dead, createFiringLoop(dies).fireDue()]);
  const second = keptSpans();
  await it.makeDue();
  await createFiringLoop({ ...it.parts, spans: second.spans }).fireDue();
  // The note that the first process has left says the span of what it has submitted.
  expect(first.kept).toEqual([]);
  expect(first.begun).toHaveLength(1);
  expect(second.kept).toHaveLength(INSTANTS - 1);
  expect(ids(second.kept)).not.toContain(ids(first.begun)[0]);
  await using again = await overdueSchedule(redis.url, 'allow');
  const refuse = {
    ...again.parts,
    clientOf: () => ({ ...again.client, submit: mortal(again.client.submit) }),
  };
  const third = keptSpans();
  void createFiringLoop({ ...refuse, spans: third.spans }).fireDue();
  await expect.poll(() => third.begun.length).toBe(1);
  const fourth = keptSpans();
  await again.makeDue();
  await createFiringLoop({ ...again.parts, spans: fourth.spans }).fireDue();
  expect(ids(fourth.kept)[0]).toBe(ids(third.begun)[0]);
});

test.each([
  ['refused', { code: 'not_found', outcome: 'failed', spans: INSTANTS }],
  ['skipped', { code: null, outcome: 'skipped', spans: INSTANTS }],
  ['missed', { code: 'missed', outcome: 'missed', spans: 1 }],
])('what is %s has a span with the reason', async (what, { code, outcome, spans: count }) => {
  await using it = await overdueSchedule(redis.url, 'skip');
  const { spans, kept } = keptSpans();
  const refusal = new DirectiveRefused(problem('not_found', { detail: 'there is no agent' }));
  const more: Partial<FiringLoopParts> =
    what === 'refused'
      ? { clientOf: () => ({ ...it.client, submit: async () => Promise.reject(refusal) }) }
      : what === 'missed'
        ? { closedMs: () => 1 }
        : { statusOf: async (id) => (id.endsWith('.trigger.k') ? 'open' : 'none') };
  if (what === 'skipped') await it.client.schedules.trigger('s', { key: 'k' });
  await createFiringLoop({ ...it.parts, ...more, spans }).fireDue();
  expect(kept).toHaveLength(count);
  const { last } = (await it.client.schedules.list()).schedules[0] ?? {};
  expect(kept.at(-1)).toMatchObject({
    name: 'fire s',
    error: code,
    attributes: { 'adjutant.schedule.outcome': outcome, 'adjutant.reason': last?.reason },
  });
  const instants = kept[0]?.attributes['adjutant.schedule.instants'];
  expect(instants).toBe(what === 'missed' ? INSTANTS : undefined);
  expect(kept[0]?.attributes['adjutant.schedule.instant']).toBe(new Date(it.first).toISOString());
});
