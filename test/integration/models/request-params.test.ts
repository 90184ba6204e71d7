/** The parameters that reach a provider: the defaults, the models that refuse them, the operator's settings, the caller's options.
 *  It must never reach a real provider. */
import { describe, expect, test } from 'vitest';

import type { RemoteProviderOptions } from '../../../src/models/requests/provider-options.ts';
import type { ModelSettings } from '../../../src/models/requests/request-params.ts';
import { modelProviders } from '../../../src/service/roles/model-providers.ts';
import { type Api, call, errorIn, providersAt } from '../../support/model-calls.ts';
import { parse } from '../../support/parsed-config.ts';
import { bodyOf, json, type ProviderServer, startProvider } from '../../support/provider-server.ts';

const APIS: Api[] = ['openai', 'openai-chat', 'anthropic', 'google', 'compatible'];
const TYPES = ['llm_generate', 'llm_stream'] as const;
const WIRES = APIS.flatMap((api) => TYPES.map((type) => [api, type] as const));

/** Refused, because only the request matters. */
const refusing = () => startProvider(json(400, { error: { message: 'no' } }));

type Settings = Partial<ModelSettings>;

function at(server: ProviderServer, api: Api, settings: Settings, more: Partial<RemoteProviderOptions> = {}) {
  const model = () => ({ params: {}, structuredOutput: 'json_schema' as const, ...settings });
  return providersAt(server.url, api, { model, ...more });
}

/** The two own parameters, in each API's place. */
function own(api: Api, body: Record<string, unknown>): unknown[] {
  const place = api === 'google' ? (body['generationConfig'] as Record<string, unknown>) : body;
  const most = { google: 'maxOutputTokens', openai: 'max_output_tokens' }[api as string] ?? 'max_tokens';
  return [place['temperature'], place[most]];
}

describe.each(WIRES)('a request of %s, by %s,', (api, type) => {
  test('has the defaults of the contract, 0.2 and 1,024', async () => {
    await using server = await refusing();
    await call({ type }, { providers: at(server, api, {}) });
    expect(own(api, bodyOf(server))).toEqual([0.2, 1024]);
  });

  test('leaves out what the operator sets to null, and sends the rest', async () => {
    await using server = await refusing();
    await call({ type }, { providers: at(server, api, { params: { temperature: null } }) });
    expect(own(api, bodyOf(server))).toEqual([undefined, 1024]);
  });

  test('sends a renamed parameter under the new name, and an added one as it is', async () => {
    await using server = await refusing();
    const params = { max_tokens: { as: 'max_completion_tokens' }, top_p: 0.9, temperature: 1 };
    await call({ type, max_tokens: 77 }, { providers: at(server, api, { params }) });
    const body = bodyOf(server);
    expect(body).toMatchObject({ max_completion_tokens: 77, top_p: 0.9 });
    // Anthropic requires a limit, and its client then sends that of the model.
    expect(own(api, body)).toEqual([1, api === 'anthropic' ? (expect.any(Number) as number) : undefined]);
    expect(own(api, body)[1]).not.toBe(77);
  });

  test('passes on the options of a caller, below those of the operator', async () => {
    await using server = await refusing();
    const params = { top_p: 0.5, safetySettings: [{ threshold: 'BLOCK_ALL' }], nested: { fixed: 1 } };
    const provider_options = {
      top_p: 1,
      seed: 7,
      nested: { fixed: 2, Fixed: 3, free: true },
      safety_settings: [{ threshold: 'OFF' }],
    };
    await call({ type, provider_options }, { providers: at(server, api, { params }) });
    const body = bodyOf(server);
    expect(body).toMatchObject({ top_p: 0.5, seed: 7, safetySettings: params.safetySettings });
    expect(body['nested']).toEqual({ fixed: 1, free: true });
    expect(body).not.toHaveProperty('safety_settings');
  });

  test('keeps the limit of the directive, whatever a caller puts in the place of what holds it', async () => {
    await using server = await refusing();
    for (const provider_options of [
      { generationConfig: null },
      { generation_config: { topK: 1 } },
      { generationConfig: [] },
    ])
      await call({ type, provider_options, max_tokens: 9 }, { providers: at(server, api, {}) });
    expect(server.seen.map((_request, index) => own(api, bodyOf(server, index))[1])).toEqual([9, 9, 9]);
  });
});

