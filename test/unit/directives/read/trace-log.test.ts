/** What a trace takes from a log: names, errors, waits; no text of a user, a model or a tool.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { readLogFacts } from '../../../../src/directives/read/trace-log.ts';

const SECRET = 'what nobody but the parties should read';

function signal(sequence: number, type: string, data: object, more: object = {}): Signal {
  return {
    sequence,
    type,
    time: '2026-03-01T10:00:00.000Z',
    subject: 'r',
    data,
    ...more,
  } as unknown as Signal;
}

/** A log that gives `size` signals at once. */
function logOf(signals: readonly Signal[], size = 2): Parameters<typeof readLogFacts>[0] {
  return {
    read: async (_, after) => {
      const rest = signals.filter(({ sequence }) => sequence > after);
      return { signals: rest.slice(0, size), more: rest.length > size };
    },
  };
}

const failed = { ok: false, error: { type: 'timeout', message: SECRET, details: {}, retryable: true } };

test('tools, models, errors and waits are noted, piece by piece', async () => {
  const until = '2026-03-01T10:01:00.000Z';
  const facts = await readLogFacts(
    logOf([
      signal(1, 'ai.tool.started', { call_id: 'a', tool_name: 'files.read', arguments: { text: SECRET } }),
      signal(
        2,
        'directive.retry_scheduled',
        { call_id: 'a', error: failed.error, metadata: {} },
        { attempt: 1 },
      ),
      signal(3, 'directive.waiting', { call_id: 'a', message: 'it waits', until }),
      signal(4, 'ai.tool.result', { call_id: 'a', tool_name: 'files.read', result: failed, metadata: {} }),
      signal(5, 'ai.llm.delta', { call_id: 'b', delta: SECRET }),
      signal(6, 'ai.llm.response', {
        call_id: 'b',
        result: { ok: true, payload: SECRET },
        metadata: { model: 'p:m' },
      }),
      signal(7, 'agent.child.started', { tag: 'help', child_request_id: 'r.c1' }),
      signal(8, 'ai.request.input', { input_id: 'i1', content: SECRET }),
      signal(9, 'my.own.signal', { anything: SECRET }),
    ]),
    'r',
  );
  expect(facts.read).toBe(9);
  expect([...facts.tools]).toEqual([['a', 'files.read']]);
  expect([...facts.ends]).toEqual([
    ['a', { error: 'timeout', model: null }],
    ['b', { error: null, model: 'p:m' }],
  ]);
  expect([...facts.retries]).toEqual([['a/1', { error: 'timeout', model: null }]]);
  expect([...facts.children]).toEqual([['r.c1', 7]]);
  expect(facts.events.map(({ type, callId, message, until: to }) => [type, callId, message, to])).toEqual([
    ['directive.waiting', 'a', 'it waits', until],
    ['ai.request.input', null, 'i1', null],
  ]);
  expect(JSON.stringify([facts.events, [...facts.ends], [...facts.retries]])).not.toContain(SECRET);
});

test('of a log without end so much is read, and no more', async () => {
  let reads = 0;
  const facts = await readLogFacts(
    {
      read: async (_, after) => {
        reads += 1;
        return { signals: [signal(after + 1, 'ai.llm.delta', {})], more: true };
      },
    },
    'r',
  );
  expect(reads).toBe(16);
  expect(facts.read).toBe(16);
});

test('events beyond the most that are kept are counted', async () => {
  const waits = Array.from({ length: 2_050 }, (_, index) =>
    signal(index + 1, 'directive.waiting', { call_id: 'a', message: 'm', until: null }),
  );
  const facts = await readLogFacts(logOf(waits, 1_000), 'r');
  expect([facts.events.length, facts.eventsLeftOut]).toEqual([2_000, 50]);
});
