/** Vectors over HTTP: which text each belongs to, and how many texts a call has.
 *  It must never reach a real provider. */
import { describe, expect, test } from 'vitest';
import { call, errorIn, providersAt, recordingLimiter } from '../../support/model-calls.ts';
import { type Answer, json, startProvider } from '../../support/provider-server.ts';

type Entry = Record<string, unknown>;

const WIRES = ['openai', 'compatible'] as const;

/** Answers with these entries of `data`. */
function answering(entries: (texts: readonly string[]) => readonly Entry[], usage = true): Answer {
  return (response, request, index) => {
    const { input } = request.body as { input: string[] };
    const counted = usage ? { usage: { prompt_tokens: input.length } } : {};
    const body = { object: 'list', data: entries(input), model: 'e', ...counted };
    return json(200, body)(response, request, index);
  };
}

const numbered = (texts: readonly string[]): Entry[] =>
  texts.map((text, index) => ({ object: 'embedding', index, embedding: [Number(text), 0.5] }));

async function embed(url: string, api: (typeof WIRES)[number] | 'google', texts: string[], fields = {}) {
  return call({ type: 'llm_embed', texts }, { providers: providersAt(url, api, fields) });
}

const TEXTS = ['0', '1', '2'];
const IN_ORDER = [
  [0, 0.5],
  [1, 0.5],
  [2, 0.5],
];

describe.each(WIRES)('vectors of %s', (api) => {
  test.each([
    // OpenAI: match responses to inputs by `index`. pydantic-ai 7284, graphiti 1732.
    ['another order', (texts: readonly string[]) => numbered(texts).reverse()],
    // Servers without an index keep the order: mcp-memory-service 612.
    ['no index', (texts: readonly string[]) => numbered(texts).map(({ embedding }) => ({ embedding }))],
    [
      'indexes that are null',
      (texts: readonly string[]) => numbered(texts).map((entry) => ({ ...entry, index: null })),
    ],
    // Google's compatible interface leaves out a zero: spring-ai 7019.
    [
      'no index of the first, in another order',
      (texts: readonly string[]) =>
        numbered(texts)
          .reverse()
          .map(({ index, ...entry }) => (index === 0 ? entry : { ...entry, index })),
    ],
  ])('with %s belong to their texts', async (_what, entries) => {
    await using server = await startProvider(answering(entries));
    const { execution } = await embed(server.url, api, TEXTS);
    expect(execution.result).toMatchObject({ ok: true, payload: { embeddings: IN_ORDER, count: 3 } });
  });

  test.each<[string, (texts: readonly string[]) => Entry[]]>([
    ['an index twice', (texts) => numbered(texts).map((entry) => ({ ...entry, index: 1 }))],
    ['a foreign index', (texts) => numbered(texts).map((entry, at) => ({ ...entry, index: at + 1 }))],
    ['a negative index', (texts) => numbered(texts).map((entry, at) => ({ ...entry, index: at - 1 }))],
    [
      'an index that is text',
      (texts) => numbered(texts).map((entry, at) => ({ ...entry, index: String(at) })),
    ],
    ['a broken index', (texts) => numbered(texts).map((entry, at) => ({ ...entry, index: at / 2 }))],
    [
      'a missing index',
      (texts) => numbered(texts).map(({ index, ...entry }) => (index === 2 ? entry : { ...entry, index })),
    ],
    ['too few vectors', (texts) => numbered(texts).slice(1)],
    ['too many vectors', (texts) => [...numbered(texts), { index: 3, embedding: [3, 0.5] }]],
    ['vectors of different lengths', (texts) => numbered(texts).with(1, { index: 1, embedding: [1] })],
    ['text in a vector', (texts) => numbered(texts).with(1, { index: 1, embedding: ['1', 0.5] })],
    ['base64', (texts) => numbered(texts).map((entry) => ({ ...entry, embedding: 'AACAPw==' }))],
    ['an entry that is null', () => [null, null, null] as unknown as Entry[]],
  ])('with %s are invalid', async (_what, entries) => {
    await using server = await startProvider(answering(entries));
    const result = await embed(server.url, api, TEXTS);
    expect(errorIn(result)).toMatchObject({ type: 'invalid_result', retryable: false });
    expect(server.seen).toHaveLength(1);
  });

  test('that are too few for one call and too many for the next are invalid', async () => {
    let calls = 0;
    await using server = await startProvider(
      answering((texts) => {
        calls += 1;
        return calls === 1 ? numbered(['0', ...texts]) : numbered(texts).slice(1);
      }),
    );
    const result = await embed(server.url, api, TEXTS, { embeddingBatches: new Map([['m', 2]]) });
    expect(errorIn(result)).toMatchObject({
      type: 'invalid_result',
      message: 'the provider sent 3 vectors for 2 texts',
    });
    expect(result.execution.metadata?.['usage_so_far']).toMatchObject({ input_tokens: 2, estimated: false });
    expect(server.seen).toHaveLength(1);
  });
});

