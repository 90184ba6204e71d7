/** A change of priority: what is kept when the gate refuses it.
 *  It must never need Redis. */
import { expect, test, vi } from 'vitest';
import type { Directive } from '../../../../src/contract/directive/directive.ts';
import { encodeEnvelope } from '../../../../src/store/request/envelope.ts';
import type { DirectiveRecord } from '../../../../src/store/request/records.ts';
import { type ChangeInGate, createPrioritize } from '../../../../src/directives/change/prioritize.ts';
import { refusal } from '../../../support/pipeline.ts';

const directive = { type: 'tool_exec', request_id: 'r', id: 'a', tool_name: 'echo' } as unknown as Directive;
const ticket = { turn: 'default', weight: 1, priority: 4, limits: [] };
const envelope = encodeEnvelope({ directive, lane: 'tool.peer', traceparent: '', ticket });

function changing(answer: Awaited<ReturnType<ChangeInGate['change']>>) {
  const prioritize = vi.fn(async () => 'kept' as const);
  const record = { lane: 'tool.peer', status: 'waiting', terminal: null } as DirectiveRecord;
  const journal = { directive: async () => record, envelope: async () => envelope, prioritize };
  return { prioritize, change: createPrioritize(journal, { change: async () => answer }) };
}

test('of what was let out nothing is kept: it would be shown, and hold for its retries', async () => {
  const { change, prioritize } = changing('out');
  expect((await refusal(change('r', 'a', 9))).detail).toContain('was let out');
  expect(prioritize).not.toHaveBeenCalled();
});

test.each(['changed', 'unknown'] as const)('%s in the gate, it is kept in the record', async (answer) => {
  const { change, prioritize } = changing(answer);
  expect(await change('r', 'a', 9)).toEqual({ request_id: 'r', id: 'a', priority: 9 });
  expect(prioritize).toHaveBeenCalledWith('r', 'a', 9);
});
