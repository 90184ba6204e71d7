// Parity with the directives of the upstream runtime: fields, requirements, defaults.
// Must never accept what upstream refuses, nor lose a field that upstream keeps.
import { describe, expect, test } from 'vitest';
import { agentDirectiveSchema } from '../../src/contract/run/agent-directive.ts';
import { type Directive, directiveSchema } from '../../src/contract/directive/directive.ts';
import { fieldErrors } from '../../src/contract/json/field-error.ts';

const identity = { id: 'd1', request_id: 'r1' };
const retryDefaults = {
  max_retries: 0,
  retry_backoff_ms: 0,
  backoff: 'fixed',
  max_backoff_ms: 30_000,
  jitter: 0,
  deadline_ms: 900_000,
};
const retryFull = {
  max_retries: 3,
  retry_backoff_ms: 100,
  backoff: 'exponential',
  max_backoff_ms: 5000,
  jitter: 0.5,
  deadline_ms: 60_000,
};
const llmRequired = { ...identity, model: 'openai:gpt-4o-mini', context: [{ role: 'user', content: 'hi' }] };
const llmDefaults = {
  metadata: {},
  tools: [],
  tool_choice: 'auto',
  max_tokens: 1024,
  temperature: 0.2,
  ...retryDefaults,
};
const llmFull = {
  ...llmRequired,
  model_alias: 'fast',
  context: { messages: [{ role: 'user', content: 'hi' }] },
  system_prompt: 'Be brief.',
  tools: ['everything.echo', { name: 'sum', input_schema: {} }],
  tool_choice: { required: 'sum' },
  max_tokens: 1,
  temperature: 0,
  timeout_ms: 1,
  output_schema: { type: 'object' },
  iteration: 0,
  metadata: { run_id: 'run' },
  ...retryFull,
};

interface Case {
  required: Record<string, unknown>;
  defaults: Record<string, unknown>;
  full: Record<string, unknown>;
}

const cases: Record<Directive['type'], Case> = {
  tool_exec: {
    required: { ...identity, tool_name: 'everything.echo' },
    defaults: { metadata: {}, arguments: {}, context: {}, ...retryDefaults },
    full: {
      ...identity,
      tool_name: 'echo',
      arguments: { message: 'hi', deep: [{ a: null }] },
      context: { state: { rev: 1 } },
      timeout_ms: 50,
      iteration: 2,
      server: 'everything',
      effect: 'once',
      metadata: { strategy: 'react' },
      ...retryFull,
    },
  },
  llm_stream: { required: llmRequired, defaults: llmDefaults, full: llmFull },
  llm_generate: { required: llmRequired, defaults: llmDefaults, full: llmFull },
  llm_embed: {
    required: { ...identity, model: 'm', texts: 'one' },
    defaults: { metadata: {}, ...retryDefaults },
    full: {
      ...identity,
      model: 'm',
      model_alias: 'embedding',
      texts: ['one', 'two'],
      dimensions: 256,
      timeout_ms: 10,
      metadata: { a: 1 },
      ...retryFull,
    },
  },
  llm_request: {
    required: { ...identity, model: 'm', wire: 'openai_chat', body: '{"model":"m"}' },
    defaults: { metadata: {}, ...retryDefaults },
    full: {
      ...identity,
      model: 'm',
      model_alias: 'fast',
      wire: 'google_stream',
      body: '{}',
      headers: { 'anthropic-version': '2023-06-01' },
      query: { alt: 'sse' },
      timeout_ms: 10,
      idle_timeout_ms: 5,
      metadata: { a: 1 },
      ...retryFull,
    },
  },
  emit_tool_error: {
    required: { ...identity, tool_name: 'gone', error: null },
    defaults: { metadata: {} },
    full: { ...identity, tool_name: 'gone', error: ['unknown_tool', 'no such tool'], metadata: { a: 1 } },
  },
  emit_tool_result: {
    required: { ...identity, tool_name: 't', result: { ok: true, payload: 1, effects: [] } },
    defaults: { metadata: {} },
    full: {
      ...identity,
      tool_name: 't',
      result: { ok: true, payload: 1, effects: [] },
      content: 'one',
      metadata: { a: 1 },
    },
  },
  emit_request_error: {
    required: { ...identity, reason: 'busy', message: 'Agent is busy' },
    defaults: { metadata: {} },
    full: { ...identity, reason: 'busy', message: 'Agent is busy', metadata: { a: 1 } },
  },
};

/** `model` is required only without an alias, and has a test of its own. */
const conditional = new Set(['model']);

