/** What fetch does for the HTTP transports: the Retry-After header in its two forms, and how often a stream is opened.
 *  It must never depend on a real clock. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createHttpFetch, readRetryAfterMs } from '../../../../src/mcp/transport/http-fetch.ts';
import { createPace } from '../../../../src/mcp/pace.ts';

const now = Date.parse('2026-11-20T12:00:00Z');

test.each([
  [null, null],
  ['', null],
  ['soon', null],
  ['0', 0],
  ['7', 7_000],
  ['1.5', 1_500],
  ['-3', 0],
  ['Fri, 20 Nov 2026 12:00:10 GMT', 10_000],
  ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
])('%s', (header, ms) => {
  expect(readRetryAfterMs(header, now)).toBe(ms);
});

test('a stream that ends at once is not opened again faster than the rate, whatever the server asks for', async () => {
  let opened = 0;
  const server = createServer((_, response) => {
    opened += 1;
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\n\n');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const fetchHere = createHttpFetch({
    pace: createPace(),
    openings: createPace(() => 0, { perSecond: 0.001, burst: 3 }),
    onRefused: () => {},
  });
  for (let opens = 0; opens < 3; opens += 1) await (await fetchHere(url)).text();
  const abort = new AbortController();
  const late = fetchHere(url, { signal: abort.signal });
  await (await fetch(url)).text();
  abort.abort();
  await expect(late).rejects.toThrow('aborted');
  expect(opened).toBe(4);
});
