/** The ReAct machine: model, tools, model, answer, and everything that can come in between.
 *  It must not look at the machine's inner state where its directives, messages and signals say the same. */
import { describe, expect, test } from 'vitest';
import { directiveSchema } from '../../../src/contract/directive.ts';
import { signalDraftSchema } from '../../../src/contract/signal.ts';
import { call, calls, Simulation } from './simulation.ts';

describe('a run without tools', () => {
  test('asks the model once and ends with its answer', () => {
    const run = new Simulation();
    expect(run.types()).toEqual(['ai.request.started']);
    expect(run.ids()).toEqual(['model-1']);
    expect(run.status).toBe('running');
    run.model('model-1', { text: 'Five.' });
    expect(run.status).toBe('completed');
    expect(run.types()).toEqual(['ai.request.started', 'ai.request.completed']);
    expect(run.view).toMatchObject({ result: 'Five.', termination_reason: 'final_answer', iterations: 1 });
    expect(run.messages).toEqual([
      { role: 'user', content: 'What is 2+3?' },
      { role: 'assistant', content: 'Five.' },
    ]);
    expect(run.document.wake_at).toBeNull();
  });
});

describe('a run with tools', () => {
  test('asks the model, calls its tools, asks again', () => {
    const run = new Simulation();
    run.model('model-1', calls(call('math.add', { a: 2 }, 'x'), call('fs.list', {}, 'y')));
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1']);
    run.tool('tool-1-1', 'files');
    expect(run.ids()).toHaveLength(3);
    run.tool('tool-1-0', 5);
    expect(run.ids()).toEqual(['model-1', 'tool-1-0', 'tool-1-1', 'model-2']);
    run.model('model-2', { text: 'Five.' });
    expect(
      run.messages.map((message) => [message['role'], message['tool_call_id'], message['content']]),
    ).toEqual([
      ['user', undefined, 'What is 2+3?'],
      ['assistant', undefined, ''],
      ['tool', 'x', '{"ok":true,"result":5}'],
      ['tool', 'y', '{"ok":true,"result":"files"}'],
      ['assistant', undefined, 'Five.'],
    ]);
    expect(run.view).toMatchObject({ status: 'completed', iterations: 2, tool_calls: 2 });
  });

  test('every directive is one that the contract accepts, and every signal one that it knows', () => {
    const run = new Simulation({ agent: { model_call: { timeout_ms: 5 }, system_prompt: 'Be short.' } });
    run.model(
      'model-1',
      calls(call('math.add', { a: 2 }), call('nope', {}, 'n'), call('fs.remove', {}, 'z')),
    );
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
    const sources: Record<string, string> = { 'ai.tool.approval_requested': '/ai/tool' };
    for (const signal of run.log) {
      const source = sources[signal.type] ?? '/ai/request';
      expect(signalDraftSchema.parse({ ...envelope, ...signal, source })).toBeTruthy();
    }
  });
});