const many = (count: number): string[] => Array.from({ length: count }, (_, index) => String(index));

describe('texts of one call', () => {
  test('are as many as configured for the model', async () => {
    await using server = await startProvider(answering(numbered));
    const { execution } = await embed(server.url, 'compatible', many(5), {
      embeddingBatches: new Map([['m', 2]]),
    });
    expect(execution.result).toMatchObject({ ok: true, payload: { count: 5 } });
    expect(sizesOf(server)).toEqual([2, 2, 1]);
  });

  test.each([
    // SiliconFlow, and text-embeddings-inference with its own status.
    [413, { code: 20042, message: 'input batch size 20 > maximum allowed batch size 6', data: null }],
    [422, { error: { message: 'batch size 20 > maximum allowed batch size 6', type: 'Validation' } }],
    // A proxy.
    [413, '<html>413 Request Entity Too Large</html>'],
    // Mistral, Cohere, Azure, Model Studio, OpenAI, Voyage, Zhipu.
    [400, { message: 'Too many inputs in request, split into more batches.', code: '3210' }],
    [400, { message: 'invalid request: total number of texts must be at most 96 - received 100' }],
    [400, { error: { message: 'Too many inputs. The max number of inputs is 16.' } }],
    [400, { error: { message: 'batch size is invalid, it should not be larger than 10.: input.contents' } }],
    [400, { error: { message: 'Requested 345678 tokens, max 300000 tokens per request' } }],
    [400, { detail: 'The max allowed tokens per submitted batch is 120000.' }],
    [400, { error: { code: '1214', message: 'input数组最大不得超过64条' } }],
  ])('that are too many for a provider (%s %j) are sent again in halves', async (status, refusal) => {
    await using server = await startProvider((response, request, index) => {
      const { input } = request.body as { input: string[] };
      const answer = input.length > 6 ? json(status, refusal) : answering(numberedTexts);
      return answer(response, request, index);
    });
    const limiter = recordingLimiter();
    const setup = { providers: providersAt(server.url, 'compatible'), limiter };
    const { execution } = await call({ type: 'llm_embed', texts: many(20) }, setup);
    expect(execution.result).toMatchObject({ ok: true, payload: { count: 20 } });
    const { embeddings } = (execution.result as { payload: { embeddings: number[][] } }).payload;
    expect(embeddings.map(([first]) => first)).toEqual(many(20).map(Number));
    expect(execution.usage).toMatchObject({ input_tokens: 20 });
    expect(sizesOf(server)).toEqual([20, 10, 5, 5, 5, 5]);
    expect(limiter.settled).toEqual([0, 0, 5, 5, 5, 5]);
  });

  test('of Google are halved too', async () => {
    await using server = await startProvider((response, request, index) => {
      const { requests } = request.body as { requests: { content: { parts: { text: string }[] } }[] };
      const embeddings = requests.map(({ content }) => ({ values: [Number(content.parts[0]?.text)] }));
      const error = {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'at most 2 requests can be in one batch',
      };
      const answer = requests.length > 2 ? json(400, { error }) : json(200, { embeddings });
      return answer(response, request, index);
    });
    const { execution } = await embed(server.url, 'google', many(4));
    expect(execution.result).toMatchObject({ ok: true, payload: { embeddings: [[0], [1], [2], [3]] } });
  });

  test('are halved to one text at most, and the refusal of that ends the directive', async () => {
    await using server = await startProvider(json(413, { message: 'Request Entity Too Large' }));
    const result = await embed(server.url, 'compatible', many(256));
    expect(errorIn(result)).toMatchObject({ type: 'validation_error', retryable: false });
    expect(sizesOf(server)).toEqual([256, 128, 64, 32, 16, 8, 4, 2, 1]);
  });

  test('are not split after another refusal', async () => {
    const message = "This model's maximum context length is 8192 tokens, however you requested 9000 tokens";
    await using server = await startProvider(json(400, { error: { message } }));
    const result = await embed(server.url, 'compatible', many(4));
    expect(errorIn(result)).toMatchObject({ details: { reason: 'context_length' } });
    expect(server.seen).toHaveLength(1);
  });

  test('fail as one when a later half fails', async () => {
    await using server = await startProvider((response, request, index) => {
      const { input } = request.body as { input: string[] };
      if (input.length > 2) return json(413, { message: 'too large' })(response, request, index);
      return (index === 1 ? answering(numbered) : json(400, { error: { message: 'no' } }))(
        response,
        request,
        index,
      );
    });
    const result = await embed(server.url, 'compatible', many(4));
    expect(errorIn(result)).toMatchObject({ type: 'validation_error' });
    expect(result.execution.metadata?.['usage_so_far']).toMatchObject({ input_tokens: 2 });
  });
});

const numberedTexts = (texts: readonly string[]): Entry[] =>
  texts.map((text, index) => ({ index, embedding: [Number(text)] }));

function sizesOf({ seen }: { seen: readonly { body: unknown }[] }): number[] {
  return seen.map(({ body }) => (body as { input: string[] }).input.length);
}
