/** Names from outside that every object inherits, in all code without Redis that looks things up by name.
 *  It must never be satisfied with "does not throw": each name is looked up like any other. */
import { describe, expect, test } from 'vitest';
import { ConfigError } from '../../src/config/error.ts';
import { explain } from '../../src/cli/explanation.ts';
import { gistOf } from '../../src/cli/following/signal-gist.ts';
import { ControlDirectiveError, deserializeDirective } from '../../src/contract/run/control-directive.ts';
import type { Directive } from '../../src/contract/directive/directive.ts';
import { ownTypeFault } from '../../src/contract/signal/own-signal.ts';
import { ownMember, setOwnMember } from '../../src/contract/json/json-object.ts';
import { DirectiveRefused, problem } from '../../src/contract/problem.ts';
import { redact } from '../../src/contract/json/redaction.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { knownRepeatPolicy } from '../../src/contract/directive/work-directive.ts';
import { runSignal } from '../../src/agents/run-signal.ts';
import { defineStrategy } from '../../src/agents/strategies/strategy.ts';
import { directiveMetadata } from '../../src/store/log/terminal-signal.ts';
import { createCollector } from '../../src/models/answers/answer-collector.ts';
import { toolNames } from '../../src/models/requests/tool-names.ts';
import { modelProviders } from '../../src/service/roles/model-providers.ts';
import { limitsOf } from '../../src/service/roles/model-role.ts';
import { targetOf, toolOnServer } from '../../src/store/catalog/route.ts';
import { INHERITED_NAMES, ODD_NAMES } from '../support/odd-names.ts';
import { fault, parse } from '../support/parsed-config.ts';
import { call, calls, Simulation, tool } from './agents/simulation.ts';

