/** When a wait of a requester is called off: it has gone, or the service stops.
 *  It must not need a server: the response alone decides. */
import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { FastifyRequest } from 'fastify';
import { createStreamPlaces } from '../../../src/http/routes/signals.ts';
import { createRequesterSignals } from '../../../src/http/waiting.ts';

/** What is looked at of a response. */
function response(state: Partial<ServerResponse> = {}): ServerResponse {
  const fresh = { closed: false, destroyed: false, writableFinished: false };
  return Object.assign(new EventEmitter(), fresh, state) as ServerResponse;
}

function setUp() {
  const stop = new AbortController();
  return { stop, requester: createRequesterSignals(stop.signal) };
}

test('a requester that goes before its answer calls off its own wait only', () => {
  const { requester } = setUp();
  const [gone, stays] = [response(), response()];
  const [called, other] = [requester(gone), requester(stays)];
  gone.emit('close');
  expect([called.aborted, other.aborted]).toEqual([true, false]);
});

test('an answer that was sent whole calls off nothing, also when the service stops later', () => {
  const { requester, stop } = setUp();
  const answered = response({ writableFinished: true });
  const signal = requester(answered);
  answered.emit('close');
  stop.abort();
  expect(signal.aborted).toBe(false);
});

test('the stop of the service calls off every wait, and those that come after it', () => {
  const { requester, stop } = setUp();
  const before = requester(response());
  stop.abort();
  expect([before.aborted, requester(response()).aborted]).toEqual([true, true]);
});

test.each([{ closed: true }, { destroyed: true }])(
  'a requester that has gone already waits for nothing: %j',
  (state) => {
    const { requester } = setUp();
    expect(requester(response(state)).aborted).toBe(true);
    // Nor does it keep one of the places of its address.
    const places = createStreamPlaces(1);
    const request = { ip: '127.0.0.1' } as FastifyRequest;
    places.take(request, response(state));
    places.take(request, response());
    expect(() => places.take(request, response())).toThrow();
  },
);
