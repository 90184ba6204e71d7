/** The text of a model while it answers, on a real Redis: whole, in order, and separate for each attempt.
 *  It must never count pieces: the number of signals depends on how fast Redis answers. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText } from '../../../src/contract/json/plain-text.ts';
import { okResult } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { ExecutionContext, ToolCallDelta } from '../../../src/worker/executors/definition.ts';
import { anyCharacter } from '../../support/any-character.ts';
import { ask, LANES, openChain, startModels } from '../../support/model-pipeline.ts';
import { type Pipeline } from '../../support/pipeline.ts';
import { aborted, fails, gate } from '../../support/executors.ts';
import { startRedis } from '../../support/redis.ts';
import { eachTest, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = eachTest(() => openChain(redis.url));

type Delta = Extract<Signal, { type: 'ai.llm.delta' }>;

function say(
  { report }: ExecutionContext,
  text: string,
  chunk_type: 'content' | 'thinking' = 'content',
): void {
  report('ai.llm.delta', { call_id: 'm', delta: text, chunk_type, metadata: {} });
}

async function deltasOf(requestId: string, from: Pick<Pipeline, 'log'> = open): Promise<Delta[]> {
  return (await from.log(requestId)).filter((signal): signal is Delta => signal.type === 'ai.llm.delta');
}

const textOf = (deltas: readonly Delta[], kind: Delta['data']['chunk_type'] = 'content'): string =>
  deltas
    .filter(({ data }) => data.chunk_type === kind)
    .map(({ data }) => (kind === 'tool_call' ? (data.delta as ToolCallDelta).arguments : String(data.delta)))
    .join('');

const numbersOf = (deltas: readonly Delta[]): (number | undefined)[] => deltas.map(({ data }) => data.seq);

test('any text at any speed is in the log as in the answer', async () => {
  const pieces = fc.array(
    fc.record({
      kind: fc.constantFrom('content', 'thinking', 'tool_call'),
      text: fc.oneof(
        fc.string({ unit: anyCharacter, maxLength: 30 }),
        fc.string({ unit: fc.constantFrom('\u001b', '"', '\\', '\n', '😀', '\ud83d', '\ude00', 'ä') }),
        fc.integer({ min: 1, max: 40_000 }).map((length) => 'é😀'.repeat(length)),
      ),
      wait: fc.nat({ max: 3 }),
    }),
    { maxLength: 40 },
  );
  let drawn: { kind: string; text: string; wait: number }[] = [];
  await startModels(open, async (_directive, context) => {
    const whole = { content: '', thinking: '', tool_call: '' };
    for (const { kind, text, wait } of drawn) {
      if (kind === 'tool_call') {
        const delta: ToolCallDelta = { index: 0, id: 'c', name: 'n', arguments: text };
        context.report('ai.llm.delta', { call_id: 'm', delta, chunk_type: 'tool_call', metadata: {} });
        whole.tool_call += text;
      } else {
        say(context, text, kind as 'content');
        whole[kind as 'content'] += plainText(text);
      }
      for (let turn = 1; turn < wait; turn += 1) await open.connection.ping();
      if (wait > 0) await context.drained();
    }
    return { result: okResult(whole) };
  });
  await fc.assert(
    fc.asyncProperty(pieces, async (next) => {
      drawn = next;
      const directive = ask();
      const signal = await open.client.execute(directive);
      const deltas = await deltasOf(directive.request_id);
      const folded = Object.fromEntries(
        (['content', 'thinking', 'tool_call'] as const).map((kind) => [kind, textOf(deltas, kind)]),
      );
      expect(signal.data).toMatchObject({ result: { payload: folded } });
      expect(numbersOf(deltas)).toEqual(deltas.map((_, position) => position));
      expect(signal.sequence).toBe(deltas.length + 1);
    }),
    { numRuns: 25 },
  );
});

describe('text of a failed attempt', () => {
  test('is told apart from that of the next by its number, with the failure in between', async () => {
    await startModels(open, async (_directive, context) => {
      for (const piece of ['one ', 'two ']) say(context, piece);
      if (context.attempt === 1) return fails('network');
      say(context, 'three');
      return { result: okResult('one two three') };
    });
    const directive = ask({ max_retries: 1 });
    await open.client.execute(directive);
    const deltas = await deltasOf(directive.request_id);
    const of = (attempt: number): Delta[] => deltas.filter((signal) => signal.attempt === attempt);
    expect([textOf(of(1)), textOf(of(2))]).toEqual(['one two ', 'one two three']);
    expect(numbersOf(of(2))).toEqual(of(2).map((_, position) => position));
    const log = await open.log(directive.request_id);
    const failed = log.find(({ type }) => type === 'directive.retry_scheduled');
    expect(failed).toMatchObject({ attempt: 1, data: { failures: 1 } });
    expect(log.filter(({ sequence }) => sequence < (failed?.sequence ?? 0))).toEqual(of(1));
  });

  test('is told apart from that of the next when its worker was stopped, which counts no failure', async () => {
    const said = gate();
    const first = await startModels(
      open,
      async (_directive, context) => {
        say(context, 'one ');
        await expect.poll(async () => (await deltasOf(directive.request_id)).length).toBe(1);
        said.open();
        await aborted(context);
        return { ...fails('cancelled'), ambiguous: true };
      },
      LANES,
      { drainMs: 0 },
    );
    const directive = ask();
    const ending = open.client.execute(directive);
    await said.passed;
    await first.stop();
    await startModels(open, async (_directive, context) => {
      say(context, 'one two');
      return { result: okResult('one two') };
    });
    expect(await ending).toMatchObject({ attempt: 2, data: { metadata: { attempts: 2 } } });
    const deltas = await deltasOf(directive.request_id);
    expect(deltas.map(({ attempt, data }) => [attempt, data.seq, data.delta])).toEqual([
      [1, 0, 'one '],
      [2, 0, 'one two'],
    ]);
    expect(await open.client.directive(directive.request_id, 'm')).toMatchObject({
      failures: 0,
      redeliveries: 0,
    });
  });
});

test('a Redis that is killed under a stream and comes back has the whole text, in order', async () => {
  await using own = await startRedis({ appendonly: true, appendfsync: 'always' });
  await using open = await openChain(own.url);
  const [halfway, back] = [gate(), gate()];
  let text = '';
  await startModels(open, async (_directive, context) => {
    for (let word = 0; word < 400; word += 1) {
      say(context, `${word} `);
      text += `${word} `;
      if (word < 200) await open.connection.ping();
      if (word === 200) halfway.open();
      if (word === 300) await back.passed;
    }
    return { result: okResult(text) };
  });
  const directive = ask();
  await open.client.submit(directive);
  await halfway.passed;
  await own.kill9();
  await own.restart();
  back.open();
  const signal = await open.client.result(directive.request_id, 'm');
  expect(signal?.data).toMatchObject({ result: { ok: true } });
  const deltas = await deltasOf(directive.request_id, open);
  const last = deltas.filter(({ attempt }) => attempt === signal?.attempt);
  expect(textOf(last)).toBe(text);
  expect(numbersOf(last)).toEqual(last.map((_, position) => position));
});

test('an attempt whose directive was ended elsewhere learns of it when it reports something', async () => {
  const directive = ask();
  const stopped: unknown[] = [];
  await startModels(open, async (_directive, context) => {
    const [state] = open.keys.request(directive.request_id);
    await open.connection.hset(state, 'm|status', 'failed');
    say(context, 'text');
    await aborted(context);
    stopped.push(context.signal.reason);
    await context.drained();
    return { result: okResult('text') };
  });
  await open.client.submit(directive);
  await expect.poll(() => stopped).toMatchObject([{ message: 'lost' }]);
  expect(await deltasOf(directive.request_id)).toEqual([]);
});
