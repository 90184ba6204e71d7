/** Providers that send too much, or redirect elsewhere: each fails its own call only, and the process survives.
 *  It must never run them against the process of the tests: a fault here ends the process that has it. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOSTILE_ANSWERS } from '../../support/hostile-answers.ts';
import { type Api, call, errorIn, KEY, providersAt } from '../../support/model-calls.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import { bodyOf, json, type ProviderServer, startProvider } from '../../support/provider-server.ts';
import { programOf } from '../../support/program.ts';

const CALLER = programOf(fileURLToPath(new URL('../../support/servers/model-caller.ts', import.meta.url)));
/** MiB. Far less than any of the answers needs. */
const HEAP = 160;
describe('a process with little memory outlives', () => {
  let server: ProviderServer;
  let caller: Child;

  beforeAll(async () => {
    server = await startProvider((response, { body }) =>
      HOSTILE_ANSWERS[(body as { model: string }).model]?.(response),
    );
    caller = spawnNode([`--max-old-space-size=${HEAP}`, CALLER, server.url, 'compatible']);
  });
  afterAll(async () => {
    await caller.kill9();
    await server[Symbol.asyncDispose]();
  });

  async function ending(type: string, model: string): Promise<unknown> {
    caller.write(`${type} ${model}\n`);
    const line = await caller.waitForLine(new RegExp(`^\\{"type":"${type}","model":"${model}"`), 90_000);
    return (JSON.parse(line) as { end: unknown }).end;
  }

  test.each([
    ['llm_generate', 'endless', 'is larger than 33554432 bytes'],
    ['llm_generate', 'packed', 'is larger than 33554432 bytes'],
    ['llm_generate', 'wide', 'has more than 100000 values'],
    ['llm_embed', 'endless', 'is larger than 33554432 bytes'],
    ['llm_embed', 'packed', 'is larger than 33554432 bytes'],
    ['llm_embed', 'wide', 'has more than 4096 objects and arrays'],
    ['llm_stream', 'event', 'has an event that is larger than 16777216 bytes'],
    ['llm_stream', 'lines', 'has an event that has more than 100000 lines'],
    ['llm_stream', 'comments', 'is larger than 134217728 bytes'],
    ['llm_stream', 'talks', 'has more than 4000000 characters'],
    ['llm_stream', 'calls', 'has more than 10000 parts'],
  ])('%s with an answer that is %s: it %s', async (type, model, reason) => {
    expect(await ending(type, model)).toMatchObject({
      type: 'invalid_result',
      retryable: false,
      message: expect.stringContaining(reason) as string,
      details: { reason: 'too_large' },
    });
  });

  test('an endless refusal, and still makes calls', async () => {
    expect(await ending('llm_generate', 'refuses')).toMatchObject({
      type: 'provider_error',
      details: { status: 500 },
    });
    expect(await ending('llm_generate', 'whole')).toBe('answered');
  });
});

describe.each<Api>(['openai', 'openai-chat', 'anthropic', 'google', 'compatible'])('%s', (api) => {
  test.each(['llm_stream', 'llm_generate'] as const)(
    '%s does not follow a redirect with the key',
    async (type) => {
      await using other = await startProvider(json(200, {}));
      await using server = await startProvider((response) => {
        response.writeHead(307, { location: `${other.url}/v1/elsewhere?key=${KEY}` }).end();
      });
      const result = await call({ type }, { providers: providersAt(server.url, api) });
      expect(errorIn(result)).toMatchObject({
        type: 'executor',
        retryable: false,
        details: { reason: 'redirect' },
      });
      expect(errorIn(result).message).toContain(
        `redirects to ${other.url}/v1/elsewhere; redirects are not followed`,
      );
      expect(result.execution).toMatchObject({ unavailable: true });
      expect(bodyOf(server)).toBeDefined();
      expect(other.seen).toEqual([]);
    },
  );
});