/** As in a file: `__proto__` is a key, not a prototype. */
const record = (name: string, value: unknown): unknown =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`);

/** The configuration, or null when it refuses the name with a message. */
function configured(raw: unknown): ReturnType<typeof parse> | null {
  try {
    return parse(raw, { SERVED_KEY: 'k' });
  } catch (error) {
    if (error instanceof ConfigError) return null;
    throw error;
  }
}

describe.each(ODD_NAMES)('the name %j', (name) => {
  test('of a tool has its configured repeat policy, and no other', () => {
    const server = { command: 'node', effects: record(name, 'read') };
    const effects = parse({ mcpServers: { a: server } }).mcpServers.get('a')?.effects;
    expect([...(effects ?? [])]).toEqual([[name, { repeat: 'read', reconcile: null }]]);
    const plain = parse({ mcpServers: { a: { command: 'node' } } }).mcpServers.get('a');
    expect(plain?.effects.get(name)).toBe(undefined);
  });

  test('of a server, provider or alias is kept, or refused', () => {
    const servers = configured({ mcpServers: record(name, { command: 'node' }) })?.mcpServers;
    expect([...(servers?.keys() ?? [name])]).toEqual([name]);
    const own = { type: 'scripted' };
    const providers = configured({ providers: record(name, own) })?.providers;
    expect([...(providers?.keys() ?? [name])]).toEqual([name]);
    const aliases = configured({ providers: { own }, models: record(name, 'own:demo') })?.models;
    expect([...(aliases?.keys() ?? [name])]).toEqual([name]);
  });

  test('of a model has its own limits and prices, or none', () => {
    const models = record(name, { requests_per_minute: 7, price: { input: 1, output: 2 } });
    const limited = configured({ providers: { own: { type: 'scripted', models } } });
    const ref = { provider: 'own', model: name, name: `own:${name}` };
    if (limited !== null) {
      expect(limitsOf(limited)(ref).model.requests).toBe(7);
      expect(modelProviders(limited).price(ref)).toMatchObject({ input: 1, output: 2 });
    }
    const plain = parse({ providers: { own: { type: 'scripted' } } });
    expect(limitsOf(plain)(ref).model.requests).toBeNull();
    expect(modelProviders(plain).price(ref)).toBeNull();
  });

  test('of an agent, a header or a variable is kept, or refused', () => {
    const agents = configured({ agents: record(name, './agent.ts') })?.agents;
    expect(Object.keys(agents ?? { [name]: '' })).toEqual([name]);
    const given = record(name, 'v') as object;
    const server = { url: 'http://127.0.0.1/', headers: given };
    const reached = configured({ mcpServers: { a: server } })?.mcpServers.get('a');
    const { headers = given } = (reached ?? {}) as { headers?: object };
    expect(Object.entries(headers)).toEqual([[name, 'v']]);
  });

  test('of a tool goes to the server that has it, and to no other', () => {
    const known = new Map([['s', [name]]]);
    expect(toolOnServer('s', name, () => true)).toBe(name);
    expect(targetOf(`s.${name}`, undefined, known)).toMatchObject({ server: 's', tool: name });
    const other = new Map([['s', ['other']]]);
    const missing = targetOf('s.missing', undefined, other);
    expect('server' in targetOf(`s.${name}`, undefined, other)).toBe('server' in missing);
  });

  test('of a tool comes back from a model unchanged', () => {
    const names = toolNames([name, 'other']);
    const wireName = names.encode(name);
    expect(wireName in Object.prototype).toBe(false);
    expect([names.decode(wireName), names.decode(`${name}?`)]).toEqual([name, `${name}?`]);
  });

  test('of a type is unknown to controls, operations, sources and texts', () => {
    expect(() => deserializeDirective({ type: name })).toThrow(ControlDirectiveError);
    const directive = { type: name, request_id: 'r', id: 'i', metadata: {} } as unknown as Directive;
    expect(directiveMetadata(directive)).not.toHaveProperty('operation');
    const origin = { requestId: 'r', cause: 'c', traceparent: '', now: 0 };
    if (ownTypeFault(name) === null)
      expect(runSignal({ type: name, data: {} }, origin)).toMatchObject({ source: '/agent' });
    else expect(() => runSignal({ type: name, data: {} }, origin)).toThrow('signal');
    expect(gistOf({ type: name, data: { a: 1 } } as unknown as Signal, (_, text) => text)).toBe('{"a":1}');
    const refusal = { ...problem('bad_request'), code: name };
    expect(explain(new DirectiveRefused(refusal))?.how).toBe('Correct it, and try again.');
  });

  test('of a member is redacted by its own name, and stays a member', () => {
    const shown = redact(record(name, { token: 'secret' }) as never);
    expect(JSON.stringify(shown)).toBe(`{${JSON.stringify(name)}:{"token":"[REDACTED]"}}`);
    expect(Object.getPrototypeOf(shown)).toBe(Object.prototype);
  });

  test('is not a repeat policy', () => {
    expect(knownRepeatPolicy(name)).toBe('once');
    const raw = { mcpServers: { a: { command: 'x', effects: { t: name } } } };
    expect(fault(() => parse(raw)).errors).toHaveLength(1);
  });

  test('of a tool that a run does not have is answered as unknown', () => {
    const run = new Simulation({ tools: [tool('math.add')] });
    run.model('model-1', calls(call(name)));
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_error',
      error: { type: 'unknown_tool' },
    });
  });

  test('of a strategy’s directive is accepted once, or refused with a message', () => {
    const strategy = defineStrategy({
      name: 's',
      init: () => null,
      reduce: (state, signal) =>
        signal.type === 'ai.request.started'
          ? { state, directives: [{ type: 'tool_exec', id: name, tool_name: 'math.add' }] }
          : { state, outcome: { status: 'completed' as const, result: signal.type } },
    });
    const run = new Simulation({ agent: { strategy: 's' }, core: { strategies: [strategy] } });
    if (run.status === 'failed') return;
    expect(run.ids()).toEqual([name]);
    run.tool(name, 1);
    expect(run.status).toBe('completed');
  });
});

describe('a member of an object', () => {
  test.each(INHERITED_NAMES)('%s is not there until it is set', (name) => {
    const object: Record<string, unknown> = {};
    expect(ownMember(object, name)).toBeUndefined();
    setOwnMember(object, name, 1);
    expect([ownMember(object, name), Object.keys(object)]).toEqual([1, [name]]);
    expect(Object.getPrototypeOf(object)).toBe(Object.prototype);
  });

  test.each(INHERITED_NAMES)('${%s} is not a set variable', (name) => {
    expect(fault(() => parse({ mcpServers: { a: { command: `\${${name}}` } } })).message).toContain(
      'is not set',
    );
  });

  test('from a client that looks names up in plain objects is ignored', () => {
    const collector = createCollector();
    const part = { type: 'tool-call', toolCallId: 'c', toolName: Object as unknown as string, input: '{}' };
    collector.take(part as Parameters<typeof collector.take>[0]);
    expect(collector.answer.calls).toEqual([{ id: 'c', wireName: 'unknown', input: '{}' }]);
  });
});
