// How a submission is read: one directive or many, and which place each error names.
// Must never accept part of a batch.
import { describe, expect, test } from 'vitest';
import { parseSubmission } from '../../../src/contract/directive/directive.ts';
import { nested } from '../../contract/hostile-values.ts';

const call = { type: 'tool_exec', tool_name: 'everything.echo' };
const batch = (...directives: unknown[]) => ({ directives });
/** With a key that an object literal would take for the prototype. */
const withProto = (raw: object): unknown => JSON.parse(JSON.stringify(raw).replace('proto', '__proto__'));

describe('a submission', () => {
  test('is one directive', () => {
    expect(parseSubmission(call)).toMatchObject({ ok: true, directives: [{ ...call, max_retries: 0 }] });
  });

  test('is a batch, in order', () => {
    const directives = [call, { ...call, id: 'second' }];
    expect(parseSubmission({ directives })).toMatchObject({ ok: true, directives });
  });

  test('may name its request in some directives only', () => {
    expect(parseSubmission({ directives: [call, { ...call, request_id: 'r' }, call] }).ok).toBe(true);
  });
});

describe('what is wrong is named by its path', () => {
  const hidden = { constructor: { prototype: {} } };
  const late = { ...call, timeout_ms: 0 };
  const generate = { type: 'llm_generate', model: 'm', context: [] };
  const [ofA, ofB] = ['a', 'b'].map((request_id) => ({ ...call, request_id }));

  test.each([
    ['an unknown key', { ...call, urgency: 1 }, ['urgency']],
    ['several unknown keys', { ...call, a: 1, 'b c': 2 }, ['a', '["b c"]']],
    ['wrong types', { ...call, arguments: [], timeout_ms: 'x' }, ['arguments', 'timeout_ms']],
    ['an id with a control character', { ...call, id: 'a\u0007' }, ['id']],
    ['an id with a line break', { ...call, request_id: 'a\nb' }, ['request_id']],
    ['a __proto__ key at the top', withProto({ ...call, proto: {} }), ['__proto__']],
    ['a __proto__ key', withProto({ ...call, arguments: { proto: {} } }), ['arguments.__proto__']],
    ['constructor.prototype', { ...call, arguments: hidden }, ['arguments.constructor.prototype']],
    ['a member of a batch', batch(call, call, { ...call, arguments: 5 }), ['directives[2].arguments']],
    ['members of several', batch({ ...call, x: 1 }, late), ['directives[0].x', 'directives[1].timeout_ms']],
    ['a nested unknown key', { ...generate, tool_choice: { required: 't', x: 1 } }, ['tool_choice.x']],
    ['a missing type', batch({}), ['directives[0].type']],
    ['no directive in a batch', batch(null), ['directives[0]']],
    ['a key beside the batch', { ...batch(call), wait: true }, ['wait']],
    ['a batch that is no list', { directives: call }, ['directives']],
    ['an empty batch', batch(), ['directives']],
    ['too many', batch(...Array.from({ length: 1001 }, () => call)), ['directives']],
    ['two requests', batch(ofA, ofB), ['directives[1].request_id']],
    ['a type of the agent runtime', { type: 'stop', reason: 'x' }, ['type']],
    ['a list', [call], ['']],
    ['null', null, ['']],
    ['a string', 'tool_exec', ['']],
  ])('%s', (_name, raw, paths) => {
    expect(errorsOf(raw).map((error) => error.path)).toEqual(paths);
  });

  test('10 000 levels', () => {
    const deep = { ...call, arguments: { a: nested(10_000, (inner) => ({ b: inner })) } };
    expect(errorsOf(deep)[0]).toMatchObject({ message: 'is nested deeper than 64 levels' });
    expect(errorsOf(deep)[0]?.path).toMatch(/^arguments\.a\.b\.b/);
  });

  test('the error of an unknown type lists the known ones', () => {
    const types =
      'tool_exec, llm_stream, llm_generate, llm_embed, llm_request, emit_tool_error, emit_tool_result, emit_request_error';
    const message = `is not a known type; known types: ${types}`;
    expect(errorsOf({ type: 'dance' })).toEqual([{ path: 'type', message }]);
  });

  test.each([
    ['spawn_agent', /of the agent runtime and cannot be submitted/],
    ['delegate', /of tool results and cannot be submitted/],
    ['constructor', /is not a known type/],
  ])('%s cannot be submitted', (type, message) => {
    expect(errorsOf({ type })).toMatchObject([{ path: 'type', message: expect.stringMatching(message) }]);
  });

  test('a thousand errors are reported as a hundred', () => {
    const errors = errorsOf({ directives: Array.from({ length: 1000 }, () => ({ ...call, x: 1 })) });
    expect(errors).toHaveLength(100);
    expect(errors.at(-1)).toEqual({ path: '', message: 'and 901 more errors' });
  });

  test('an instant that is none is told what one looks like', () => {
    const message = 'must be an instant, as in 2027-03-28T01:00:00Z';
    expect(errorsOf({ ...call, run_at: 'tomorrow' })).toEqual([{ path: 'run_at', message }]);
  });
});

function errorsOf(raw: unknown) {
  const parsed = parseSubmission(raw);
  return parsed.ok ? [] : parsed.errors;
}
