/** Bedrock, Vertex and Azure against servers that answer as their public API references say, credentials included.
 *  It must never reach a real provider, nor show that one accepts what was sent. */
import { createHash, createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { requireKeys } from '../../../src/config/config.ts';
import { modelProviders } from '../../../src/service/roles/model-providers.ts';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { call, errorIn, told, turnIn } from '../../support/model-calls.ts';
import { parse } from '../../support/parsed-config.ts';
import {
  type Answer,
  bodyOf,
  json,
  type ProviderServer,
  sse,
  startProvider,
  streamed,
} from '../../support/provider-server.ts';

type Environment = Readonly<Record<string, string>>;
type Fields = Partial<SubmittedDirective> & { type: 'llm_stream' | 'llm_generate' | 'llm_embed' };

const AWS = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'secret-of-aws-0123',
  AWS_SESSION_TOKEN: 'session-of-aws',
};
const tools = {
  'weather.get': {
    name: 'weather.get',
    description: 'Weather',
    input_schema: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

afterEach(() => vi.unstubAllEnvs());

function configured(provider: Record<string, unknown>, environment: Environment) {
  return parse({ providers: { p: provider } }, environment);
}

async function asked(
  provider: Record<string, unknown>,
  environment: Environment,
  fields: Fields,
  model = 'm',
) {
  const providers = modelProviders(configured(provider, environment));
  return call(fields, { providers, tools, context: { models: [`p:${model}`] } });
}

/** A frame of `application/vnd.amazon.eventstream`: lengths, headers, payload and their checksums. */
function frame(type: string, payload: unknown, messageType = 'event'): Buffer {
  const name = messageType === 'event' ? ':event-type' : ':exception-type';
  const headers = Buffer.concat(
    [
      [name, type],
      [':content-type', 'application/json'],
      [':message-type', messageType],
    ].map(([key = '', value = '']) =>
      Buffer.concat([
        Buffer.from([key.length]),
        Buffer.from(key),
        Buffer.from([7, 0, value.length]),
        Buffer.from(value),
      ]),
    ),
  );
  const body = Buffer.from(JSON.stringify(payload));
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const message = Buffer.concat([prelude, headers, body]);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(message));
  return Buffer.concat([message, check]);
}

/** In chunks that end anywhere. */
function framed(...frames: Buffer[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
    const bytes = Buffer.concat(frames);
    for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
    response.end();
  };
}

const METADATA = frame('metadata', {
  usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
  metrics: { latencyMs: 1 },
});

/** Computed here anew from what arrived, by the public rules of Signature Version 4. */
function signatureOf(server: ProviderServer, body: string): string {
  const [request] = server.seen;
  if (!request) throw new Error('nothing was asked');
  const { headers, path } = request;
  const authorization = headers.authorization ?? '';
  const [, scope = '', names = ''] =
    /Credential=AKIDEXAMPLE\/([^,]+), SignedHeaders=([^,]+)/.exec(authorization) ?? [];
  const sha = (text: string): string => createHash('sha256').update(text).digest('hex');
  const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const signed = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  // A path is encoded once more than it is in the request.
  const canonicalPath = path.split('/').map(encodeURIComponent).join('/');
  const canonical = [
    'POST',
    canonicalPath,
    '',
    signed.join(''),
    names,
    headers['x-amz-content-sha256'] ?? sha(body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha(canonical)].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((left, part) => mac(left, part), `AWS4${AWS.AWS_SECRET_ACCESS_KEY}`);
  return mac(key, toSign).toString('hex');
}

describe('bedrock', () => {
  const at = (server: ProviderServer, more = {}) => ({
    type: 'bedrock',
    region: 'eu-central-1',
    base_url: server.url,
    ...more,
  });
  const CONVERSE = {
    output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 5, outputTokens: 3, totalTokens: 8 },
  };

  test('answers at once, signed after the operator’s parameters were set', async () => {
    await using server = await startProvider(json(200, CONVERSE));
    const params = {
      guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1' },
      temperature: null,
    };
    const answer = await asked(
      at(server, { params }),
      AWS,
      { type: 'llm_generate' },
      'amazon.nova-lite-v1:0',
    );
    expect(turnIn(answer)).toMatchObject({ text: 'Hello.', usage: { input_tokens: 5, output_tokens: 3 } });
    const [request] = server.seen;
    expect(request?.path).toBe('/model/amazon.nova-lite-v1%3A0/converse');
    expect(bodyOf(server)).toMatchObject({
      inferenceConfig: { maxTokens: 1024 },
      guardrailConfig: params.guardrailConfig,
    });
    expect(bodyOf(server)['inferenceConfig']).not.toHaveProperty('temperature');
    expect(request?.headers['x-amz-security-token']).toBe(AWS.AWS_SESSION_TOKEN);
    expect(request?.headers.authorization).toContain('/eu-central-1/bedrock/aws4_request');
    expect(request?.headers.authorization).toMatch(
      new RegExp(`Signature=${signatureOf(server, JSON.stringify(bodyOf(server)))}$`),
    );
  });

  test('sends the key of the environment instead, where there is one', async () => {
    await using server = await startProvider(json(200, CONVERSE));
    const environment = { ...AWS, AWS_BEARER_TOKEN_BEDROCK: 'bearer-of-bedrock' };
    turnIn(await asked(at(server), environment, { type: 'llm_generate' }));
    expect(server.seen[0]?.headers.authorization).toBe('Bearer bearer-of-bedrock');
    expect(server.seen[0]?.headers['x-amz-date']).toBeUndefined();
  });

  test('streams text and a call of a tool from binary frames', async () => {
    const use = { toolUse: { toolUseId: 't1', name: 'weather_get' } };
    await using server = await startProvider(
      framed(
        frame('messageStart', { role: 'assistant' }),
        frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Let me ' } }),
        frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'see.' } }),
        frame('contentBlockStop', { contentBlockIndex: 0 }),
        frame('contentBlockStart', { contentBlockIndex: 1, start: use }),
        frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"city":' } } }),
        frame('contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '"Oslo"}' } } }),
        frame('contentBlockStop', { contentBlockIndex: 1 }),
        frame('messageStop', { stopReason: 'tool_use' }),
        METADATA,
      ),
    );
    const answer = await asked(at(server), AWS, { type: 'llm_stream', tools: ['weather.get'] });
    expect(told(answer, 'content')).toBe('Let me see.');
    expect(turnIn(answer)).toMatchObject({
      type: 'tool_calls',
      tool_calls: [{ id: 't1', name: 'weather.get', arguments: { city: 'Oslo' } }],
      usage: { input_tokens: 5, output_tokens: 3 },
    });
    expect(server.seen[0]?.path).toBe('/model/m/converse-stream');
  });

  test('gets instructions only before the first message, which is all that Converse has a place for', async () => {
    await using server = await startProvider(json(200, CONVERSE));
    const context = [
      { role: 'user', content: 'Hi.' },
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Well?' },
    ] as const;
    turnIn(
      await asked(at(server), AWS, { type: 'llm_generate', context: [...context], system_prompt: 'S.' }),
    );
    const { system, messages } = bodyOf(server);
    expect(system).toEqual([{ text: 'S.' }]);
    expect(JSON.stringify(messages)).toContain('Be brief.');
  });

  test('an exception in the stream is a failed attempt', async () => {
    await using server = await startProvider(
      framed(
        frame('messageStart', { role: 'assistant' }),
        frame('throttlingException', { message: 'Too many requests' }, 'exception'),
      ),
    );
    const answer = await asked(at(server), AWS, { type: 'llm_stream' });
    expect(errorIn(answer).message).toContain('Too many requests');
  });

  test('a frame that announces gigabytes ends the answer', async () => {
    const head = Buffer.alloc(12, 0x7f);
    await using server = await startProvider(framed(frame('messageStart', { role: 'assistant' }), head));
    const answer = await asked(at(server), AWS, { type: 'llm_stream' });
    expect(errorIn(answer).message).toContain('has a frame of no byte, or of more than 1048576');
  });

  test('embeds, one text a request', async () => {
    await using server = await startProvider(json(200, { embedding: [0.5, 0.25], inputTextTokenCount: 2 }));
    const answer = await asked(
      at(server),
      AWS,
      { type: 'llm_embed', texts: ['a', 'b'] },
      'amazon.titan-embed-text-v2:0',
    );
    expect(answer.execution.result).toMatchObject({
      ok: true,
      payload: {
        count: 2,
        embeddings: [
          [0.5, 0.25],
          [0.5, 0.25],
        ],
      },
    });
    expect(server.seen.map(({ path }) => path)).toEqual(
      Array(2).fill('/model/amazon.titan-embed-text-v2%3A0/invoke'),
    );
  });

  test('a limit is a rate limit, and shows no credential', async () => {
    await using server = await startProvider((response, { headers }) =>
      json(429, { message: `Too many requests: ${JSON.stringify(headers)} ${AWS.AWS_SECRET_ACCESS_KEY}` })(
        response,
        {} as never,
        0,
      ),
    );
    const error = errorIn(await asked(at(server), AWS, { type: 'llm_generate' }));
    expect(error).toMatchObject({ type: 'rate_limited', retryable: true });
    for (const secret of Object.values(AWS).slice(1)) expect(JSON.stringify(error)).not.toContain(secret);
  });

  test('needs a key or both variables of AWS', () => {
    const file = { type: 'bedrock', region: 'eu-central-1' };
    expect(() => requireKeys(configured(file, AWS))).not.toThrow();
    expect(() => requireKeys(configured(file, { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE' }))).toThrow(
      /AWS_BEARER_TOKEN_BEDROCK or AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY is not set/,
    );
    expect(() => configured({ type: 'bedrock' }, AWS)).toThrow(/region/);
    expect(() => configured({ type: 'bedrock', region: 'x@127.0.0.1/' }, AWS)).toThrow(/region/);
  });
});

const GEMINI = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, totalTokenCount: 8 },
};

