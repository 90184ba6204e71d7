/** The ReAct machine: model, tools, model, answer, and everything that can happen in between.
 *  It must not read the machine's inner state where its directives, messages and signals show the same. */
import { describe, expect, test } from 'vitest';
import { directiveSchema } from '../../../src/contract/directive/directive.ts';
import { messageSchema } from '../../../src/contract/model/message.ts';
import { signalDraftSchema } from '../../../src/contract/signal/signal.ts';
import type { JsonObject } from '../../../src/agents/turn/transition.ts';
import { call, calls, Simulation, toolAnswer } from './simulation.ts';

/** Role, tool call and text of each message. */
function told(run: Simulation): unknown[] {
  return run.messages.map(({ role, tool_call_id, content }) =>
    tool_call_id === undefined ? [role, content] : [role, tool_call_id, content],
  );
}

/** The first model call ends with this payload. */
function answered(payload: unknown): Simulation {
  const result = { ok: true, payload, effects: [] };
  return new Simulation().signal('ai.llm.response', { call_id: 'model-1', result, metadata: {} });
}

describe('start (upstream: react machine)', () => {
  test('idle → awaiting_llm: one model call with the history', () => {
    const run = new Simulation({ agent: { system_prompt: 'Be short.', model: 'a:b', max_tokens: 77 } });
    expect(run.types()).toEqual(['ai.request.started']);
    expect(run.log[0]?.data).toEqual({ request_id: 'r1', query: 'What is 2+3?', run_id: 'run-1' });
    expect(run.ids()).toEqual(['model-1']);
    expect(run.directive('model-1')).toMatchObject({
      type: 'llm_stream',
      request_id: 'r1',
      model: 'a:b',
      system_prompt: 'Be short.',
      max_tokens: 77,
      temperature: 0.2,
      tools: ['math.add', 'fs.list', 'fs.remove'],
      tool_choice: 'auto',
      context: { messages: [{ role: 'user', content: 'What is 2+3?' }] },
      iteration: 1,
      metadata: { request_id: 'r1', run_id: 'run-1', iteration: 1, strategy: 'react', agent: 'helper' },
    });
    expect(run.directive('model-1')).not.toHaveProperty('model_alias');
    expect(run.status).toBe('running');
  });

  test('an agent that does not stream makes llm_generate calls; without a model its alias is used', () => {
    const run = new Simulation({ agent: { stream: false } });
    expect(run.directive('model-1')).toMatchObject({ type: 'llm_generate', model_alias: 'fast' });
  });

  test('parameters of the agent for the provider go with each call, and are absent otherwise', () => {
    const provider_options = { service_tier: 'flex' };
    const run = new Simulation({ agent: { provider_options } });
    expect(run.directive('model-1')).toMatchObject({ provider_options });
    expect(new Simulation().directive('model-1')).not.toHaveProperty('provider_options');
  });

  test('overrides of the run win over the agent, and an alias over its model', () => {
    const own = {
      model_alias: 'capable',
      temperature: 0,
      system_prompt: 'S',
      output_schema: { type: 'object' },
    };
    const run = new Simulation({ agent: { model: 'a:b', system_prompt: 'T' }, spec: { overrides: own } });
    expect(run.directive('model-1')).toMatchObject(own);
    expect(run.directive('model-1')).not.toHaveProperty('model');
  });
});

