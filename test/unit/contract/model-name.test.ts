/** Names of models: how they are read, what aliases stand for, and the errors when no model can answer.
 *  It must never need a provider. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  BUILT_IN_PROVIDERS,
  DEFAULT_ALIASES,
  modelLane,
  type ModelTable,
  parseModelName,
  resolveModels,
} from '../../../src/contract/model/model-name.ts';
import { anyCharacter } from '../../support/any-character.ts';

function table(providers: readonly string[], aliases: Record<string, string[]> = {}): ModelTable {
  return {
    aliases: new Map([...DEFAULT_ALIASES, ...Object.entries(aliases)]),
    providers: new Map(providers.map((name) => [name, { type: name }])),
  };
}

function names(choice: Parameters<typeof resolveModels>[0], known: ModelTable): readonly string[] {
  const resolved = resolveModels(choice, known);
  if (!resolved.ok) throw new Error(resolved.error.message);
  return resolved.models.map(({ name }) => name);
}

function error(choice: Parameters<typeof resolveModels>[0], known: ModelTable) {
  const resolved = resolveModels(choice, known);
  if (resolved.ok) throw new Error('nothing was refused');
  return resolved.error;
}

describe('a name', () => {
  test('is a provider and a model, which may hold colons', () => {
    expect(parseModelName('local:llama3:8b')).toEqual({
      provider: 'local',
      model: 'llama3:8b',
      name: 'local:llama3:8b',
    });
    expect(modelLane('local')).toBe('llm.local');
  });

  test.each(['', 'gpt', ':gpt', 'openai:', 'open ai:gpt', '{x}:gpt', 'openai:a\nb', `${'p'.repeat(65)}:m`])(
    '%j is not a model name',
    (name) => {
      expect(parseModelName(name)).toBeNull();
    },
  );
});

describe('a name in a URL', () => {
  const misleading = [
    'google:../../../admin/keys?x=',
    'google:..',
    'google:a/../b',
    'google:.\t./b',
    'google:m?alt=x',
    'google:m#x',
    'google:a\\..\\b',
    'google:%2e%2e/admin',
    'google:/admin',
    'google://evil.example/m',
    'google:a/./b',
    'google:.',
    'google:m/',
    'google:a\u0000b',
    'google:a\u2028b',
  ];

  test.each(misleading)('%j is not a model name, and the error says why', (name) => {
    expect(parseModelName(name)).toBeNull();
    expect(error({ model: name }, table(['google']))).toMatchObject({ type: 'unknown_model' });
  });

  test('the error names the forbidden characters', () => {
    expect(error({ model: 'google:../x' }, table(['google'])).message).toContain('must not hold .. ? #');
  });

  test.each([
    'openrouter:anthropic/claude-3.5-sonnet:beta',
    'google:models/gemini-2.5-flash',
    'google:tunedModels/mine-1',
    'local:hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M',
    'local:Qwen/Qwen2.5@main',
    'p:.hidden',
    'p:v1.',
    'p:Mein Modell',
  ])('%s is a model name, and stays in its place of the URL', (name) => {
    const ref = parseModelName(name);
    expect(ref?.name).toBe(name);
    const url = new URL(`https://host/v1/models/${ref?.model}:generate`);
    expect(decodeURI(url.pathname)).toBe(`/v1/models/${ref?.model}:generate`);
    expect(url.search + url.hash).toBe('');
  });

  test('no text leaves its place in the URL', () => {
    const parts = fc.constantFrom(
      '..',
      '.',
      '/',
      '\\',
      '%2e',
      '?',
      '#',
      ':',
      '@',
      'a',
      '\t',
      '\u0000',
      ';',
      '\u{ff0e}',
    );
    const text = fc.oneof(
      fc.array(parts).map((list) => list.join('')),
      fc.string({ unit: anyCharacter }),
    );
    fc.assert(
      fc.property(text, (model) => {
        const ref = parseModelName(`p:${model}`);
        if (ref === null) return;
        const url = new URL(`https://host/v1/models/${ref.model}:generate`);
        expect(url.host).toBe('host');
        expect(url.pathname).toMatch(/^\/v1\/models\/[^/].*:generate$/);
        expect(url.search + url.hash).toBe('');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a choice', () => {
  test('of a model wins over the alias; an empty one leaves it to the alias', () => {
    const known = table(['anthropic', 'openai']);
    expect(names({ model: 'openai:gpt-x', model_alias: 'fast' }, known)).toEqual(['openai:gpt-x']);
    expect(names({ model: '', model_alias: 'fast' }, known)).toEqual(['anthropic:claude-haiku-4-5']);
  });

  test('of a model may be an alias', () => {
    expect(names({ model: 'embedding' }, table(['openai']))).toEqual(['openai:text-embedding-3-small']);
  });

  test('of a chain is what can be reached of it, in order', () => {
    const chain = { fast: ['openai:a', 'mistral:b', 'anthropic:c'] };
    expect(names({ model_alias: 'fast' }, table(['anthropic', 'openai'], chain))).toEqual([
      'openai:a',
      'anthropic:c',
    ]);
  });

  test('of a chain is a script only when it has no reachable model', () => {
    const chain = { fast: ['anthropic:a', 'scripted:turns', 'openai:b'] };
    expect(names({ model_alias: 'fast' }, table(['scripted'], chain))).toEqual(['scripted:turns']);
    expect(names({ model_alias: 'fast' }, table(['scripted', 'openai'], chain))).toEqual(['openai:b']);
    expect(names({ model: 'scripted:turns' }, table(['scripted', 'openai']))).toEqual(['scripted:turns']);
  });

  test('of a chain skips models that no worker serves at present, unless there are no others', () => {
    const chain = { fast: ['anthropic:a', 'scripted:turns'] };
    const known = table(['scripted'], chain);
    const away = {
      ...known,
      providers: new Map([...known.providers, ['anthropic', { type: 'anthropic', served: false }]]),
    };
    expect(names({ model_alias: 'fast' }, away)).toEqual(['scripted:turns']);
    expect(names({ model: 'anthropic:a' }, away)).toEqual(['anthropic:a']);
  });

  test('by the default aliases is of a provider that is built in', () => {
    const providers = [...DEFAULT_ALIASES.values()]
      .flat()
      .map((name) => parseModelName(name)?.provider ?? '');
    expect(providers.filter((provider) => !BUILT_IN_PROVIDERS.has(provider))).toEqual([]);
    expect([...DEFAULT_ALIASES.keys()]).toEqual([
      'fast',
      'capable',
      'thinking',
      'reasoning',
      'planning',
      'image',
      'embedding',
    ]);
  });
});

describe('a choice that no model can answer', () => {
  test('of a built-in provider says which variable to set', () => {
    expect(error({ model: 'anthropic:claude-x' }, table([]))).toMatchObject({
      type: 'unknown_model',
      retryable: false,
      message: expect.stringContaining('set ANTHROPIC_API_KEY for the workers') as string,
      details: {
        field: 'model',
        model: 'anthropic:claude-x',
        missing_providers: ['anthropic'],
        providers: [],
      },
    });
    expect(error({ model: 'google:gemini-x' }, table([])).message).toContain(
      'set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY',
    );
  });

  test('of another provider says where it is configured', () => {
    const { message, details } = error({ model: 'mistral:x' }, table(['openai']));
    expect(message).toContain('configure providers.mistral');
    expect(details).toMatchObject({ providers: ['openai'] });
  });

  test('of an alias names every remedy', () => {
    const known = table([], { fast: ['openai:a', 'local:b', 'openai:c'] });
    const { message, details } = error({ model_alias: 'fast' }, known);
    expect(message).toBe(
      'no model for "fast": none of openai, local is available; set OPENAI_API_KEY for the workers, or configure providers.local',
    );
    expect(details).toMatchObject({
      field: 'model_alias',
      model_alias: 'fast',
      missing_providers: ['openai', 'local'],
    });
  });

  test('of an unknown alias lists the known ones', () => {
    for (const choice of [{ model: 'swift' }, { model_alias: 'swift' }, { model_alias: 'openai:gpt-x' }]) {
      const { message, details } = error(choice, table(['openai']));
      expect(message).toContain('known aliases: fast, capable, thinking');
      expect(details['aliases']).toContain('embedding');
    }
  });
});
