/** Readers of an answer while it is written, cut and resumed; a cancellation that reaches the provider.
 *  It must not use a client that reconnects by itself. */
import { beforeAll, expect, test } from 'vitest';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { install } from '../support/installation.ts';
import { startMockProvider } from '../support/mock-provider.ts';
import { startProvider, STREAM_HEAD } from '../support/provider-server.ts';
import { follow, type Frame, frames, post, untilClosed } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';
import { auditStreams, type Delta, numberedAnswers, streamOf, wholeLog } from '../support/streams.ts';

/** Lengths of connections in turn, cut within a frame as well as between two. */
const CUTS = [1, 2_000, 5_003, 900];

const answers = numberedAnswers(1, { words: 150, paceMs: 10, pieceLength: 4 });
const paced = shared(async () => startMockProvider(answers));
/** Writes two pieces and never ends. */
const endless = shared(async () =>
  startProvider(async (response) => {
    response.writeHead(200, STREAM_HEAD);
    for (const content of ['one ', 'two ']) {
      const choices = [{ index: 0, delta: { role: 'assistant', content }, finish_reason: null }];
      const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
  }),
);
const installation = shared(async () => {
  const provider = (base_url: string) => ({ type: 'openai-compatible', base_url });
  return install({
    config: { providers: { mock: provider(paced.url), endless: provider(`${endless.url}/v1`) } },
  });
});
let url: string;

beforeAll(async () => {
  ({ url } = await installation.start('up'));
});

test('an answer of 300 pieces, 100 a second, is read live and cut at any byte without a loss or a repeat', async () => {
  const request = 'followed';
  const [answer] = answers;
  const directive = streamOf(answer?.prompt ?? '', request);
  expect((await post(`${url}/v1/directives`, directive)).status).toBe(202);

  const read: Frame[] = [];
  let [connections, whileWriting] = [0, 0];
  while (read.at(-1)?.event !== 'adjutant.end' && connections < 1_000) {
    const after = read.at(-1)?.id;
    const cutAfterBytes = CUTS[connections % CUTS.length] ?? 0;
    for await (const frame of frames(url, request, { cutAfterBytes, ...(after ? { after } : {}) }))
      read.push(frame);
    connections += 1;
    if (read.at(-1)?.event === 'ai.llm.delta') whileWriting += 1;
  }
  expect(whileWriting, 'cut while the model writes').toBeGreaterThan(10);
  const signals = read.slice(0, -1).map(({ data }) => JSON.parse(data) as Signal);
  expect(read.slice(0, -1).map(({ id }) => id)).toEqual(signals.map((_, index) => String(index + 1)));
  expect(signals).toEqual(await wholeLog(url, request));
  auditStreams(signals, answers);
  const deltas = signals.filter((signal): signal is Delta => signal.type === 'ai.llm.delta');
  // Reported while it was written, not at the end; a busy machine joins more pieces.
  expect(deltas.length).toBeGreaterThan(10);
});

test('a cancellation closes the connection to the provider, and the text so far stays', async () => {
  const request = 'cancelled';
  const directive = streamOf('a', request, { model: 'endless:model' });
  expect((await post(`${url}/v1/directives`, directive)).status).toBe(202);
  let text = '';
  for await (const signal of follow(url, request)) {
    if (signal.type === 'ai.llm.delta') text += String(signal.data.delta);
    if (text === 'one two ') break;
  }
  const cancelled = await post(`${url}/v1/requests/${request}/directives/a/cancel`, { reason: 'enough' });
  expect(cancelled.body).toMatchObject({ directives: [{ status: 'requested' }] });
  await endless.seen[0]?.closed;
  await untilClosed(url, request);
  const log = await wholeLog(url, request);
  expect(log.at(-1)).toMatchObject({
    type: 'ai.llm.response',
    data: { result: { ok: false, error: { type: 'cancelled', details: { reason: 'enough' } } } },
  });
  expect(log.map(({ type }) => type).filter((type) => type !== 'ai.llm.delta')).toEqual(['ai.llm.response']);
  expect(endless.seen).toHaveLength(1);
});