describe('the answer of the model (upstream: react machine)', () => {
  test('awaiting_llm → completed with the text', () => {
    const run = new Simulation().model('model-1', { text: 'Five.' });
    expect(run.types()).toEqual(['ai.request.started', 'ai.request.completed']);
    const end = { request_id: 'r1', result: 'Five.', run_id: 'run-1', termination_reason: 'final_answer' };
    expect(run.log[1]?.data).toEqual(end);
    expect(run.view).toMatchObject({ result: 'Five.', termination_reason: 'final_answer', iterations: 1 });
    expect(told(run)).toEqual([
      ['user', 'What is 2+3?'],
      ['assistant', 'Five.'],
    ]);
    expect(run.document.wake_at).toBeNull();
    expect(run.outbox).toEqual([]);
  });

  test('awaiting_llm → error when the call failed', () => {
    const run = new Simulation().modelFails('model-1', { type: 'auth', message: 'no key' });
    expect(run.status).toBe('failed');
    expect(run.view.error).toMatchObject({ type: 'auth', message: 'no key' });
    expect(run.types()).toEqual(['ai.request.started', 'ai.request.failed']);
    expect(run.log[1]?.data).toMatchObject({ request_id: 'r1', error: { type: 'auth' } });
  });

  test('an output that fits the schema is the result', () => {
    const run = new Simulation().model('model-1', { text: '{"n":5}', output: { n: 5 } });
    expect(run.view.result).toEqual({ n: 5 });
  });

  test.each(['length', 'content_filter', 'error', 'incomplete', 'unknown'])(
    'an empty answer that ended with %s is incomplete_response',
    (finish_reason) => {
      const run = new Simulation().model('model-1', { text: ' \n', finish_reason });
      const error = { type: 'incomplete_response', details: { reason: finish_reason } };
      expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'incomplete_response', error });
    },
  );

  test.each([null, 'stop', 'tool_calls'])('an empty answer that ended with %s is valid', (finish_reason) => {
    const run = new Simulation().model('model-1', { text: '', finish_reason });
    expect(run.view).toMatchObject({ status: 'completed', result: '', termination_reason: 'final_answer' });
    expect(told(run)).toEqual([['user', 'What is 2+3?']]);
  });

  test.each([
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['unknown', 'final_answer'],
  ])('text that ended with %s is the answer, and the reason says so', (finish_reason, reason) => {
    const run = new Simulation().model('model-1', { text: 'Fi', finish_reason });
    expect(run.view).toMatchObject({ status: 'completed', result: 'Fi', termination_reason: reason });
  });

  test.each([7, null, [], {}, { finish_reason: 'stop' }])(
    'an answer that is not a turn (%j) fails the run',
    (payload) => {
      const run = answered(payload);
      expect(run.view.error).toMatchObject({ type: 'invalid_result' });
    },
  );

  test('an answer that is plain text is valid', () => {
    const run = answered('Five.');
    expect(run.view).toMatchObject({ status: 'completed', result: 'Five.' });
  });

  test('reasoning stays in the history as the provider gave it', () => {
    const content_parts = [
      { type: 'thinking', text: 'hm', provider_data: { a: { s: '1' } } },
      { type: 'text', text: 'Five.' },
    ];
    const run = new Simulation().model('model-1', { text: 'Five.', content_parts });
    expect(run.messages[1]).toEqual({ role: 'assistant', content: content_parts });
  });
});

