/** A worker that dies in the middle of calls of the model endpoint: what their callers get.
 *  It must not warn the worker. */
import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { install } from '../support/installation.ts';
import { json, sse, startProvider, STREAM_HEAD, streamed } from '../support/provider-server.ts';

const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const WHOLE = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
};

// Issue 37, A2 and A3: bytes of two answers are never joined, and an answer that has not begun comes from the next attempt.
test('kill -9 of the worker: a stream ends in an error of its wire, a whole answer comes from the next worker', async () => {
  const asked = { stream: Promise.withResolvers<void>(), whole: Promise.withResolvers<void>() };
  const times = { stream: 0, whole: 0 };
  await using provider = await startProvider(async (response, request, index) => {
    const kind = (request.body as { stream?: boolean }).stream === true ? 'stream' : 'whole';
    times[kind] += 1;
    if (times[kind] > 1) {
      const again = kind === 'stream' ? streamed(sse([chunk('another'), '[DONE]'])) : json(200, WHOLE);
      return again(response, request, index);
    }
    if (kind === 'stream') {
      response.writeHead(200, STREAM_HEAD);
      response.write(sse([chunk('one')]));
    }
    asked[kind].resolve();
    await request.closed;
  });
  await using installation = await install({
    config: {
      providers: { mock: { type: 'openai-compatible', base_url: `${provider.url}/v1` } },
      worker: { lease_ms: 1_000 },
    },
  });
  const [{ url }, victim] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const openai = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'hello' }];
  const whole = openai.chat.completions.create({ model: 'm', messages });
  const stream = await openai.chat.completions.create({ model: 'm', messages, stream: true });
  const texts: (string | null | undefined)[] = [];
  const read = (async () => {
    for await (const { choices } of stream) {
      texts.push(choices[0]?.delta.content);
      await asked.whole.promise;
      if (texts.length === 1) await victim.kill9();
    }
  })();
  const broken = expect(read).rejects.toMatchObject({ code: 'interrupted' });
  await victim.exited;
  await installation.start('worker');
  await broken;
  expect(texts).toEqual(['one']);
  expect((await whole).choices[0]?.message.content).toBe('whole');
  expect(times).toEqual({ stream: 2, whole: 2 });
});
