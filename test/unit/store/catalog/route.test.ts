/** The lane of a directive: by its pin, by the server in its name, by the only server that offers it.
 *  It must never need a server to tell it from an unknown one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emitToolErrorSchema } from '../../../../src/contract/directive/immediate-directive.ts';
import { llmEmbedSchema, llmGenerateSchema } from '../../../../src/contract/directive/work-directive.ts';
import type { ModelTable } from '../../../../src/contract/model/model-name.ts';
import { NO_MODELS } from '../../../../src/store/catalog/known-models.ts';
import {
  type KnownServers,
  routeOf,
  targetOf,
  toolLane,
  toolOnServer,
} from '../../../../src/store/catalog/route.ts';
import { toolCall } from '../../../support/journal.ts';

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

describe('a tool', () => {
  test.each<[string, string, string | undefined, KnownServers, string]>([
    ['named with its server goes there', 'files.read', undefined, known, 'tool.files'],
    ['of a server that was not listed yet goes there', 'silent.any', undefined, known, 'tool.silent'],
    ['that its server does not list goes there', 'files.unheard', undefined, known, 'tool.files'],
    ['pinned is accepted while no server is known at all', 'read', 'later', nobody, 'tool.later'],
  ])('%s', (_, tool_name, server, servers, lane) => {
    const fields = { tool_name, ...(server === undefined ? {} : { server }) };
    expect(route(fields, servers)).toEqual({ kind: 'lane', lane });
  });

  test.each([
    ['goes to the longest name that fits', 'mail.eu.send', undefined, 'mail.eu', 'send'],
    ['named alone goes to the only server that offers it', 'write', undefined, 'files', 'write'],
    ['pinned goes to its server', 'read', 'mail', 'mail', 'read'],
    ['pinned goes to its server under its whole name', 'mail.read', 'mail', 'mail', 'read'],
    ['stays with its server when the name addresses another', 'files.read', 'mail', 'mail', 'files.read'],
  ])('%s', (_, name, pinned, server, tool) => {
    expect(targetOf(name, pinned, known)).toEqual({ server, tool });
  });

  const several = { field: 'tool_name', candidates: ['files.read', 'mail.read'] };
  const unknown = { field: 'tool_name', tool_name: 'nothing', servers: [...known.keys()], close_names: [] };

  test.each([
    ['whose server only begins like a known one', { tool_name: 'filesystem.read' }, 'unknown_tool', {}],
    ['that several offer, with the names', { tool_name: 'read' }, 'validation_error', several],
    ['that nobody offers, with the known servers', { tool_name: 'nothing' }, 'unknown_tool', unknown],
    ['of no such server', { tool_name: 'read', server: 'gone' }, 'unknown_tool', { field: 'server' }],
    ['of a mistyped server', { tool_name: 'filse.write' }, 'unknown_tool', { close_names: ['files.write'] }],
    ['mistyped as a whole', { tool_name: 'filse.wrte' }, 'unknown_tool', { close_names: ['files.write'] }],
    ['too far from any', { tool_name: 'filse.nothing' }, 'unknown_tool', { close_names: [] }],
    ['pinned wrongly', { tool_name: 'write', server: 'filse' }, 'unknown_tool', { close_names: ['files'] }],
  ])('%s ends', (_, fields, type, details) => {
    expect(route(fields)).toMatchObject({ kind: 'ended', error: { type, retryable: false, details } });
  });
});

test('a tool pinned to a server of another tenant has no lane, also while no server is known', () => {
  expect(targetOf('read', 'acme~crm', nobody)).toMatchObject({ type: 'unknown_tool' });
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
  const offline = { ...models, providers: new Map([['local', { type: 'openai-compatible' }]]) };

  test.each([
    ['its provider', { model: 'local:llama3:8b' }, models, 'llm.local', ['local:llama3:8b']],
    ['the first of its chain', { model_alias: 'fast' }, models, 'llm.cloud', ['cloud:small', 'local:tiny']],
    ['the first that can be reached', { model_alias: 'fast' }, offline, 'llm.local', ['local:tiny']],
  ])('goes to the lane of %s', (_, fields, reachable, lane, names) => {
    const found = routeOf(generation(fields), { servers: nobody, models: reachable });
    expect(found).toEqual({ kind: 'lane', lane, models: names });
  });
});

describe('other directives', () => {
  test('of models end while no provider serves them, naming the model or alias', () => {
    const fields = { type: 'llm_embed', ...identity, model_alias: 'embedding', texts: 'a' };
    const embed = llmEmbedSchema.parse(fields);
    for (const directive of [generation({ model: 'some:model' }), embed]) {
      expect(routeOf(directive, { servers: known, models: NO_MODELS })).toMatchObject({
        kind: 'ended',
        error: { type: 'unknown_model', retryable: false },
      });
    }
    expect(JSON.stringify(routeOf(embed, { servers: known, models: NO_MODELS }))).toContain('embedding');
  });

  test('that are immediate have no lane to ask for', () => {
    const fields = { type: 'emit_tool_error', ...identity, tool_name: 'a', error: 'b' };
    const directive = emitToolErrorSchema.parse(fields);
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

// Issue 38, point 7: a server that a tenant has added exists for this tenant alone.
test.each([
  ['acme~r1', 'crm.find', undefined, 'tool.acme~crm'],
  ['acme~r1', 'find', undefined, 'tool.acme~crm'],
  ['acme~r1', 'find', 'crm', 'tool.acme~crm'],
  ['acme~r1', 'files.read', undefined, 'tool.files'],
  ['r1', 'crm.find', undefined, 'unknown_tool'],
  ['globex~r1', 'crm.find', undefined, 'unknown_tool'],
  ['globex~r1', 'acme~crm.find', undefined, 'unknown_tool'],
  ['globex~r1', 'find', 'acme~crm', 'unknown_tool'],
  ['globex~r1', 'find', 'crm', 'unknown_tool'],
])('the request %s calls %s (pinned: %s) in %s', (request_id, tool_name, server, place) => {
  const servers: KnownServers = new Map([
    ['files', ['read']],
    ['acme~crm', ['find']],
    ['acme~files', ['find', 'read']],
  ]);
  const fields = { request_id, tool_name, ...(server === undefined ? {} : { server }) };
  const routed = routeOf({ ...toolCall({}), ...fields }, { servers, models: NO_MODELS });
  expect(routed.kind === 'lane' ? routed.lane : routed.error.type).toBe(place);
});
