/** A fork's tools, as the issue of forks promises: `read` and `idempotent` ones act, a `once` call that the original has made is answered
 *  from the record, another one asks a person.
 *  It must not start a run by itself: the origin is in the spec, as the start of a fork writes it. */
import { describe, expect, test } from 'vitest';
import type { JsonObject, RecordedCall, RunOrigin } from '../../../src/agents/turn/transition.ts';
import type { ListedTool } from '../../../src/contract/tool/tool-listing.ts';
import { okResult } from '../../../src/contract/result.ts';
import { contentDigest } from '../../../src/store/request/content-digest.ts';
import { call, calls, Simulation, tool } from './simulation.ts';

const of = (name: string, effect: ListedTool['effect']): ListedTool => ({ ...tool(name), effect });
const TOOLS = [of('shop.charge', 'once'), of('shop.look', 'read'), of('shop.put', 'idempotent')];

function made(tool_name: string, given: JsonObject, payload: unknown, id = 'tool-1-0'): RecordedCall {
  const result = payload === null ? null : okResult(payload);
  return {
    tool_name,
    digest: contentDigest(given),
    request_id: 'r0',
    call_id: id,
    result,
    content: String(payload),
  };
}

function fork(record: RecordedCall[], more: { act?: boolean; dry?: boolean; agent?: JsonObject } = {}) {
  const { act = false, dry = false, agent = {} } = more;
  const origin: RunOrigin = { request_id: 'r0', kind: 'fork', turn: 2, tools: { act, dry, record } };
  return new Simulation({ tools: TOOLS, spec: { origin }, agent });
}

const asked = (run: Simulation) => run.signalsOf('ai.tool.approval_requested').map(({ call_id }) => call_id);
const FIVE = { eur: 5 };

describe('a call of a fork', () => {
  test('with arguments equal to a recorded `once` call, in any order of keys, is answered from the record and says so', () => {
    const run = fork([made('shop.charge', { eur: 5, to: 'a' }, 'paid', 'tool-7-1')]);
    run.model('model-1', calls(call('shop.charge', { to: 'a', eur: 5 })));
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_result',
      tool_name: 'shop.charge',
      arguments: { to: 'a', eur: 5 },
      result: { ok: true, payload: 'paid' },
      metadata: { from_record: { request_id: 'r0', call_id: 'tool-7-1' } },
    });
    expect(asked(run)).toEqual([]);
    expect(run.view.tool_calls).toBe(0);
    run.tool('tool-1-0', 'paid');
    expect(run.ids().at(-1)).toBe('model-2');
  });

  test('of a `once` tool with other arguments waits for a person, and is made once approved', () => {
    const run = fork([made('shop.charge', FIVE, 'paid')]);
    run.model('model-1', calls(call('shop.charge', { eur: 6 })));
    expect(asked(run)).toEqual(['tool-1-0']);
    expect(run.ids()).toEqual(['model-1']);
    run.decide('tool-1-0', 'approve');
    expect(run.directive('tool-1-0')).toMatchObject({ type: 'tool_exec', arguments: { eur: 6 } });
  });

  test('of a `once` tool acts where the caller lets it act, but not where an equal call may have acted', () => {
    const run = fork([made('shop.charge', FIVE, null)], { act: true });
    run.model('model-1', calls(call('shop.charge', FIVE, 'a'), call('shop.charge', { eur: 6 }, 'b')));
    expect(asked(run)).toEqual(['tool-1-0']);
    expect(run.directive('tool-1-1')).toMatchObject({ type: 'tool_exec' });
  });

  test('of a `read` or `idempotent` tool is made, whatever the record has', () => {
    const run = fork([made('shop.look', {}, 'old')]);
    run.model('model-1', calls(call('shop.look', {}, 'a'), call('shop.put', {}, 'b')));
    expect(['tool-1-0', 'tool-1-1'].map((id) => run.directive(id)['type'])).toEqual([
      'tool_exec',
      'tool_exec',
    ]);
  });

  test('that the agent denies is denied, whatever the record has', () => {
    const agent = { policies: { approvals: { 'shop.charge': 'deny' } } };
    const run = fork([made('shop.charge', FIVE, 'paid')], { act: true, agent });
    run.model('model-1', calls(call('shop.charge', FIVE)));
    expect(run.directive('tool-1-0')).toMatchObject({ type: 'emit_tool_error', error: { type: 'denied' } });
  });

  test('that the agent asks about is asked about also where the caller lets it act', () => {
    const agent = { policies: { approvals: { '*': 'ask' } } };
    const run = fork([], { act: true, agent });
    run.model('model-1', calls(call('shop.charge', FIVE), call('shop.look', {}, 'b')));
    expect(asked(run)).toEqual(['tool-1-0', 'tool-1-1']);
  });
});

test('equal calls get the recorded results in their order, and after the last one that of the last one', () => {
  const run = fork([made('shop.charge', FIVE, 'first'), made('shop.charge', FIVE, 'second', 'tool-2-0')]);
  run.model('model-1', calls(...['a', 'b', 'c'].map((id) => call('shop.charge', FIVE, id))));
  const payloads = ['tool-1-0', 'tool-1-1', 'tool-1-2'].map((id) => run.directive(id)['result']);
  expect(payloads).toMatchObject([{ payload: 'first' }, { payload: 'second' }, { payload: 'second' }]);
});

describe('a dry fork', () => {
  test('answers every tool from the record', () => {
    const record = [made('shop.look', {}, 'old'), made('shop.charge', FIVE, 'paid')];
    const run = fork(record, { dry: true });
    run.model('model-1', calls(call('shop.look', {}, 'a'), call('shop.charge', FIVE, 'b')));
    for (const id of ['tool-1-0', 'tool-1-1']) expect(run.directive(id)['type']).toBe('emit_tool_result');
  });

  test.each(['shop.look', 'shop.put', 'shop.charge'])('ends at a call of %s that has no record', (name) => {
    const run = fork([made(name, { other: 1 }, 'old'), made(name, {}, null)], { dry: true, act: true });
    run.model('model-1', calls(call(name, {})));
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'not_recorded' });
    expect(run.ids()).toEqual(['model-1']);
  });
});

test('readers see the origin in the view and in the started signal, without the record', () => {
  const run = fork([made('shop.charge', FIVE, 'paid')]);
  const origin = { request_id: 'r0', kind: 'fork', turn: 2 };
  expect(run.view.origin).toEqual(origin);
  expect(run.signalsOf('ai.request.started')).toMatchObject([{ origin }]);
  expect(JSON.stringify([run.view, run.log])).not.toContain('paid');
});
