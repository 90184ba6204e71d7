/** Frames of server-sent events: one signal is one frame, whatever its type holds.
 *  It must not trust what wrote the log. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createSteps } from '../../../src/platform/bounds/steps.ts';
import { frame, streamSignals } from '../../../src/http/event-stream.ts';
import { createUnreadBudget } from '../../../src/http/unread-budget.ts';

test.each(['x\nevent: ai.request.completed', 'x\r\n\r\nid: 9', 'x\rdata: {}', 'x\0'])(
  'a type of %j cannot start a new line',
  (type) => {
    const text = frame({ sequence: 3, type, data: { text: 'a\nb\r\n\r\nc' } } as never);
    const lines = text.split(/\r\n|\r|\n/);
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual(['id', 'event', 'data', '', '']);
    expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toMatchObject({ type });
  },
);

/** What a reader gets of so many signals that are there at once. */
async function streamed(text: string, count: number, nextStep = createSteps()): Promise<string> {
  const stop = new AbortController().signal;
  async function* signals() {
    for (let sequence = 1; sequence <= count; sequence += 1)
      yield { sequence, type: 'x', data: { text } } as never;
  }
  const unread = createUnreadBudget(16 * 1_024 * 1_024);
  const server = createServer((_request, response) => {
    void streamSignals(response, signals, {
      after: 0,
      heartbeatMs: 60_000,
      reader: stop,
      stop,
      unread,
      nextStep,
    });
  });
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text();
}

// Of such frames a response counts the bytes and its socket the characters: a wait for room must end all the same.
test.each([32, 70, 114])('%i frames of more bytes than characters reach a reader whole', async (count) => {
  const text = await streamed('é'.repeat(1_000), count);
  expect(text.endsWith(`event: adjutant.end\ndata: {"last_sequence":${count}}\n\n`)).toBe(true);
});

// Issue 33, point 7: hundreds of streams that began at once were written in one turn of the event loop.
test('each frame waits for the turn that the streams of its caller share', async () => {
  let turns = 0;
  await streamed('x', 20, async () => void (turns += 1));
  expect(turns).toBe(20);
});