describe('a round of tool calls (upstream: react machine)', () => {
  test('awaiting_tool is a barrier; results stand in the order of the calls, with the ids of the model', () => {
    const run = new Simulation();
    run.model('model-1', calls(call('math.add', { a: 2 }, 'x'), call('fs.list', {}, 'y')));
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
    const made = { type: 'tool_exec', tool_name: 'math.add', arguments: { a: 2 } };
    expect(run.directive('tool-1-0')).toMatchObject(made);
    run.tool('tool-1-1', 'files');
    expect(run.ids()).toHaveLength(3);
    run.tool('tool-1-0', 5);
    expect(run.ids()[3]).toBe('model-2');
    run.model('model-2', { text: 'Five.' });
    expect(told(run)).toEqual([
      ['user', 'What is 2+3?'],
      ['assistant', ''],
      ['tool', 'x', '{"ok":true,"result":5}'],
      ['tool', 'y', '{"ok":true,"result":"files"}'],
      ['assistant', 'Five.'],
    ]);
    expect(run.view).toMatchObject({ status: 'completed', iterations: 2, tool_calls: 2 });
    for (const message of run.messages) expect(messageSchema.parse(message)).toEqual(message);
  });

  test('the model reads the content of the tool signal', () => {
    const run = new Simulation().model('model-1', calls(call('math.add')));
    const content = '{"ok":true,"result":"short"}';
    run.signal('ai.tool.result', { ...toolAnswer('tool-1-0', { huge: 1 }), content });
    expect(told(run)[2]).toEqual(['tool', 'c1', content]);
  });

  test('an unknown tool is answered by emit_tool_error, which the model reads', () => {
    const run = new Simulation().model('model-1', calls(call('nope.x', {}, 'n')));
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_error',
      tool_name: 'nope.x',
      error: { type: 'unknown_tool', retryable: false },
    });
    run.emitted('tool-1-0');
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'model-2']);
    expect(run.messages[2]).toMatchObject({ role: 'tool', tool_call_id: 'n', is_error: true });
    expect(run.view.tool_calls).toBe(0);
  });

  test('an invalid tool name is answered, too', () => {
    const run = new Simulation().model('model-1', calls(call('', {}, 'n')));
    expect(directiveSchema.safeParse(run.directive('tool-1-0')).success).toBe(true);
  });

  test('arguments that are no object are answered with an error', () => {
    const run = new Simulation().model('model-1', calls({ id: 'c', name: 'math.add', arguments: [1] }));
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_error',
      error: { type: 'validation_error' },
    });
  });

  test('calls without an id, or with the same id twice, get new ones', () => {
    const run = new Simulation();
    run.model(
      'model-1',
      calls(call('fs.list', { a: 1 }, 'x'), call('fs.list', { a: 2 }, 'x'), call('fs.list', {}, '')),
    );
    run.tool('tool-1-0', 1).tool('tool-1-1', 2).tool('tool-1-2', 3);
    expect(told(run).slice(2, 5)).toEqual([
      ['tool', 'x', '{"ok":true,"result":1}'],
      ['tool', 'call-1-1', '{"ok":true,"result":2}'],
      ['tool', 'call-1-2', '{"ok":true,"result":3}'],
    ]);
    const asked = ((run.messages[1] ?? {})['tool_calls'] as { id: string }[]).map(({ id }) => id);
    expect(asked).toEqual(['x', 'call-1-1', 'call-1-2']);
  });

  test('the places of calls among the parts follow new ids', () => {
    const place = (id: string): JsonObject => ({ type: 'tool_call', id });
    const thinking = { type: 'thinking', text: 'hm' };
    const asked = calls(
      call('fs.list', { a: 1 }, 'x'),
      call('fs.list', { a: 2 }, 'x'),
      call('fs.list', {}, ''),
    );
    const content_parts = [thinking, place('x'), thinking, place('x'), place('other'), place('')];
    const run = new Simulation().model('model-1', { ...asked, content_parts });
    run.tool('tool-1-0', 1).tool('tool-1-1', 2).tool('tool-1-2', 3);
    expect((run.messages[1] ?? {})['content']).toEqual([
      thinking,
      place('x'),
      thinking,
      place('call-1-1'),
      place('other'),
      place('call-1-2'),
    ]);
  });

  test('results of calls that are not open are ignored and counted', () => {
    const run = new Simulation().model('model-1', calls(call('math.add'), call('fs.list', {}, 'y')));
    run.tool('tool-1-0', 5).tool('tool-1-0', 6).tool('tool-9-0', 7).model('model-1', { text: 'late' });
    expect(run.state.counters.stale).toBe(3);
    expect(run.status).toBe('running');
    run.tool('tool-1-1', 1).model('model-2', { text: 'ok' });
    expect(told(run)[2]).toEqual(['tool', 'c1', '{"ok":true,"result":5}']);
  });

  test('usage is summed over the calls, cost where every call has a price', () => {
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
    const summed = { input_tokens: 20, output_tokens: 10, total_tokens: 30, reasoning_tokens: 2 };
    const spent = (extra: JsonObject): Simulation => {
      const run = new Simulation().model('model-1', { ...calls(call('math.add')), usage }, extra);
      return run
        .tool('tool-1-0', 5)
        .model('model-2', { text: 'x', usage: { ...usage, reasoning_tokens: 2 } }, extra);
    };
    expect(spent({}).view).toMatchObject({ usage: summed, cost: null });
    expect(spent({ metadata: { cost: 0.25 } }).view).toMatchObject({ usage: summed, cost: 0.5 });
  });

  test('max_iterations completes with its text and reason', () => {
    const run = new Simulation({ agent: { limits: { max_iterations: 2 } } });
    run.model('model-1', calls(call('math.add', { n: 1 }))).tool('tool-1-0', 1);
    run.model('model-2', calls(call('math.add', { n: 2 }))).tool('tool-2-0', 1);
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'model-2', 'tool-2-0']);
    expect(run.view).toMatchObject({
      status: 'completed',
      termination_reason: 'max_iterations',
      result: 'Maximum iterations reached without a final answer.',
      iterations: 2,
    });
    expect(told(run).at(-1)).toEqual(['assistant', 'Maximum iterations reached without a final answer.']);
  });

  test.each([
    ['max_iterations', { max_iterations: 1 }],
    ['max_tokens', { max_tokens: 4_200 }],
    ['max_cost', { max_cost: 0.25 }],
  ])('an answer is kept when %s leaves no room to read a later input', (limit, limits) => {
    const usage = { input_tokens: 90, output_tokens: 4_100, total_tokens: 4_190 };
    const run = new Simulation({ agent: { limits } }).input('and then?', 'i1');
    run.model('model-1', { text: 'five', usage }, { metadata: { cost: 0.25 } });
    expect(run.view).toMatchObject({
      status: 'completed',
      termination_reason: limit,
      result: 'five',
      unread_inputs: ['i1'],
    });
    expect(run.signalsOf('ai.request.completed')).toMatchObject([{ result: 'five', unread_inputs: ['i1'] }]);
    expect(told(run).at(-1)).toEqual(['assistant', 'five']);
  });

  test('an answer is kept when the deadline comes before the answer to a later input', () => {
    const run = new Simulation({ agent: { limits: { deadline_ms: 1_000 } } }).input('and then?', 'i1');
    run.model('model-1', { text: 'five' }).input('and now?', 'i2').pass(1_000);
    expect(run.ids()).toEqual(['model-1', 'model-2']);
    expect(run.view).toMatchObject({
      status: 'completed',
      termination_reason: 'deadline_exceeded',
      result: 'five',
      unread_inputs: ['i1', 'i2'],
    });
  });

  test('approval for more is requested before the run ends with its answer, and the last answer counts', () => {
    const agent = { limits: { max_iterations: 1 }, policies: { budget: 'ask' as const } };
    const run = new Simulation({ agent }).input('and then?', 'i1').model('model-1', { text: 'five' });
    run.decide('budget-1', 'approve').input('and now?', 'i2').model('model-2', { text: 'six' });
    run.decide('budget-2', 'deny');
    expect(run.view).toMatchObject({ status: 'completed', result: 'six', unread_inputs: ['i2'] });
  });

  test('an input that was read and answered is not listed as unread', () => {
    const run = new Simulation().input('and then?', 'i1').model('model-1', { text: 'five' });
    run.model('model-2', { text: 'six' });
    expect(run.view).toMatchObject({ result: 'six', termination_reason: 'final_answer' });
    expect(run.view.unread_inputs).toBeUndefined();
  });

  test('tools see the state of the run under context.state, whatever a caller sent there', () => {
    const run = new Simulation({ agent: { tool_context: { tenant: 't', state: 'mine' } } });
    run.model('model-1', calls(call('math.add')));
    expect(run.directive('tool-1-0')['context']).toEqual({
      tenant: 't',
      state: { agent: 'helper', request_id: 'r1', run_id: 'run-1', iteration: 1, revision: 0 },
    });
  });
});

