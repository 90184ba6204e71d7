/** The follower against misbehaving services: repeats, gaps, wrong ends, refusals.
 *  It must not open a connection: the test writes each answer. */
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../../src/contract/problem.ts';

function frame(sequence: number): string {
  return `id: ${sequence}\nevent: ai.tool.progress\ndata: ${JSON.stringify({ sequence, type: 'ai.tool.progress' })}\n\n`;
}

const end = (last: number): string => `event: adjutant.end\ndata: {"last_sequence":${last}}\n\n`;

function stream(...texts: string[]): Response {
  return new Response(texts.join(''), { headers: { 'content-type': 'text/event-stream' } });
}

function refusal(code: 'not_found' | 'unavailable'): Response {
  const body = problem(code);
  return Response.json(body, {
    status: body.status,
    headers: { 'content-type': 'application/problem+json' },
  });
}

/** A client whose connections get the given answers in turn, and what it asked for. */
function scripted(answers: (Response | Error)[]) {
  const asked: string[] = [];
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    asked.push(new Headers(init?.headers).get('last-event-id') ?? '');
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer ?? new Error('no answer is left');
  };
  return { client: createHttpClient({ baseUrl: 'http://service', fetch, random: () => 1 }), asked };
}

async function sequencesOf(
  answers: (Response | Error)[],
  after = 0,
): Promise<{ seen: number[]; asked: string[] }> {
  const { client, asked } = scripted(answers);
  const seen: number[] = [];
  for await (const { sequence } of client.signals('r', { after })) seen.push(sequence);
  return { seen, asked };
}

describe('signals', () => {
  test('that are repeated are read once', async () => {
    const { seen } = await sequencesOf([stream(frame(1), frame(1), frame(2), frame(1), frame(3), end(3))]);
    expect(seen).toEqual([1, 2, 3]);
  });

  test('report when the service goes away and when it is back', async () => {
    const answers = [stream(frame(1)), new TypeError('fetch failed'), stream(frame(2), end(2))];
    const fetch: typeof globalThis.fetch = async () => {
      const answer = answers.shift();
      if (answer instanceof Response) return answer;
      throw answer ?? new Error('no answer is left');
    };
    const told: (ServiceUnavailable | null)[] = [];
    const onReach = (failure: ServiceUnavailable | null): void => void told.push(failure);
    const client = createHttpClient({ baseUrl: 'http://service', fetch, random: () => 1, onReach });
    for await (const signal of client.signals('r')) expect(signal.sequence).toBeLessThan(3);
    expect(told).toEqual([null, expect.any(ServiceUnavailable), null]);
  });

  test('that are missing are asked for again, from the last one', async () => {
    const { seen, asked } = await sequencesOf([
      stream(frame(1), frame(2), frame(4), frame(5), end(5)),
      stream(frame(3), frame(4), frame(5), end(5)),
    ]);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(asked).toEqual(['0', '2']);
  });

  test('are asked for again when the end names more than came', async () => {
    const { seen, asked } = await sequencesOf([stream(frame(1), end(2)), stream(frame(2), end(2))]);
    expect(seen).toEqual([1, 2]);
    expect(asked).toEqual(['0', '1']);
  });

  test('are asked for again after an end that was not announced, a broken connection and a 503', async () => {
    const { seen, asked } = await sequencesOf([
      stream(frame(1)),
      new TypeError('fetch failed'),
      refusal('unavailable'),
      stream(frame(2), end(2)),
    ]);
    expect(seen).toEqual([1, 2]);
    expect(asked).toEqual(['0', '1', '1', '1']);
  });

  test('that are cut in the middle are not read', async () => {
    const { seen } = await sequencesOf([stream(frame(1), frame(2).slice(0, 30)), stream(frame(2), end(2))]);
    expect(seen).toEqual([1, 2]);
  });

  test('end with 204: the log is closed and read', async () => {
    expect((await sequencesOf([new Response(null, { status: 204 })], 7)).seen).toEqual([]);
    expect((await sequencesOf([stream(frame(1)), new Response(null, { status: 204 })])).seen).toEqual([1]);
  });

  test('comments and events of other kinds without data are passed over', async () => {
    const { seen } = await sequencesOf([stream('retry: 1000\n\n', ': still here\n\n', frame(1), end(1))]);
    expect(seen).toEqual([1]);
  });

  test('end with a refusal, also after a cut', async () => {
    await expect(sequencesOf([refusal('not_found')])).rejects.toBeInstanceOf(DirectiveRefused);
    await expect(sequencesOf([stream(frame(1)), refusal('not_found')])).rejects.toBeInstanceOf(
      DirectiveRefused,
    );
  });

  test('of a service that was never reached are an error at once', async () => {
    await expect(sequencesOf([new TypeError('fetch failed')])).rejects.toBeInstanceOf(ServiceUnavailable);
    await expect(sequencesOf([refusal('unavailable')])).rejects.toBeInstanceOf(ServiceUnavailable);
  });
});

describe('an answer', () => {
  test('that is not one of our problems means that the service is unavailable', async () => {
    const { client } = scripted([new Response('<html>bad gateway</html>', { status: 502 })]);
    await expect(client.tools()).rejects.toBeInstanceOf(ServiceUnavailable);
  });

  test('that is cut in the middle means that the service is unavailable', async () => {
    const { client } = scripted([new Response('{"tools": [')]);
    await expect(client.tools()).rejects.toBeInstanceOf(ServiceUnavailable);
  });
});

describe('execute', () => {
  test('repeats a submission whose answer was lost, under the same names', async () => {
    const bodies: string[] = [];
    const result = { sequence: 2, type: 'ai.tool.result', data: {} };
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      bodies.push(init?.body as string);
      if (bodies.length === 1) throw new TypeError('fetch failed');
      return Response.json({ request_id: 'r', directives: [{ id: 'd', result }], links: {} });
    };
    const client = createHttpClient({ baseUrl: 'http://service', fetch });
    expect(await client.execute({ type: 'tool_exec', tool_name: 'a.b' })).toEqual(result);
    expect(bodies[1]).toBe(bodies[0]);
    expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
      id: expect.any(String),
      request_id: expect.any(String),
    });
  });

  test('leaves the names to the service when a key names the submission', async () => {
    const bodies: string[] = [];
    const fetch: typeof globalThis.fetch = async (_url, init) => {
      bodies.push(init?.body as string);
      return Response.json({
        request_id: 'r',
        directives: [{ id: 'd', result: { type: 'ai.tool.result' } }],
      });
    };
    const keyed = createHttpClient({ baseUrl: 'http://service', fetch });
    await keyed.execute({ type: 'tool_exec', tool_name: 'a.b' }, { idempotencyKey: 'k' });
    expect(JSON.parse(bodies[0] ?? '')).toEqual({ type: 'tool_exec', tool_name: 'a.b' });
  });
});