describe('what a caller may set', () => {
  test('is limited by the names that the configuration allows', async () => {
    await using server = await refusing();
    const providers = at(server, 'compatible', {}, { callerNames: ['seed'] });
    const result = await call(
      { type: 'llm_generate', provider_options: { seed: 1, top_k: 2 } },
      { providers },
    );
    expect(errorIn(result)).toMatchObject({
      type: 'validation_error',
      details: { field: 'provider_options.top_k' },
    });
    expect(server.seen).toHaveLength(0);
    await call({ type: 'llm_generate', provider_options: { seed: 1 } }, { providers });
    expect(bodyOf(server)).toMatchObject({ seed: 1 });
  });

  test('reaches the embeddings, too', async () => {
    await using server = await refusing();
    const providers = at(server, 'compatible', { params: { encoding_format: null } });
    await call({ type: 'llm_embed', provider_options: { input_type: 'query' } }, { providers });
    expect(bodyOf(server)).toMatchObject({ input_type: 'query', input: ['one'] });
    expect(bodyOf(server)).not.toHaveProperty('encoding_format');
  });

  test('changes no prototype', async () => {
    await using server = await refusing();
    const params = JSON.parse('{"extra":{"__proto__":{"polluted":true}}}') as Record<string, unknown>;
    await call({ type: 'llm_generate' }, { providers: at(server, 'compatible', { params }) });
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    expect(server.seen).toHaveLength(1);
  });
});

describe('a model that is known to refuse a parameter', () => {
  const asked = async (model: string, provider: Record<string, unknown> = {}) => {
    await using server = await refusing();
    const local = { type: 'openai-compatible', base_url: `${server.url}/v1`, ...provider };
    const providers = modelProviders(parse({ providers: { p: local } }));
    await call({ type: 'llm_generate' }, { providers, context: { models: [`p:${model}`] } });
    const { temperature, max_tokens, max_completion_tokens } = bodyOf(server);
    return { temperature, max_tokens, max_completion_tokens };
  };

  // OpenAI: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
  test.each(['o3-mini', 'gpt-5', 'openai/gpt-5.1-mini', 'GPT-6'])(
    '%s gets max_completion_tokens alone',
    async (model) => {
      expect(await asked(model)).toEqual({ max_completion_tokens: 1024 });
    },
  );

  // Anthropic: "`temperature` is deprecated for this model." Moonshot: "only 1 is allowed for this model".
  test.each([
    'claude-opus-4-7',
    'anthropic/claude-opus-4.8',
    'us.anthropic.claude-opus-5',
    'claude-sonnet-5-20260601',
    'kimi-k2.5',
    'moonshotai/Kimi-K3',
  ])('%s gets no temperature', async (model) => {
    expect(await asked(model)).toEqual({ max_tokens: 1024 });
  });

  test.each([
    'gpt-4o',
    'gpt-5-chat-latest',
    'gpt-oss-120b',
    'claude-opus-4-20250514',
    'claude-3-5-sonnet',
    'llama3.2',
  ])('%s takes both', async (model) => {
    expect(await asked(model)).toEqual({ temperature: 0.2, max_tokens: 1024 });
  });

  test('gets it where the configuration says so, for the provider or for the model', async () => {
    const as = { as: 'temperature' };
    expect(await asked('kimi-k2.5', { params: { temperature: as } })).toMatchObject({ temperature: 0.2 });
    const models = { 'kimi-k2.5': { params: { temperature: 1 } } };
    expect(await asked('kimi-k2.5', { params: { temperature: null }, models })).toMatchObject({
      temperature: 1,
    });
  });
});

describe('a server without some of the API', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

  test('gets no stream_options when they are set to null', async () => {
    await using server = await refusing();
    await call(
      { type: 'llm_stream' },
      { providers: at(server, 'compatible', { params: { stream_options: null } }) },
    );
    expect(bodyOf(server)).toMatchObject({ stream: true });
    expect(bodyOf(server)).not.toHaveProperty('stream_options');
  });

  test.each([
    ['json_object', { type: 'json_object' }],
    ['prompt', undefined],
  ] as const)(
    'that knows no json_schema reads the schema in the instructions: %s',
    async (structuredOutput, format) => {
      await using server = await refusing();
      const providers = at(server, 'compatible', { structuredOutput });
      await call({ type: 'llm_generate', output_schema: schema, system_prompt: 'Be brief.' }, { providers });
      const { response_format, messages } = bodyOf(server);
      expect(response_format).toEqual(format);
      const [system, ...others] = messages as { role: string; content: string }[];
      expect(system).toMatchObject({
        role: 'system',
        content: expect.stringMatching(/^Be brief\.\n\n.*JSON Schema:\n\{/s) as string,
      });
      expect(others.map(({ role }) => role)).toEqual(['user']);
    },
  );

  test('that knows it gets it, without a word in the instructions', async () => {
    await using server = await refusing();
    await call({ type: 'llm_generate', output_schema: schema }, { providers: at(server, 'compatible', {}) });
    expect(bodyOf(server)).toMatchObject({ response_format: { type: 'json_schema' } });
    expect(JSON.stringify(bodyOf(server)['messages'])).not.toContain('JSON Schema');
  });
});
