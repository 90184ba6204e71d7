/** The lane of a directive: by its pin, by the server in its name, by the only server that offers it.
 *  It must never need a server to tell it from an unknown one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emitToolErrorSchema } from '../../../src/contract/immediate-directive.ts';
import { llmEmbedSchema, llmGenerateSchema } from '../../../src/contract/work-directive.ts';
import type { ModelTable } from '../../../src/contract/model-name.ts';
import { NO_MODELS } from '../../../src/catalog/known-models.ts';
import { type KnownServers, routeOf, targetOf, toolLane, toolOnServer } from '../../../src/catalog/route.ts';
import { toolCall } from '../../support/journal.ts';

const known: KnownServers = new Map([
  ['files', ['read', 'write', 'files.odd']],
  ['mail', ['read', 'send']],
  ['mail.eu', ['send']],
  ['silent', null],
]);
const nobody: KnownServers = new Map();

function route(fields: Parameters<typeof toolCall>[0], servers: KnownServers = known) {
  return routeOf(toolCall(fields), { servers, models: NO_MODELS });
}

describe('a tool named with its server', () => {
  test('goes to the lane of that server', () => {
    expect(route({ tool_name: 'files.read' })).toEqual({ kind: 'lane', lane: 'tool.files' });
  });

  test('goes there though the server has not been listed yet, or does not list the tool', () => {
    expect(route({ tool_name: 'silent.anything' })).toEqual({ kind: 'lane', lane: 'tool.silent' });
    expect(route({ tool_name: 'files.unheard' })).toEqual({ kind: 'lane', lane: 'tool.files' });
  });

  test('goes to the longest name that fits', () => {
    expect(targetOf('mail.eu.send', undefined, known)).toEqual({ server: 'mail.eu', tool: 'send' });
  });

  test('is not taken for a server whose name only begins alike', () => {
    expect(route({ tool_name: 'filesystem.read' })).toMatchObject({ error: { type: 'unknown_tool' } });
  });
});

describe('a tool named alone', () => {
  test('goes to the only server that offers it', () => {
    expect(targetOf('write', undefined, known)).toEqual({ server: 'files', tool: 'write' });
  });

  test('ends when several offer it, with the names to choose from', () => {
    expect(route({ tool_name: 'read' })).toMatchObject({
      kind: 'ended',
      error: {
        type: 'validation_error',
        details: { field: 'tool_name', candidates: ['files.read', 'mail.read'] },
      },
    });
  });

  test('ends when no server offers it, with the known servers', () => {
    expect(route({ tool_name: 'nothing' })).toMatchObject({
      kind: 'ended',
      error: {
        type: 'unknown_tool',
        retryable: false,
        details: { field: 'tool_name', tool_name: 'nothing', servers: [...known.keys()], close_names: [] },
      },
    });
  });
});

test.each([
  [{ tool_name: 'filse.write' }, ['files.write']],
  [{ tool_name: 'filse.wrte' }, ['files.write']],
  [{ tool_name: 'filse.nothing' }, []],
  [{ tool_name: 'write', server: 'filse' }, ['files']],
])('a mistyped server in %j gets the close names %j', (fields, names) => {
  expect(route(fields)).toMatchObject({ error: { type: 'unknown_tool', details: { close_names: names } } });
});

describe('a pinned tool', () => {
  test('goes to its server under either name', () => {
    expect(targetOf('read', 'mail', known)).toEqual({ server: 'mail', tool: 'read' });
    expect(targetOf('mail.read', 'mail', known)).toEqual({ server: 'mail', tool: 'read' });
  });

  test('stays with its server when the name addresses another', () => {
    expect(targetOf('files.read', 'mail', known)).toEqual({ server: 'mail', tool: 'files.read' });
  });

  test('ends when no server has that name', () => {
    expect(route({ tool_name: 'read', server: 'gone' })).toMatchObject({
      kind: 'ended',
      error: { type: 'unknown_tool', details: { field: 'server' } },
    });
  });

  test('is accepted while no server is known at all', () => {
    expect(route({ tool_name: 'read', server: 'later' }, nobody)).toEqual({
      kind: 'lane',
      lane: 'tool.later',
    });
  });
});

describe('the name on its own server', () => {
  test('loses the address', () => {
    expect(toolOnServer('files', 'files.read', (name) => name === 'read')).toBe('read');
    expect(toolOnServer('files', 'files.read', () => false)).toBe('read');
  });

  test('keeps it when the tool is really called that', () => {
    expect(toolOnServer('files', 'files.odd', (name) => known.get('files')?.includes(name) ?? false)).toBe(
      'files.odd',
    );
  });

  test('is untouched without an address', () => {
    expect(toolOnServer('files', 'read', () => true)).toBe('read');
  });
});

const models: ModelTable = {
  aliases: new Map([['fast', ['cloud:small', 'local:tiny']]]),
  providers: new Map([
    ['cloud', { type: 'openai' }],
    ['local', { type: 'openai-compatible' }],
  ]),
};
const identity = { id: 'a', request_id: 'r' };

function generation(fields: object) {
  return llmGenerateSchema.parse({ type: 'llm_generate', ...identity, context: [], ...fields });
}

describe('a model directive', () => {
  test('goes to the lane of its provider, with the name of its model', () => {
    expect(routeOf(generation({ model: 'local:llama3:8b' }), { servers: nobody, models })).toEqual({
      kind: 'lane',
      lane: 'llm.local',
      models: ['local:llama3:8b'],
    });
  });

  test('goes to the lane of the first of its chain that can be reached', () => {
    const directive = generation({ model_alias: 'fast' });
    expect(routeOf(directive, { servers: nobody, models })).toEqual({
      kind: 'lane',
      lane: 'llm.cloud',
      models: ['cloud:small', 'local:tiny'],
    });
    const offline = { ...models, providers: new Map([['local', { type: 'openai-compatible' }]]) };
    expect(routeOf(directive, { servers: nobody, models: offline })).toEqual({
      kind: 'lane',
      lane: 'llm.local',
      models: ['local:tiny'],
    });
  });
});

describe('other directives', () => {
  test('of models end while no provider serves them, naming the model or alias', () => {
    const embed = llmEmbedSchema.parse({
      type: 'llm_embed',
      ...identity,
      model_alias: 'embedding',
      texts: 'a',
    });
    for (const directive of [generation({ model: 'some:model' }), embed]) {
      expect(routeOf(directive, { servers: known, models: NO_MODELS })).toMatchObject({
        kind: 'ended',
        error: { type: 'unknown_model', retryable: false },
      });
    }
    expect(JSON.stringify(routeOf(embed, { servers: known, models: NO_MODELS }))).toContain('embedding');
  });

  test('that are immediate have no lane to ask for', () => {
    const directive = emitToolErrorSchema.parse({
      type: 'emit_tool_error',
      ...identity,
      tool_name: 'a',
      error: 'b',
    });
    expect(() => routeOf(directive, { servers: known, models })).toThrow(/immediate/);
  });
});

const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const servers = fc
  .dictionary(name, fc.option(fc.array(name, { maxLength: 5 }), { nil: null }), { maxKeys: 6 })
  .map((entries): KnownServers => new Map(Object.entries(entries)));

describe('any name and any servers', () => {
  test('end in the lane of a known server, or in an error that is not retryable', () => {
    fc.assert(
      fc.property(
        servers,
        fc.oneof(
          name,
          fc.tuple(name, name).map(([a, b]) => `${a}.${b}`),
        ),
        (given, tool) => {
          const outcome = routeOf(toolCall({ tool_name: tool }), { servers: given, models: NO_MODELS });
          if (outcome.kind === 'lane') expect([...given.keys()].map(toolLane)).toContain(outcome.lane);
          else expect(outcome.error.retryable).toBe(false);
        },
      ),
    );
  });

  test('agree about `server.tool` and the pinned tool', () => {
    fc.assert(
      fc.property(
        servers,
        name,
        fc.option(fc.array(name), { nil: null }),
        name,
        (others, server, tools, tool) => {
          const address = `${server}.${tool}`;
          const given = new Map([...others, [server, tools] as const]);
          expect(targetOf(address, undefined, given)).toEqual({ server, tool });
          expect(targetOf(address, server, given)).toEqual({ server, tool });
        },
      ),
    );
  });
});
