/** A worker that dies in the middle of fifty streams: another one calls the model again, and each is answered once.
 *  It must not warn the worker. */
import { expect, test } from 'vitest';
import type { SignalPage } from '../../src/contract/signal/signal-page.ts';
import { install } from '../support/installation.ts';
import { startMockProvider } from '../support/mock-provider.ts';
import { get, post, untilClosed } from '../support/public-api.ts';
import { auditStreams, numberedAnswers, streamOf, wholeLog } from '../support/streams.ts';

const STREAMS = 50;
const REQUEST = 'stream-killed';

/** Whether the log has that many signals. */
async function isSaid(url: string, count: number): Promise<boolean> {
  const { body } = await get<SignalPage>(`${url}/v1/requests/${REQUEST}/signals?limit=1&after=${count - 1}`);
  return body.signals.length > 0;
}

test('kill -9 of a worker in the middle of 50 streams', { timeout: 300_000 }, async () => {
  // Each takes twelve seconds, so that many are under way when the signal arrives, on a busy machine too.
  const answers = numberedAnswers(STREAMS, { words: 100, paceMs: 100 });
  await using provider = await startMockProvider(answers);
  await using installation = await install({
    config: {
      providers: { mock: { type: 'openai-compatible', base_url: provider.url } },
      // A worker that waits longer for a processor than its lease lasts is overtaken, which counts as one that died.
      worker: { lease_ms: 5_000 },
    },
  });
  const [{ url }, victim] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const directives = answers.map(({ prompt }) => streamOf(prompt, REQUEST));
  expect((await post(`${url}/v1/directives`, { directives })).status).toBe(202);
  // Not by following the signals: on a busy machine a follower sees the first words when the answers are over.
  await expect.poll(async () => provider.asked()).toBe(STREAMS);
  await expect.poll(async () => isSaid(url, 3 * STREAMS)).toBe(true);
  await victim.kill9();
  const saidBefore = await wholeLog(url, REQUEST);
  await installation.start('worker');
  await untilClosed(url, REQUEST);

  const log = await wholeLog(url, REQUEST);
  expect(log.slice(0, saidBefore.length)).toEqual(saidBefore);
  const responses = auditStreams(log, answers);
  const ended = saidBefore.filter(({ type }) => type === 'ai.llm.response').length;
  const again = [...responses.values()].filter(({ data }) => data.metadata['redeliveries'] !== undefined);
  expect(again).toHaveLength(STREAMS - ended);
  expect(again.length).toBeGreaterThan(STREAMS / 10);
  const redeliveries = again.map(({ attempt, data }) => {
    const count = Number(data.metadata['redeliveries']);
    expect(attempt).toBe(count + 1);
    return count;
  });
  expect(await provider.asked()).toBe(STREAMS + redeliveries.reduce((sum, count) => sum + count, 0));
  // Tokens are reported once for each answer, however often the model was called.
  expect(log.filter(({ type }) => type === 'ai.usage')).toHaveLength(STREAMS);
});