/** A workload identity: its token is exchanged at an address of its own, as in Kubernetes. */
async function workloadIdentity(tokenUrl: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-vertex-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'subject'), 'subject-token');
  const path = join(folder, 'credentials.json');
  await writeFile(
    path,
    JSON.stringify({
      type: 'external_account',
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: tokenUrl,
      credential_source: { file: join(folder, 'subject') },
    }),
  );
  return path;
}

describe('vertex', () => {
  test('answers with the key of a project, and streams', async () => {
    const environment = { GOOGLE_VERTEX_API_KEY: 'key-of-vertex' };
    const file = { type: 'vertex', api_key_env: 'GOOGLE_VERTEX_API_KEY' };
    await using whole = await startProvider(json(200, GEMINI));
    const answer = await asked(
      { ...file, base_url: whole.url },
      environment,
      { type: 'llm_generate' },
      'gemini-2.5-flash',
    );
    expect(turnIn(answer)).toMatchObject({ text: 'Hello.', usage: { input_tokens: 5, output_tokens: 3 } });
    expect(whole.seen[0]).toMatchObject({
      path: '/publishers/google/models/gemini-2.5-flash:generateContent',
      headers: { 'x-goog-api-key': 'key-of-vertex' },
    });
    const called = {
      ...GEMINI,
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ functionCall: { name: 'weather_get', args: { city: 'Oslo' } } }],
          },
          finishReason: 'STOP',
          index: 0,
        },
      ],
    };
    await using stream = await startProvider(streamed(sse([called])));
    const turn = turnIn(
      await asked(
        { ...file, base_url: stream.url },
        environment,
        { type: 'llm_stream', tools: ['weather.get'] },
        'gemini-2.5-flash',
      ),
    );
    expect(turn.tool_calls).toMatchObject([{ name: 'weather.get', arguments: { city: 'Oslo' } }]);
    expect(stream.seen[0]?.path).toContain(':streamGenerateContent');
  });

  test('takes the credentials of the environment, for Gemini, Claude and embeddings', async () => {
    const claude = {
      id: 'msg',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    };
    await using server = await startProvider((response, request, index) => {
      if (request.path.includes('/publishers/anthropic/')) return json(200, claude)(response, request, index);
      if (request.path.endsWith(':predict'))
        return json(200, {
          predictions: [{ embeddings: { values: [0.5], statistics: { token_count: 1 } } }],
        })(response, request, index);
      return json(200, GEMINI)(response, request, index);
    });
    await using tokens = await startTokens();
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', await workloadIdentity(tokens.url));
    // A key that the configuration does not name is not used.
    vi.stubEnv('GOOGLE_VERTEX_API_KEY', 'key-of-another');
    const file = { type: 'vertex', project: 'p1', location: 'europe-west1', base_url: server.url };
    expect(turnIn(await asked(file, {}, { type: 'llm_generate' }, 'gemini-2.5-flash')).text).toBe('Hello.');
    expect(turnIn(await asked(file, {}, { type: 'llm_generate' }, 'claude-sonnet-4-5@20250929')).text).toBe(
      'Hi.',
    );
    const vectors = await asked(file, {}, { type: 'llm_embed', texts: 'a' }, 'text-embedding-005');
    expect(vectors.execution.result).toMatchObject({ ok: true, payload: { embeddings: [[0.5]] } });
    expect(server.seen.map(({ path }) => path)).toEqual([
      '/publishers/google/models/gemini-2.5-flash:generateContent',
      '/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict',
      '/publishers/google/models/text-embedding-005:predict',
    ]);
    for (const { headers } of server.seen) {
      expect(headers.authorization).toBe('Bearer token-of-google');
      expect(headers).not.toHaveProperty('x-goog-api-key');
    }
  });

  test.each([
    [
      'global',
      'gemini-2.5-flash',
      'aiplatform.googleapis.com/v1beta1/projects/p1/locations/global/publishers/google/',
    ],
    [
      'us',
      'gemini-2.5-flash',
      'aiplatform.us.rep.googleapis.com/v1beta1/projects/p1/locations/us/publishers/google/',
    ],
    [
      'europe-west1',
      'claude-opus-4-1',
      'europe-west1-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west1/publishers/anthropic/',
    ],
  ])('in %s, %s has its public address', async (location, model, address) => {
    await using tokens = await startTokens();
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', await workloadIdentity(tokens.url));
    const urls: string[] = [];
    const fetching = vi.spyOn(globalThis, 'fetch').mockImplementation(async (input) => {
      urls.push(input instanceof Request ? input.url : String(input));
      return Response.json({ error: { message: 'no' } }, { status: 400 });
    });
    onTestFinished(() => fetching.mockRestore());
    await asked({ type: 'vertex', project: 'p1', location }, {}, { type: 'llm_generate' }, model);
    expect(urls.filter((url) => url.includes('googleapis.com'))).toEqual([
      expect.stringContaining(`https://${address}`),
    ]);
  });

  test('a limit is a rate limit, and shows no token', async () => {
    await using server = await startProvider((response, request, index) =>
      json(429, {
        error: {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          message: `Quota ${JSON.stringify(request.headers)}`,
        },
      })(response, request, index),
    );
    await using tokens = await startTokens();
    vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', await workloadIdentity(tokens.url));
    const file = { type: 'vertex', project: 'p1', base_url: server.url };
    const error = errorIn(await asked(file, {}, { type: 'llm_generate' }, 'gemini-2.5-flash'));
    expect(error).toMatchObject({ type: 'rate_limited', retryable: true });
    expect(JSON.stringify(error)).not.toContain('token-of-google');
  });

  test('needs a project or a key', () => {
    expect(() => configured({ type: 'vertex' }, {})).toThrow(/project or api_key_env is required/);
    expect(() => configured({ type: 'vertex', project: 'p1' }, {})).not.toThrow();
  });
});

