/** What an event holds of an end that is larger than its receiver takes.
 *  It must not send anything. */
import { expect, test } from 'vitest';
import { boundedEvent, type RunEnded } from '../../../src/contract/signal/webhook-event.ts';

test('an error that is too large is cut between characters, and its bytes are named', () => {
  const error = { type: 'execution_error', message: `x${'\u{1F600}'.repeat(1_000)}` };
  const event = { data: { result: null, error } } as unknown as RunEnded;
  const { data } = boundedEvent(event, 64);
  const { message } = data.error as { message: string };
  expect(message.length).toBeLessThanOrEqual(1_024);
  expect(message.isWellFormed()).toBe(true);
  expect(data.omitted_bytes).toBe(Buffer.byteLength(JSON.stringify(error)));
});
