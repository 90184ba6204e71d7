/** The model endpoint beside the provider itself: the same request, and the same status, headers and bytes of the answer.
 *  It must never reach a real provider. */
import { expect, test } from 'vitest';
import { answerCases, type PassedCase, passedCases, withModelIn } from '../../../support/passed-answers.ts';
import { startProvider } from '../../../support/provider-server.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const cases = passedCases(204);
const KEY = 'sk-operators-0123456789';
const provider = shared(async () => startProvider(answerCases(cases)));
const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    environment: { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY, GEMINI_API_KEY: KEY },
    config: {
      providers: Object.fromEntries(
        (['openai', 'anthropic', 'google'] as const).map((type) => [
          type,
          { type, base_url: `${provider.url}/v1`, lane: { concurrency: 40 } },
        ]),
      ),
    },
  }),
);

interface Got {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

async function post(url: string, body: string, key: string): Promise<Got> {
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${key}`,
    'x-api-key': key,
    'x-goog-api-key': key,
    'anthropic-version': '2023-06-01',
    'openai-organization': 'callers',
  };
  const response = await fetch(url, { method: 'POST', headers, body });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

const BASES = { openai: '/openai/v1', anthropic: '/anthropic/v1', google: '/google/v1beta' } as const;

/** The request that the provider saw, and the answer that its caller got. */
async function compared(each: PassedCase): Promise<void> {
  const own = withModelIn(each, 'm');
  const direct = await post(`${provider.url}/v1${each.path}`, own, 'direct');
  const named = withModelIn(each, `${each.family}:m`);
  const through = await post(`${service.url}${BASES[each.family]}${each.path}`, named, 'callers-own-key');
  expect.soft(through.status, each.name).toBe(direct.status);
  expect.soft(through.bytes.equals(direct.bytes), `${each.name}\n${through.bytes.toString()}`).toBe(true);
  for (const name of ['content-type', 'x-request-id', 'request-id', 'x-ratelimit-remaining-requests'])
    expect.soft(through.headers.get(name), `${each.name}: ${name}`).toBe(direct.headers.get(name));
  expect.soft(through.headers.get('set-cookie'), each.name).toBeNull();
  const [first, second] = provider.seen.filter(
    ({ body }) => (body as { case_number: number }).case_number === cases.indexOf(each),
  );
  expect.soft(second?.text, each.name).toBe(first?.text);
  expect.soft(second?.path, each.name).toBe(first?.path);
  expect.soft(JSON.stringify(second?.headers), each.name).not.toContain('callers');
  expect.soft(JSON.stringify(second?.headers), each.name).toContain(KEY);
}

// Issue 37, A2: bodies of all wires, whole and streamed, in odd forms and in arbitrary pieces, compared byte for byte.
test('the provider gets the request of its caller, and the caller the answer of its provider, byte for byte', async () => {
  const waiting = [...cases];
  const take = async (): Promise<void> => {
    for (let each = waiting.pop(); each !== undefined; each = waiting.pop()) await compared(each);
  };
  await Promise.all(Array.from({ length: 8 }, take));
  expect(provider.seen).toHaveLength(2 * cases.length);
});
