/** The life of a run as a request: started, steered, cancelled, ended exactly once.
 *  It must not reach into the strategy. */
import { describe, expect, test } from 'vitest';
import { runViewSchema } from '../../../src/contract/run/run.ts';
import { createCore } from '../../../src/agents/core/core.ts';
import { call, calls, modelAnswer, runSetup, runSpec, signalEvent, Simulation, T0 } from './simulation.ts';

const ENDS = ['ai.request.completed', 'ai.request.failed'];
const endsOf = (run: Simulation): string[] => run.types().filter((type) => ENDS.includes(type));

describe('lifecycle (upstream: request lifecycle parity)', () => {
  test('completed is never overwritten by later events', () => {
    const run = new Simulation().model('model-1', { text: 'Five.' });
    const ended = run.document;
    run.modelFails('model-1', { type: 'auth' }).cancel('late').input('late').pass(10_000_000);
    run.decide('tool-1-0', 'approve');
    expect(run.document).toBe(ended);
    expect(endsOf(run)).toEqual(['ai.request.completed']);
  });

  test('a busy conversation: ai.request.error, then ai.request.failed, and nothing else', () => {
    const core = createCore();
    const spec = runSpec({ conversation_id: 'c' });
    const busy = { reason: 'busy', message: 'Agent is busy' };
    const { document, signals, directives, log } = core.refuse(spec, busy, T0);
    const metadata = { run_id: 'run-1', agent: 'helper' };
    const failed = {
      run_id: 'run-1',
      termination_reason: 'busy',
      error: { type: 'busy', message: busy.message },
    };
    expect(signals).toMatchObject([
      { type: 'ai.request.error', data: { request_id: 'r1', ...busy, metadata } },
      { type: 'ai.request.failed', data: { request_id: 'r1', ...failed } },
    ]);
    expect(directives).toEqual([]);
    expect(document).toMatchObject({ status: 'failed', wake_at: null, outbox: [] });
    expect(log, 'nothing broke').toEqual([]);
    expect(core.view(spec, document)).toMatchObject({ termination_reason: 'busy', status: 'failed' });
  });

  test.each([
    ['cancelled', 'cancelled', 'cancelled'],
    ['deadline', 'timeout', 'deadline_exceeded'],
    ['unknown_agent', 'failed', 'unknown_agent'],
  ])('a run refused as %s has the status %s', (reason, status, type) => {
    const { document, signals } = createCore().refuse(runSpec(), { reason, message: 'm' }, T0);
    expect(document.status).toBe(status);
    expect(signals.at(-1)?.data['error']).toMatchObject({ type });
  });

  test('a turn that cannot be written ends the run as failed, once', () => {
    const run = new Simulation();
    const failure = { reason: 'id_conflict', message: 'm', details: { id: 'model-1' } };
    const failed = run.core.fail(run.spec, run.document, failure, T0);
    expect(failed.document.status).toBe('failed');
    expect(failed.signals.map(({ type }) => type)).toEqual(['ai.request.failed']);
    expect(run.core.fail(run.spec, failed.document, failure, T0).signals).toEqual([]);
  });

  test('a tool that the agent does not have cannot be allowed', () => {
    const run = new Simulation({ spec: { overrides: { allowed_tools: ['math.*', 'nope'] } } });
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'unknown_tool' });
    expect(run.view.error).toMatchObject({ details: { allowed_tools: ['nope'] } });
    expect(run.ids()).toEqual([]);
    expect(run.signalsOf('ai.request.error')).toMatchObject([
      { reason: 'unknown_allowed_tools', message: expect.stringContaining('nope') },
    ]);
  });

  test('allowed tools that no server has cause an ai.request.error, and the run goes on', () => {
    const tools = ['math.*', 'maths.add', 'gone.*'];
    const run = new Simulation({ agent: { tools } });
    expect(run.types()).toEqual(['ai.request.started', 'ai.request.error']);
    const message = 'the agent "helper" is allowed tools that no server has: maths.add, gone.*';
    expect(run.signalsOf('ai.request.error')).toMatchObject([{ reason: 'unknown_allowed_tools', message }]);
    expect(run.ids()).toEqual(['model-1']);
    const any = new Simulation({ agent: { tools: ['*'] }, tools: [] });
    expect(any.types()).toEqual(['ai.request.started']);
  });

  test('allowed_tools narrow the tools that the model sees and may call', () => {
    const run = new Simulation({ spec: { overrides: { allowed_tools: ['math.*'] } } });
    expect(run.directive('model-1')['tools']).toEqual(['math.add']);
    run.model('model-1', calls(call('fs.list')));
    expect(run.directive('tool-1-0')['type']).toBe('emit_tool_error');
  });

  test('the view follows the contract at every point', () => {
    const run = new Simulation({ spec: { conversation_id: 'c' } });
    const check = (): void => {
      const parsed = runViewSchema.safeParse({ ...run.view, ended_at: null });
      expect(parsed.error).toBeUndefined();
    };
    check();
    run.model('model-1', calls(call('fs.remove')));
    check();
    run.cancel();
    check();
    expect(run.view).toMatchObject({ status: 'cancelled', waiting_for: [], conversation_id: 'c' });
  });

  test('an unknown strategy fails the run', () => {
    const run = new Simulation({ agent: { strategy: 'mystery' } });
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'unknown_strategy' });
    expect(run.types()).toEqual(['ai.request.started', 'ai.request.failed']);
  });

  test('answers, inputs, decisions and exits concern a run; its own signals do not', () => {
    const { concerns } = createCore();
    const heard =
      'ai.llm.response ai.tool.result ai.embed.result directive.result ai.request.input ai.request.cancel_requested ' +
      'ai.tool.approval_decided agent.child.exit agent.parent.exit';
    expect(heard.split(' ').filter((type) => !concerns(type))).toEqual([]);
    const own = 'ai.llm.delta ai.usage ai.request.started agent.scheduled agent.child.started toString'.split(
      ' ',
    );
    expect(own.filter(concerns)).toEqual([]);
  });
});

