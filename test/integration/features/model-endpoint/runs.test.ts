/** Model calls of a run, whose turns a test keeps: submitted, joined, replayed, tried again, and noted before their end is given.
 *  It must never decide what a run does: the feature of foreign runs does. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { modelEndpoint } from '../../../../src/features/model-endpoint/routes.ts';
import type {
  AnsweredTurn,
  ModelTarget,
  TurnsOfRun,
} from '../../../../src/features/model-endpoint/turns-of-run.ts';
import { createApi } from '../../../../src/http/api.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { json, startProvider, STREAM_HEAD } from '../../../support/provider-server.ts';
import { ANTHROPIC } from '../../../support/recorded-answers.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

/** The provider sends the first events, and the others once a test lets it. */
let rest = Promise.withResolvers<void>();
/** Calls that are refused, and calls that break off, before one is answered. */
let refusals = 0;
let breaks = 0;
const HALF = ANTHROPIC.indexOf('event: content_block_start');
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    if (refusals > 0) {
      refusals -= 1;
      return json(400, { type: 'error', error: { type: 'invalid_request_error', message: 'no' } })(
        response,
        request,
        index,
      );
    }
    response.writeHead(200, STREAM_HEAD);
    response.write(ANTHROPIC.slice(0, HALF));
    if (breaks > 0) {
      breaks -= 1;
      await rest.promise;
      return void response.destroy();
    }
    await rest.promise;
    response.end(ANTHROPIC.slice(HALF));
  }),
);
const redis = useRedis();
const prefix = `test-${randomUUID()}`;
const worker = shared(async () =>
  startService({
    redisUrl: redis.url,
    roles: { worker: true },
    prefix,
    environment: { ANTHROPIC_API_KEY: 'sk-ant-0123' },
    config: { providers: { anthropic: { type: 'anthropic', base_url: provider.url } } },
  }),
);
const direct = shared(async () => {
  const made = await createDirectClient({ redisUrl: redis.url, prefix });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

/** What the run was asked and told. */
const asked: { run: string; failed: ModelTarget | null; target: ModelTarget }[] = [];
const told: { target: ModelTarget; answer: AnsweredTurn }[] = [];
const forgotten: ModelTarget[] = [];
let noting: (target: ModelTarget) => Promise<void> = async () => {};
const turns: TurnsOfRun = {
  async turnFor(run, { model }, _headers, _principal, failed) {
    if (run === 'of-others')
      throw new DirectiveRefused(problem('not_found', { detail: 'there is no such run' }));
    const target = { requestId: `${run}.${model}`, directiveId: failed === null ? 'turn' : 'turn.again' };
    asked.push({ run, failed, target });
    return { ...target, headers: { 'adjutant-turn': '1' } };
  },
  async refused(_run, target) {
    forgotten.push(target);
  },
  async answered(_run, target, answer) {
    told.push({ target, answer });
    await noting(target);
  },
};
const MODELS = {
  aliases: new Map(),
  providers: new Map([
    ['anthropic', { type: 'anthropic' }],
    ['bedrock', { type: 'bedrock' }],
  ]),
};
const api = shared(async () => {
  void worker.url;
  const app = createApi({
    client: direct,
    ready: async () => ({ ok: true, checks: {} }),
    logger: pino({ level: 'silent' }),
    version: '0',
    features: [
      modelEndpoint({
        client: direct,
        tenant: () => ({ own: direct, waits: { mark: async () => {}, markedBy: async () => null } }),
        principal: () => null,
        models: { current: async () => MODELS, recheck: async () => MODELS },
        turns,
        configured: new Map(),
        limits: { bodyBytes: 100_000, bodyValues: 1_000 },
        graceMs: 1,
        onError: () => {},
      }),
    ],
  });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, [Symbol.asyncDispose]: async () => app.close() };
});

async function ask(run: string, model: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`${api.url}/runs/${run}/anthropic/v1/messages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, max_tokens: 5, messages: [] }),
    ...(signal === undefined ? {} : { signal }),
  });
}

beforeEach(() => {
  rest = Promise.withResolvers();
  noting = async () => {};
  [asked.length, told.length, forgotten.length, provider.seen.length] = [0, 0, 0, 0];
});

test('a caller that comes back joins its turn at the first byte, although it has hung up, and a later one gets it from the journal', async () => {
  const gone = new AbortController();
  const first = await ask('r1', 'm', gone.signal);
  const { value } = (await first.body?.getReader().read()) ?? {};
  expect(Buffer.from(value ?? []).toString()).toBe(ANTHROPIC.slice(0, HALF));
  gone.abort();
  const again = await ask('r1', 'm');
  expect(again.headers.get('adjutant-replayed')).toBeNull();
  expect(again.headers.get('adjutant-turn')).toBe('1');
  rest.resolve();
  expect(await again.text()).toBe(ANTHROPIC);
  const replayed = await ask('r1', 'm');
  expect(replayed.headers.get('adjutant-replayed')).toBe('true');
  expect(await replayed.text()).toBe(ANTHROPIC);
  expect(provider.seen).toHaveLength(1);
  expect(told.map(({ answer }) => answer.isReplayed)).toEqual([false, true]);
  const [call] = told[0]?.answer.toolCalls ?? [];
  expect(call).toEqual({ id: 'toolu_01', name: 'weather_get', arguments: { city: 'Paris' } });
  expect(told[0]?.answer.usage).toMatchObject({ input_tokens: 592, output_tokens: 89 });
});

// The log has a part of the answer that broke off, and the whole of the next one.
test('an answer that breaks off ends in an error, and the same call gets that of the next attempt, alone', async () => {
  breaks = 1;
  const first = await ask('r5', 'm');
  rest.resolve();
  const text = await first.text();
  expect(text.startsWith(ANTHROPIC.slice(0, HALF))).toBe(true);
  expect(text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/);
  for (let times = 0; times < 2; times += 1) expect(await (await ask('r5', 'm')).text()).toBe(ANTHROPIC);
  expect(provider.seen).toHaveLength(2);
});

test('the end of an answer is given once the run has noted it', async () => {
  const noted = Promise.withResolvers<void>();
  const isAsked = Promise.withResolvers<void>();
  noting = async ({ requestId }) => {
    if (!requestId.startsWith('r2.')) return;
    isAsked.resolve();
    await noted.promise;
  };
  rest.resolve();
  const response = await ask('r2', 'm');
  let received = '';
  const read = (async () => {
    for await (const bytes of response.body ?? []) received += Buffer.from(bytes).toString();
  })();
  await isAsked.promise;
  // Another call takes its whole way meanwhile.
  expect(await (await ask('r6', 'm')).text()).toBe(ANTHROPIC);
  expect(received).toBe(ANTHROPIC.slice(0, ANTHROPIC.indexOf('event: message_stop')));
  noted.resolve();
  await read;
  expect(received).toBe(ANTHROPIC);
});

test('an answer that the run cannot note ends with an error of its wire', async () => {
  noting = async () => {
    throw new Error('gone');
  };
  rest.resolve();
  const text = await (await ask('r3', 'm')).text();
  expect(text).not.toContain('message_stop');
  expect(text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error"/);
});

test('a turn that has failed is tried again under another id, with the same request', async () => {
  refusals = 1;
  expect((await ask('r4', 'm')).status).toBe(400);
  rest.resolve();
  const response = await ask('r4', 'm');
  expect(await response.text()).toBe(ANTHROPIC);
  expect(asked.map(({ failed }) => failed?.directiveId ?? null)).toEqual([null, null, 'turn']);
  expect(response.headers.get('adjutant-directive')).toBe('turn.again');
});

test('what the run refuses is refused in the form of the wire', async () => {
  const response = await ask('of-others', 'm');
  expect(response.status).toBe(404);
  expect(await response.json()).toEqual({
    type: 'error',
    error: { type: 'not_found_error', message: 'there is no such run' },
  });
});

// Issue 37: requests pass as they are, and Bedrock has a form of its own; a run holds the turns that were answered.
test('a call of a provider of another form is refused with the reason, and leaves no turn in its run', async () => {
  const response = await ask('refused', 'bedrock:m');
  expect(response.status).toBe(404);
  expect(await response.text()).toContain('\\"bedrock\\" (bedrock) does not answer in the form of anthropic');
  expect(forgotten).toMatchObject([asked[0]?.target ?? {}]);
});