describe('repeated calls', () => {
  const again = (run: Simulation, round: number, args: Record<string, unknown>): Simulation =>
    run.model(`model-${round}`, calls(call('math.add', args))).tool(`tool-${round}-0`, 1);

  test('the third identical call in a row causes a warning, the fourth ends the run', () => {
    const run = new Simulation();
    again(run, 1, { a: 1, b: 2 });
    again(run, 2, { b: 2, a: 1 });
    expect(run.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
    again(run, 3, { a: 1, b: 2 });
    expect(told(run).at(-1)).toEqual(['user', expect.stringContaining('3 times in a row')]);
    run.model('model-4', calls(call('math.add', { a: 1, b: 2 }, 'last')));
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'duplicate_calls' });
    expect(run.ids()).not.toContain('tool-4-0');
    expect(run.messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'last', is_error: true });
  });

  test('another call in between restarts the count', () => {
    const run = new Simulation();
    for (const [round, n] of [1, 1, 2, 1, 1].entries()) again(run, round + 1, { n });
    expect(run.messages.filter(({ role }) => role === 'user')).toHaveLength(1);
  });

  test('the number is an option of the strategy, and 0 tolerates any', () => {
    const run = new Simulation({ agent: { options: { duplicate_calls: 0 } } });
    for (let round = 1; round <= 6; round += 1) again(run, round, {});
    expect(run.status).toBe('running');
    const strict = new Simulation({ agent: { options: { duplicate_calls: 1 } } });
    again(strict, 1, {}).model('model-2', calls(call('math.add')));
    expect(strict.view.termination_reason).toBe('duplicate_calls');
  });

  test('options that the strategy does not know fail the run', () => {
    const run = new Simulation({ agent: { options: { duplicate_cals: 1 } } });
    expect(run.view).toMatchObject({ status: 'failed', termination_reason: 'invalid_options' });
  });
});

test('the times of an agent’s calls are those of its definition, and else the usual ones', () => {
  const agent = { model_call: { deadline_ms: 70_000 }, tool_call: { timeout_ms: 5, deadline_ms: 60_000 } };
  const run = new Simulation({ agent });
  run.model('model-1', calls(call('math.add', { a: 2 })));
  expect(run.accepted).toMatchObject([{ deadline_ms: 70_000 }, { timeout_ms: 5, deadline_ms: 60_000 }]);
  expect(new Simulation({}).accepted).toMatchObject([{ deadline_ms: 900_000 }]);
});

