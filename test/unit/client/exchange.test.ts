/** The URLs that a client calls: never others than its ids stand for.
 *  It must never need a service. */
import { expect, test, vi } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';

function setup() {
  const sent: string[] = [];
  const client = createHttpClient({
    baseUrl: 'http://127.0.0.1:1',
    fetch: async (input) => {
      sent.push(new URL(input as string).pathname);
      return Response.json({});
    },
  });
  return { sent, client };
}

test.each(['.', '..'])('the id %j is refused, since it would change the path', async (id) => {
  const { sent, client } = setup();
  const refused = expect.objectContaining({ name: 'DirectiveRefused' });
  await expect(client.cancel('r', id)).rejects.toEqual(refused);
  await expect(client.cancel(id)).rejects.toEqual(refused);
  await expect(client.directive('r', id)).rejects.toEqual(refused);
  await expect(client.runs.decide('r', id, { decision: 'approve' })).rejects.toEqual(refused);
  expect(sent).toEqual([]);
});

test.each(['...', '.a', 'a/../b', '%2e%2e', 'a?b#c'])('the id %j is sent as it is', async (id) => {
  const { sent, client } = setup();
  await client.cancel('r', id);
  expect(sent).toEqual([`/v1/requests/r/directives/${encodeURIComponent(id)}/cancel`]);
});

test.each([
  [
    'a web page',
    () => new Response('<html>', { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    'text/html',
  ],
  ['nothing', () => new Response(null, { status: 204 }), 'without a type'],
  ['a fault of its own', () => new Response('no', { status: 404 }), 'HTTP 404'],
])('a server that answers %s is said to be another one', async (_, answer, why) => {
  const client = createHttpClient({ baseUrl: 'http://127.0.0.1:1', fetch: async () => answer() });
  await expect(client.tools()).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    message: `The server at http://127.0.0.1:1 is not Adjutant (${why}).`,
  });
});

test('the error of a page names CORS, which may be the cause', async () => {
  vi.stubGlobal('location', {});
  const fetch = async (): Promise<Response> => Promise.reject(new TypeError('Failed to fetch'));
  const client = createHttpClient({ baseUrl: 'http://127.0.0.1:1', fetch });
  await expect(client.tools()).rejects.toMatchObject({
    name: 'ServiceUnavailable',
    message: 'No service answers at http://127.0.0.1:1, or its http.cors.origins lacks this page.',
  });
});
