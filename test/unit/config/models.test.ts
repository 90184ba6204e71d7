/** Providers and aliases of the configuration: their defaults, their faults by path, and where keys come from.
 *  It must never show a key. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig, parseConfig, requireKeys } from '../../../src/config/config.ts';
import type { Environment } from '../../../src/config/environment-values.ts';
import { fault, parse } from '../../support/parsed-config.ts';
import { modelProviders } from '../../../src/service/roles/model-providers.ts';
import { limitsOf } from '../../../src/service/roles/model-role.ts';

const KEY = 'sk-hunter2-hunter2';

const local = { type: 'openai-compatible', base_url: 'http://127.0.0.1:11434/v1' };

describe('the cache of prompts', () => {
  const made = (providers: object) =>
    modelProviders(parse({ providers }, { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY }));
  const ref = (provider: string, model = 'm') => ({ provider, model, name: `${provider}:${model}` });

  test('is on by default, where the provider has one that must be asked for', () => {
    const providers = made({ local });
    expect(providers.promptCache(ref('anthropic'))).toBe('5m');
    expect(providers.promptCache(ref('openai'))).toBe('key');
    expect(providers.promptCache(ref('local'))).toBe('off');
    expect(providers.promptCache(ref('absent'))).toBe('off');
  });

  test('is set for a provider, and for one of its models', () => {
    const models = { short: { prompt_cache: '5m' } };
    const providers = made({
      anthropic: { prompt_cache: '1h', models },
      openai: { prompt_cache_key: false },
    });
    expect(providers.promptCache(ref('anthropic'))).toBe('1h');
    expect(providers.promptCache(ref('anthropic', 'short'))).toBe('5m');
    expect(providers.promptCache(ref('openai'))).toBe('off');
  });

  test('is refused as a setting of a provider that has none', () => {
    expect(fault(() => parse({ providers: { local: { ...local, prompt_cache: '5m' } } })).message).toContain(
      'prompt_cache',
    );
    const models = { m: { prompt_cache: '5m' } };
    expect(fault(() => parse({ providers: { local: { ...local, models } } })).message).toContain(
      'prompt_cache',
    );
  });

  // Anthropic's price list: reads 0.1, writes 1.25 (5 minutes) and 2 (1 hour) times the price of input, for all models.
  test('has Anthropic’s prices where none are configured', () => {
    const price = { input: 10, output: 50 };
    const priced = (type: string, fields: object = {}, of: object = price) =>
      made({ [type]: { ...fields, models: { m: { price: of } } } }).price(ref(type));
    expect(priced('anthropic')).toEqual({ ...price, cacheRead: 1, cacheWrite: 12.5 });
    expect(priced('anthropic', { prompt_cache: '1h' })).toEqual({ ...price, cacheRead: 1, cacheWrite: 20 });
    expect(priced('anthropic', {}, { ...price, cache_read: 2, cache_write: 3 })).toEqual({
      ...price,
      cacheRead: 2,
      cacheWrite: 3,
    });
    const whole = { ...price, cacheRead: 10, cacheWrite: 10 };
    expect(priced('anthropic', { prompt_cache: 'off' })).toEqual(whole);
    expect(priced('openai')).toEqual(whole);
  });
});

describe('what a provider accepts as messages', () => {
  test('is by its type, and for chat completions by its settings and the model', () => {
    const settings = { ...local, reasoning_history: 'none', assistant_after_tools: false };
    const providers = modelProviders(
      parse({ providers: { local, set: settings } }, { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY }),
    );
    const rules = (provider: string, model = 'm') =>
      providers.promptRules({ provider, model, name: `${provider}:${model}` });
    const open = { systemAnywhere: true, assistantAfterTools: false, reasoning: null, argumentNames: null };
    expect(rules('openai')).toEqual(open);
    const argumentNames = expect.any(RegExp) as RegExp;
    expect(rules('anthropic')).toEqual({ ...open, systemAnywhere: false, argumentNames });
    expect(rules('local')).toEqual({
      ...open,
      systemAnywhere: false,
      reasoning: { provider: 'local', history: 'as_received' },
    });
    expect(rules('local', 'mistralai/Ministral-8B').assistantAfterTools).toBe(true);
    expect(rules('set', 'mistral')).toEqual({
      ...open,
      systemAnywhere: false,
      reasoning: { provider: 'set', history: 'none' },
    });
  });
});

describe('a provider', () => {
  test('that needs only a key exists when its variable is set', () => {
    expect([...parse({}, { ANTHROPIC_API_KEY: KEY }).providers.keys()]).toEqual(['anthropic']);
    expect([...parse({}, { GEMINI_API_KEY: KEY }).providers.keys()]).toEqual(['google']);
    expect(parse({}, { OPENAI_API_KEY: '' }).providers.size).toBe(0);
    expect(parse({}, { OPENAI_API_KEY: '  ' }).providers.size).toBe(0);
  });

  test('that is disabled is left out though its key is set', () => {
    const { providers } = parse({ providers: { openai: { disabled: true } } }, { OPENAI_API_KEY: KEY });
    expect(providers.size).toBe(0);
  });

  test('with the name of a type has that type, or another one if given', () => {
    expect(parse({ providers: { openai: {} } }).providers.get('openai')).toMatchObject({
      type: 'openai',
      api: 'responses',
    });
    expect(parse({ providers: { openai: local } }).providers.get('openai')).toMatchObject(local);
  });

  test('has a lane with the time limits of models', () => {
    const { providers } = parse({ providers: { local: { ...local, lane: { concurrency: 3 } } } });
    expect(providers.get('local')?.lane).toEqual({
      concurrency: 3,
      max_queued: 10_000,
      timeout_ms: 120_000,
      idle_timeout_ms: 60_000,
    });
  });

  test('takes its key from the variable it names, the first that is set', () => {
    const named = { providers: { eu: { type: 'openai', api_key_env: 'EU_KEY' } } };
    expect(parse(named, { EU_KEY: KEY, OPENAI_API_KEY: 'other' }).providers.get('eu')?.key.read()).toBe(KEY);
    const both = { GEMINI_API_KEY: 'second', GOOGLE_GENERATIVE_AI_API_KEY: ` ${KEY}\n` };
    expect(parse({}, both).providers.get('google')?.key.read()).toBe(KEY);
  });
});

describe('a configured provider without its key', () => {
  const raw = { providers: { anthropic: {}, eu: { type: 'openai', api_key_env: 'EU_KEY' }, local } };

  test('is known, but does not let a worker start; the message names the variable', () => {
    const config = parse(raw);
    expect([...config.providers.keys()]).toEqual(['anthropic', 'eu', 'local']);
    expect(fault(() => requireKeys(config)).errors).toEqual([
      { path: 'providers.anthropic', message: expect.stringContaining('ANTHROPIC_API_KEY') as string },
      { path: 'providers.eu', message: expect.stringContaining('EU_KEY') as string },
    ]);
  });

  test('is a fault only where a key is needed', () => {
    expect(() => requireKeys(parse({ providers: { local, offline: { type: 'scripted' } } }))).not.toThrow();
    const named = parse({ providers: { local: { ...local, api_key_env: 'LOCAL_KEY' } } });
    expect(fault(() => requireKeys(named)).message).toContain('LOCAL_KEY');
  });
});

describe('an alias', () => {
  test('is one model or a chain, of configured and built-in providers', () => {
    const { models } = parse({
      providers: { local },
      models: { fast: 'local:llama3:8b', capable: ['anthropic:claude-x', 'openai:gpt-x'] },
    });
    expect(Object.fromEntries(models)).toEqual({
      fast: ['local:llama3:8b'],
      capable: ['anthropic:claude-x', 'openai:gpt-x'],
    });
  });
});

const provider = (fields: object) => ({ providers: { local: { ...local, ...fields } } });

describe('each fault names its path', () => {
  test.each<[string, unknown]>([
    ['providers', { providers: [] }],
    ['providers.a', { providers: { a: 7 } }],
    ['providers.a.type', { providers: { a: {} } }],
    ['providers.a.type', { providers: { a: { type: 'mistral' } } }],
    ['providers.local.base_url', { providers: { local: { type: 'openai-compatible' } } }],
    ['providers.local.base_url', provider({ base_url: 'file:///etc/passwd' })],
    ['providers.local.key', provider({ key: KEY })],
    ['providers.local.api_key', provider({ api_key: KEY })],
    ['providers.local.api_key_env', provider({ api_key_env: KEY })],
    ['providers.local.api_key_env', provider({ api_key_env: 'AIzaSyHunter2' })],
    ['providers.local.api', provider({ api: 'chat' })],
    ['providers.local.lane.concurrency', provider({ lane: { concurrency: 0 } })],
    ['providers.local.lane.idle_timeout_ms', provider({ lane: { idle_timeout_ms: 0 } })],
    ['providers.local.requests_per_minute', provider({ requests_per_minute: 0 })],
    ['providers.local.tokens_per_minute', provider({ tokens_per_minute: 0.5 })],
    ['providers.local.models.m.price.output', provider({ models: { m: { price: { input: 1 } } } })],
    [
      'providers.local.models.m.price.input',
      provider({ models: { m: { price: { input: -1, output: 1 } } } }),
    ],
    ['providers.local.models.m.rpm', provider({ models: { m: { rpm: 1 } } })],
    ['providers.offline.pace', { providers: { offline: { type: 'scripted', pace: 0 } } }],
    ['models', { models: [] }],
    ['models.fast', { models: { fast: 'gpt-x' } }],
    ['models.fast', { models: { fast: [] } }],
    ['models.fast', { models: { fast: 7 } }],
    ['models.fast[1]', { models: { fast: ['openai:gpt-x', 'gpt-y'] } }],
    ['models.fast', { models: { fast: 'mistral:x' } }],
    ['models.fast[1]', { models: { fast: ['openai:gpt-x', 'mistral:x'] } }],
  ])('%s', (path, raw) => {
    expect(fault(() => parse(raw)).errors.map((error) => error.path)).toEqual([path]);
  });

  test('and all of them are reported at once', () => {
    const error = fault(() => parse({ providers: { a: {}, b: 7 }, models: { fast: 'mistral:x' } }));
    expect(error.errors.map(({ path }) => path)).toEqual(['providers.a.type', 'providers.b', 'models.fast']);
  });

  test('an alias that could be taken for a model', () => {
    expect(fault(() => parse({ models: { 'openai:fast': 'openai:x' } })).message).toContain('models');
  });
});

test('the texts of one embedding call are configured by model', () => {
  const models = { e: { embedding_batch: 32 }, other: {} };
  const providers = modelProviders(parse(provider({ models })));
  const batchOf = (model: string) =>
    providers.embeddingBatch({ provider: 'local', model, name: `local:${model}` });
  expect(['e', 'other', 'unknown'].map(batchOf)).toEqual([32, null, null]);
  const none = provider({ models: { e: { embedding_batch: 0 } } });
  expect(fault(() => parse(none)).errors.map(({ path }) => path)).toEqual([
    'providers.local.models.e.embedding_batch',
  ]);
});

describe('a key', () => {
  test('is not in a dump of the configuration, in whatever form', () => {
    const config = parse({ providers: { openai: {} } }, { OPENAI_API_KEY: KEY, ANTHROPIC_API_KEY: KEY });
    expect(config.providers.get('openai')?.key.read()).toBe(KEY);
    const dumps = [
      JSON.stringify([...config.providers]),
      inspect(config, { depth: 9 }),
      JSON.stringify(config),
    ];
    for (const dump of dumps) expect(dump).not.toContain('hunter2');
  });

  test('in place of its variable is not shown', () => {
    const error = fault(() => parse(provider({ api_key_env: '${S}' }), { S: KEY }));
    expect(error.message).not.toContain('hunter2');
    const aliased = fault(() => parse({ models: { fast: '${S}:x' } }, { S: KEY }));
    expect(aliased.message).not.toContain('hunter2');
  });
});

describe('the example of models', () => {
  const example = (environment: Environment) => loadConfig('examples/models/adjutant.json', environment);

  test('is valid with the key that it names', async () => {
    const config = example({ ANTHROPIC_API_KEY: KEY });
    const providers = modelProviders(config);
    const named = [...config.models.values()].flat();
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) {
      const [provider = '', model = ''] = name.split(/:(.*)/s);
      expect(await providers.language({ provider, model, name })).not.toHaveProperty('error');
    }
    expect(providers.settings('local')).toEqual({ timeoutMs: 300_000, idleTimeoutMs: 60_000 });
    const haiku = { provider: 'anthropic', model: 'claude-haiku-4-5', name: 'anthropic:claude-haiku-4-5' };
    expect(providers.price(haiku)).toEqual({ input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 });
    expect(providers.isScripted('scripted')).toBe(true);
  });

  test('and names the key when it is missing', () => {
    expect(fault(() => modelProviders(example({}))).message).toContain('ANTHROPIC_API_KEY');
  });
});

describe('an unusable script', () => {
  test.each([
    ['missing.json', 'cannot be read'],
    ['README.md', 'is not JSON'],
    ['adjutant.json', 'providers is not a known key'],
  ])('%s: %s', (file, message) => {
    const raw = { providers: { offline: { type: 'scripted', file } } };
    const config = parseConfig(raw, { source: 'test', directory: 'examples/models', environment: {} });
    expect(fault(() => modelProviders(config)).message).toContain(message);
  });
});

test('limits are those of the provider and of the model itself', () => {
  const limited = { requests_per_minute: 60, models: { m: { tokens_per_minute: 1_000 } } };
  const of = limitsOf(parse(provider(limited)));
  const none = { requests: null, tokens: null };
  const ref = (name: string) => ({ provider: 'local', model: name, name: `local:${name}` });
  expect(of(ref('m'))).toEqual({
    provider: { requests: 60, tokens: null },
    model: { requests: null, tokens: 1_000 },
  });
  expect(of(ref('other'))).toEqual({ provider: { requests: 60, tokens: null }, model: none });
  expect(of(ref('toString'))).toEqual({ provider: { requests: 60, tokens: null }, model: none });
  expect(of({ provider: 'x', model: 'm', name: 'x:m' })).toEqual({ provider: none, model: none });
});