// contract.md §1: the retry fields are the same for all work directives.
test('an agent sets every field of the retries of its calls', () => {
  const retries = {
    max_retries: 4,
    retry_backoff_ms: 50,
    backoff: 'exponential',
    max_backoff_ms: 900,
  } as const;
  const model = { ...retries, jitter: 0.5, deadline_ms: 70_000 };
  const tool = { ...retries, jitter: 0.25, deadline_ms: 60_000 };
  const run = new Simulation({ agent: { model_call: model, tool_call: tool } });
  run.model('model-1', calls(call('math.add', { a: 2 })));
  expect(run.accepted).toMatchObject([model, tool]);
});

test('every directive is one that the contract accepts, and every signal one that it knows', () => {
  const run = new Simulation({ agent: { model_call: { timeout_ms: 5 }, system_prompt: 'Be short.' } });
  run.model('model-1', calls(call('math.add', { a: 2 }), call('nope', {}, 'n'), call('fs.remove', {}, 'z')));
  run.decide('tool-1-2', 'approve');
  run.tool('tool-1-0', 1).emitted('tool-1-1').tool('tool-1-2', 1).model('model-2', { text: 'done' });
  expect(run.status).toBe('completed');
  for (const directive of run.accepted) expect(directiveSchema.parse(directive)).toEqual(directive);
  const envelope = {
    specversion: '1.0',
    id: 'x',
    subject: 'r1',
    time: new Date(0).toISOString(),
    datacontenttype: 'application/json',
    traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-01`,
    causationid: 'x',
  };
  for (const signal of run.log) {
    const source = signal.type.startsWith('ai.tool') ? '/ai/tool' : '/ai/request';
    const parsed = signalDraftSchema.safeParse({ ...envelope, ...signal, source });
    expect(parsed.error, signal.type).toBeUndefined();
  }
});

describe('arguments that cannot be used', () => {
  const fault = {
    reason: 'cut',
    message: 'The tool was not called: it was cut.',
    written: '{"folder":"/var',
  };
  const cut = (id: string) => ({ ...call('fs.remove', {}, id), arguments_error: fault });

  test('are answered with an error that the model reads, and no tool is called', () => {
    const run = new Simulation().model('model-1', calls(cut('x'), call('math.add', { a: 2 }, 'y')));
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
    expect(run.directive('tool-1-0')).toMatchObject({
      type: 'emit_tool_error',
      tool_name: 'fs.remove',
      error: { type: 'validation_error', message: fault.message, details: { written: fault.written } },
    });
    run.emitted('tool-1-0').tool('tool-1-1', 2);
    const context = run.directive('model-2')['context'] as { messages: JsonObject[] };
    expect(context.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'x', arguments: {}, arguments_error: fault }, { id: 'y' }] },
      { role: 'tool', tool_call_id: 'x', is_error: true, content: expect.stringContaining('it was cut') },
      { role: 'tool', tool_call_id: 'y' },
    ]);
  });

  test('in four answers in a row end the run, whatever its tolerance of identical calls', () => {
    const run = new Simulation({ agent: { options: { duplicate_calls: 0 } } });
    for (let round = 1; round <= 3; round += 1)
      run.model(`model-${round}`, calls(cut(`c${round}`))).emitted(`tool-${round}-0`);
    expect(run.status).toBe('running');
    run.model('model-4', calls(cut('c4')));
    expect(run.view).toMatchObject({
      status: 'failed',
      termination_reason: 'incomplete_response',
      error: { details: { reason: 'cut' }, message: expect.stringContaining(fault.message) },
    });
    expect(run.ids().some((id) => id.startsWith('tool-4'))).toBe(false);
  });

  test('count anew after an answer without them, and never as identical calls', () => {
    const run = new Simulation({ agent: { options: { duplicate_calls: 1 } } });
    const unusable = (round: number) =>
      run.model(`model-${round}`, calls(cut(`c${round}`))).emitted(`tool-${round}-0`);
    for (const round of [1, 2, 3]) unusable(round);
    run.model('model-4', calls(call('math.add', { a: 4 }))).tool('tool-4-0', 4);
    for (const round of [5, 6, 7]) unusable(round);
    expect(run.status).toBe('running');
    expect(run.messages.filter(({ role }) => role === 'user')).toHaveLength(2);
  });
});

// Anthropic's guide on stop reasons: an empty `end_turn` after tool results ends the turn.
test('an empty answer after results of tools completes the run with the text so far', () => {
  const asks = { ...calls(call('math.add', { a: 2 })), text: 'The sum is five.' };
  const run = new Simulation().model('model-1', asks).tool('tool-1-0', 5);
  run.model('model-2', { text: '', finish_reason: 'stop' });
  expect(run.view).toMatchObject({
    status: 'completed',
    result: 'The sum is five.',
    termination_reason: 'final_answer',
  });
});