describe('cancel', () => {
  test('cancels what is open, answers every tool call, keeps received results', () => {
    const run = new Simulation().model('model-1', calls(call('math.add', {}, 'a'), call('fs.list', {}, 'b')));
    run.tool('tool-1-1', 'kept').cancel('enough');
    expect(run.view).toMatchObject({ status: 'cancelled', termination_reason: 'cancelled' });
    const error = {
      type: 'cancelled',
      message: 'The run was cancelled: enough',
      details: { reason: 'enough' },
    };
    expect(run.signalsOf('ai.request.failed')).toMatchObject([{ error }]);
    expect(run.outbox).toMatchObject([{ kind: 'cancel_directives', directive_ids: ['tool-1-0'] }]);
    expect(run.messages.slice(2).map(({ tool_call_id, is_error }) => [tool_call_id, is_error])).toEqual([
      ['a', true],
      ['b', undefined],
    ]);
    run.acknowledge('end:cancel');
    expect(run.outbox).toEqual([]);
    expect(run.status).toBe('cancelled');
  });

  test('a call that waits for approval is answered in the history too', () => {
    const run = new Simulation().model('model-1', calls(call('fs.remove', {}, 'x'))).cancel();
    expect(run.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'x', is_error: true });
    expect(run.outbox).toEqual([]);
  });
});