/** The exchange of tokens has a form as its body, which the other server cannot read. */
async function startTokens() {
  const { createServer } = await import('node:http');
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        access_token: 'token-of-google',
        expires_in: 3600,
        token_type: 'Bearer',
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/token`,
    async [Symbol.asyncDispose](): Promise<void> {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const COMPLETION = {
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }],
  usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
};

describe('azure', () => {
  const environment = { AZURE_API_KEY: 'key-of-azure' };
  const at = (server: ProviderServer, more = {}) => ({
    type: 'azure',
    base_url: `${server.url}/openai`,
    ...more,
  });

  test('answers by its v1 API, with the name of the deployment as the model', async () => {
    const response = {
      id: 'r',
      object: 'response',
      created_at: 1,
      model: 'm',
      status: 'completed',
      output: [
        {
          type: 'message',
          id: 'm1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello.', annotations: [] }],
        },
      ],
      usage: { input_tokens: 5, output_tokens: 3, total_tokens: 8 },
    };
    await using server = await startProvider(json(200, response));
    const turn = turnIn(await asked(at(server), environment, { type: 'llm_generate' }, 'my-gpt'));
    expect(turn).toMatchObject({ text: 'Hello.', usage: { input_tokens: 5, output_tokens: 3 } });
    expect(server.seen[0]).toMatchObject({
      path: '/openai/v1/responses',
      headers: { 'api-key': 'key-of-azure' },
    });
    expect(bodyOf(server)).toMatchObject({ model: 'my-gpt', store: false });
  });

  test('answers by the addresses of deployments for an older version', async () => {
    await using server = await startProvider(json(200, COMPLETION));
    const file = at(server, {
      api: 'chat',
      api_version: '2024-10-21',
      params: { max_tokens: { as: 'max_completion_tokens' } },
    });
    expect(turnIn(await asked(file, environment, { type: 'llm_generate' }, 'my-gpt')).text).toBe('Hello.');
    expect(server.seen[0]?.path).toBe('/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21');
    expect(bodyOf(server)).toMatchObject({ max_completion_tokens: 1024 });
    expect(bodyOf(server)).not.toHaveProperty('max_tokens');
  });

  test('streams a call of a tool', async () => {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      id: 'c',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [{ index: 0, delta, finish_reason }],
    });
    // Azure begins with the findings of its filters about the prompt, and no choice.
    const filters = {
      id: '',
      object: '',
      created: 0,
      model: '',
      choices: [],
      prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
    };
    await using server = await startProvider(
      streamed(
        sse([
          filters,
          chunk({
            role: 'assistant',
            tool_calls: [
              { index: 0, id: 't1', type: 'function', function: { name: 'weather_get', arguments: '' } },
            ],
          }),
          chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city":"Oslo"}' } }] }),
          chunk({}, 'tool_calls'),
          '[DONE]',
        ]),
      ),
    );
    const answer = await asked(at(server, { api: 'chat' }), environment, {
      type: 'llm_stream',
      tools: ['weather.get'],
    });
    expect(turnIn(answer).tool_calls).toMatchObject([
      { id: 't1', name: 'weather.get', arguments: { city: 'Oslo' } },
    ]);
    expect(server.seen[0]?.path).toBe('/openai/v1/chat/completions');
  });

  test('embeds', async () => {
    await using server = await startProvider(
      json(200, {
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    );
    const answer = await asked(at(server), environment, { type: 'llm_embed', texts: 'a' });
    expect(answer.execution.result).toMatchObject({ ok: true, payload: { embeddings: [[0.5]] } });
    expect(server.seen[0]?.path).toBe('/openai/v1/embeddings');
  });

  test('a limit is a rate limit, and shows no key', async () => {
    await using server = await startProvider(
      json(
        429,
        { error: { code: '429', message: 'exceeded the token rate limit of key-of-azure' } },
        { 'retry-after': '9' },
      ),
    );
    const error = errorIn(await asked(at(server), environment, { type: 'llm_generate' }));
    expect(error).toMatchObject({ type: 'rate_limited', retryable: true });
    expect(JSON.stringify(error)).not.toContain('key-of-azure');
  });

  test('needs a resource or an address, and a key', () => {
    expect(() => configured({ type: 'azure' }, environment)).toThrow(/resource or base_url is required/);
    expect(() => requireKeys(configured({ type: 'azure', resource: 'r' }, {}))).toThrow(
      /AZURE_API_KEY is not set/,
    );
  });
});