describe.each(Object.entries(cases))('%s', (type, { required, defaults, full }) => {
  test('takes its required fields alone and fills in the defaults', () => {
    expect(directiveSchema.parse({ type, ...required })).toStrictEqual({ type, ...required, ...defaults });
  });

  test('keeps every optional field as given', () => {
    expect(directiveSchema.parse({ type, ...full })).toStrictEqual({ type, ...full });
  });

  test.each(Object.keys(required).filter((key) => !conditional.has(key)))('is refused without %s', (key) => {
    const { [key]: _missing, ...rest } = required;
    expect(pathsOf({ type, ...rest })).toEqual([key]);
  });

  test('is refused with an unknown key, named', () => {
    expect(pathsOf({ type, ...required, urgency: 1 })).toEqual(['urgency']);
  });

  test.each(['', 'a b', 'a\u0000', 'a/b', 'x'.repeat(129)])('is refused with the id %j', (id) => {
    expect(pathsOf({ type, ...required, id })).toEqual(['id']);
  });
});

describe('the choice of a model', () => {
  const bare = { ...identity, type: 'llm_generate', context: [] };

  test.each([
    ['model alone', { model: 'm' }],
    ['alias alone', { model_alias: 'fast' }],
    ['an empty model beside an alias', { model: '', model_alias: 'fast' }],
  ])('%s is enough', (_name, choice) => {
    expect(directiveSchema.safeParse({ ...bare, ...choice }).success).toBe(true);
  });

  test.each([
    ['neither', {}],
    ['an empty model alone', { model: '' }],
  ])('%s is refused at model', (_name, choice) => {
    expect(pathsOf({ ...bare, ...choice })).toEqual(['model']);
  });

  test('embedding accepts an alias, too', () => {
    const embed = { ...identity, type: 'llm_embed', model_alias: 'embedding', texts: ['a'] };
    expect(directiveSchema.safeParse(embed).success).toBe(true);
  });
});

describe('values of the wrong kind', () => {
  const call = { ...identity, type: 'tool_exec', tool_name: 't' };

  test.each([
    ['max_retries', -1],
    ['max_retries', 1.5],
    ['retry_backoff_ms', '100'],
    ['backoff', 'linear'],
    ['jitter', 1.1],
    ['deadline_ms', 0],
    ['timeout_ms', 0],
    ['timeout_ms', 2 ** 31],
    ['tool_name', ''],
    ['tool_name', 'a\nb'],
    ['arguments', []],
    ['context', 'state'],
    ['metadata', null],
    ['server', 'a.b'],
    ['effect', 'maybe'],
    ['iteration', -1],
  ])('%s = %j is refused at its path', (key, value) => {
    expect(pathsOf({ ...call, [key]: value })).toEqual([key]);
  });

  test('a message without a role is refused at its place', () => {
    const generate = {
      ...identity,
      type: 'llm_generate',
      model: 'm',
      context: { messages: [{ content: 'x' }] },
    };
    expect(pathsOf(generate)).toEqual(['context.messages[0].role']);
  });
});

describe('agent directives', () => {
  test.each([
    ['emit', { signal: { type: 'custom.event' } }, { signal: { type: 'custom.event', data: {} } }],
    ['schedule', { delay_ms: 0, message: 'wake' }, {}],
    ['cancel', { request_id: 'r1' }, {}],
    ['spawn_agent', { agent: 'a', tag: 't' }, { input: null, overrides: {} }],
    ['stop_child', { tag: 't' }, { reason: 'normal' }],
    ['error', { error: 'boom' }, { context: null }],
    ['stop', {}, { reason: 'normal' }],
  ])('%s takes its required fields and fills in the defaults', (type, required, defaults) => {
    expect(agentDirectiveSchema.parse({ type, ...required })).toStrictEqual({
      type,
      ...required,
      ...defaults,
    });
  });

  test.each([
    ['emit', {}],
    ['schedule', { delay_ms: -1, message: 'x' }],
    ['cancel', {}],
    ['spawn_agent', { agent: 'a' }],
    ['stop_child', {}],
    ['error', {}],
    ['stop', { reason: 'x', extra: 1 }],
  ])('%s is refused with %j', (type, fields) => {
    expect(agentDirectiveSchema.safeParse({ type, ...fields }).success).toBe(false);
  });
});

function pathsOf(raw: unknown): string[] {
  const parsed = directiveSchema.safeParse(raw);
  return parsed.success ? [] : fieldErrors(parsed.error).map((error) => error.path);
}