describe('steering (upstream: steering integration)', () => {
  test('inputs wait in order and are read before the next model call', () => {
    const run = new Simulation().model('model-1', calls(call('math.add')));
    run.input('first', 'i1').input('second', 'i2');
    expect(run.document.inputs).toBe(2);
    run.tool('tool-1-0', 5);
    expect(run.document.inputs).toBe(0);
    const { messages } = run.directive('model-2')['context'] as { messages: unknown[] };
    expect(messages.slice(-3)).toMatchObject([
      { role: 'tool' },
      { role: 'user', content: 'first' },
      { role: 'user', content: 'second' },
    ]);
    expect(run.messages.at(-1)).toEqual({ role: 'user', content: 'second' });
  });

  test('an answer while an input waits does not end the run', () => {
    const run = new Simulation().input('And 4+4?').model('model-1', { text: 'Five.' });
    expect(run.status).toBe('running');
    expect(run.messages.slice(1)).toEqual([
      { role: 'assistant', content: 'Five.' },
      { role: 'user', content: 'And 4+4?' },
    ]);
    run.model('model-2', { text: 'Eight.' });
    expect(run.view).toMatchObject({ status: 'completed', result: 'Eight.' });
  });

  test('inputs that were not read when the run failed are dropped', () => {
    const run = new Simulation().input('hello').modelFails('model-1', { type: 'auth' });
    expect(run.document.inputs).toBe(0);
    expect(run.messages).toHaveLength(1);
  });
});

test('the end notifies children, parent and conversation, in order', () => {
  const effects = [{ type: 'delegate', params: { target: 'coder', task: 't' } }];
  const parent = { request_id: 'p', tag: 'w', depth: 1 };
  const run = new Simulation({ spec: { parent, conversation_id: 'c' } });
  run
    .model('model-1', calls(call('math.add')))
    .tool('tool-1-0', 1, effects)
    .cancel();
  expect(run.outbox.map(({ id }) => id)).toEqual([
    'child-1',
    'end:child:r1.c1',
    'end:parent',
    'end:conversation',
  ]);
  for (const { id } of run.outbox) run.acknowledge(id);
  expect(run.outbox).toEqual([]);
  expect(run.types().filter((type) => type.startsWith('agent.'))).toEqual([]);
});

describe('conversation', () => {
  test('the end passes the history on', () => {
    const run = new Simulation({ spec: { conversation_id: 'c' } }).model('model-1', { text: 'Five.' });
    const messages = [
      { role: 'user', content: 'What is 2+3?' },
      { role: 'assistant', content: 'Five.' },
    ];
    expect(run.outbox).toMatchObject([{ kind: 'end_conversation', conversation_id: 'c', messages }]);
  });

  test('a history with unanswered calls is repaired before the model sees it', () => {
    const messages = [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'x', name: 'math.add', arguments: {} }] },
      { role: 'user', content: 'b' },
    ];
    const run = new Simulation({ spec: { messages } });
    expect(run.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
  });
});

describe('purity', () => {
  test('an event does not change its document, and gives the same result again', () => {
    const core = createCore();
    const spec = runSpec();
    const { document } = core.begin(spec, runSetup(), T0);
    const frozen = deepFreeze(structuredClone(document));
    const event = signalEvent(
      'ai.llm.response',
      modelAnswer('model-1', calls(call('fs.remove'), call('fs.list', {}, 'y'))),
    );
    const once = core.advance(spec, frozen, event, T0);
    const twice = core.advance(spec, structuredClone(document), event, T0);
    expect(once).toEqual(twice);
    for (const next of [
      { kind: 'clock' } as const,
      signalEvent('ai.tool.approval_decided', { call_id: 'tool-1-0', decision: 'deny' }),
    ]) {
      core.advance(spec, deepFreeze(structuredClone(once.document)), next, T0 + 1);
    }
  });

  test('a document survives JSON', () => {
    const run = new Simulation()
      .model('model-1', calls(call('fs.remove'), call('fs.list', {}, 'y')))
      .input('x');
    run.document = JSON.parse(JSON.stringify(run.document)) as typeof run.document;
    run
      .decide('tool-1-0', 'approve')
      .tool('tool-1-0', 1)
      .tool('tool-1-1', 2)
      .model('model-2', { text: 'ok' });
    expect(run.view).toMatchObject({ status: 'completed', result: 'ok' });
  });
});

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}
