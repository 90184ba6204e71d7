/** The rules about runs: a run that kept every promise passes, and each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { describe, expect, test } from 'vitest';
import type { ToolExecution } from './executions.ts';
import { runEvidence } from './run-evidence.ts';
import type { RunHistory } from './run-history.ts';
import { decisionAbout, type PlannedRun, planRuns } from './run-plan.ts';
import { runViolationsOf } from './run-rules.ts';
import { AT, instant, planned, sentences, undisturbed, withLog, type World } from './run-world.ts';
import type { WireDirective, WireMessage, WireSignal } from './wire.ts';

const last = <T>(list: readonly T[]): T => list.at(-1) as T;

test('an undisturbed run passes', () => {
  expect(sentences(undisturbed())).toEqual([]);
});

test('so does one whose inputs were read before the next answer', () => {
  const world = undisturbed(steered(['by the way']));
  speakTo(world, 'by the way');
  expect(sentences(world)).toEqual([]);
});

function steered(contents: readonly string[]): PlannedRun {
  const inputs = contents.map((content, index) => ({ afterMs: 0, id: `i${index}`, content, copies: 1 }));
  return planned('steered', { inputs });
}

/** Sent after the last answer, which is therefore given once more. */
function speakTo(world: World, content: string, also: { history?: boolean } = {}): void {
  const id = 'i0';
  world.history.inputs.push({ id, content, sentAt: AT, answeredAt: AT, status: 202, code: '' });
  const put = { type: 'ai.request.input', causationid: id, data: { input_id: id, content } };
  withLog(world, () => true, [put], world.signals.length - 3);
  if (also.history === false) return;
  // As if it had been sent at the very beginning: everything after it is answered again.
  const plan = {
    ...world.history.planned,
    given: [...world.history.planned.given, { role: 'user', content }],
  };
  const again = undisturbed(plan);
  world.messages = again.messages;
  world.asks = again.asks;
  world.run = again.run;
  world.directives = again.directives;
  world.signals = again.signals;
  withLog(world, () => true, [put], 1);
}

test('a run ends as worker_lost where a call of its model did, and nowhere else', () => {
  const world = undisturbed();
  world.run = { ...world.run, status: 'failed', termination_reason: 'worker_lost' };
  const ofTheEnd = (): string[] => sentences(world).filter((each) => each.includes('ended as failed'));
  expect(ofTheEnd()).toHaveLength(1);
  const error = { type: 'worker_lost', message: '', details: { redeliveries: 4 }, retryable: false };
  const answer = last(world.signals.filter(({ type }) => type === 'ai.llm.response'));
  Object.assign(answer.data, { result: { ok: false, error, effects: [] } });
  expect(ofTheEnd()).toEqual([]);
});

test('a run may pass its deadline where Redis was away for most of its time, and not otherwise', () => {
  const world = undisturbed();
  world.run = { ...world.run, status: 'timeout', termination_reason: 'deadline_exceeded' };
  const ofTheEnd = (): string[] => sentences(world).filter((each) => each.includes('ended as timeout'));
  expect(ofTheEnd()).toHaveLength(1);
  const [from, to] = [world.signals[0], last(world.signals)].map((each) => Date.parse(each?.time ?? ''));
  world.faults.push({ kind: 'redis killed', pid: 1, at: (from ?? 0) - 1, overAt: (to ?? 0) + 1 });
  expect(ofTheEnd()).toEqual([]);
});

test('work under way may end after a run that a limit cut short with an answer, and after no other', () => {
  const world = undisturbed();
  put('ai.llm.response', 'model-9', { call_id: 'model-9', result: { ok: true } })(world);
  const late = (): string[] => sentences(world).filter((each) => each.includes('after the run'));
  expect(late()).toEqual(['ai.llm.response after the run was completed']);
  world.run = { ...world.run, termination_reason: 'deadline_exceeded', unread_inputs: ['i0'] };
  expect(late()).toEqual([]);
});

test('a run one of whose tools lost four workers is not compared with an undisturbed one', () => {
  const world = undisturbed();
  const lost = '{"ok":false,"error":{"type":"worker_lost","message":"","details":{},"retryable":false}}';
  const position = world.messages.findIndex(({ role }) => role === 'tool');
  const told = (content: string): string[] => {
    world.messages[position] = { ...(world.messages[position] as WireMessage), content, is_error: true };
    return sentences(world).filter((each) => each.includes('undisturbed'));
  };
  expect(told(lost.replace('worker_lost', 'timeout'))).toHaveLength(1);
  expect(told(lost)).toEqual([]);
});

type Disturb = (world: World) => void;

function put(type: string, causationid: string, data: object = {}, after?: number): Disturb {
  return (world) => withLog(world, () => true, [{ type, causationid, data: data as never }], after);
}

function drop(dropped: (signal: WireSignal) => boolean): Disturb {
  return (world) => withLog(world, (signal) => !dropped(signal));
}

function inRun(fields: (run: World['run']) => Partial<World['run']>): Disturb {
  return (world) => void (world.run = { ...world.run, ...fields(world.run) });
}

/** The answer of the first tool in the history. */
function toolAnswer(fields: Partial<WireMessage>): Disturb {
  return (world) => void (world.messages[2] = { ...(world.messages[2] as WireMessage), ...fields });
}

function startAnswered(purpose: 'repeat' | 'conflict', status: number): Disturb {
  const sent = { sentAt: AT, answeredAt: AT, status, code: '' };
  return (world) => void world.history.starts.push({ purpose, ...sent });
}

/** A second directive for the first call, with its start and its end. */
function madeTwice(world: World): void {
  world.directives.push({ ...(world.directives[1] as WireDirective), id: 'tool-9' });
  const again = ['ai.tool.started', 'ai.tool.result'].map((type) => {
    const signal = world.signals.find((each) => each.type === type);
    return {
      ...signal,
      id: `again-${type}`,
      causationid: 'tool-9',
      data: { ...signal?.data, call_id: 'tool-9' },
    };
  });
  withLog(world, () => true, again, 6);
}

function executedTwice({ calls }: World): void {
  const [label = '', executions = []] = [...calls][0] ?? [];
  calls.set(label, [...executions, { ...(executions[0] as ToolExecution), execution: 2 }]);
}

const ASKED = { call_id: 'x', arguments: { label: 'x' } };
const UNHEARD = { target: null, api: '', sentAt: AT, answeredAt: AT + 10, status: 200, verdicts: new Map() };

describe('it reports', () => {
  const breaks: [string, string, Disturb][] = [
    ['a run without an end', '0 ends of the run', drop(({ type }) => type === 'ai.request.completed')],
    ['two ends', '2 ends of the run', put('ai.request.failed', 's1', { error: null })],
    [
      'a word after the end',
      'ai.usage after the run was completed',
      put('ai.usage', 'model-1', { call_id: 'model-1' }),
    ],
    ['a start twice', '2 starts of the run', put('ai.request.started', 's1', {}, 1)],
    [
      'another end than planned',
      'ended as failed (max_tool_calls',
      inRun(() => ({ status: 'failed', termination_reason: 'max_tool_calls' })),
    ],
    [
      'another result than the answer',
      'the last answer',
      (world) => {
        inRun(() => ({ result: 'other' }))(world);
        drop(({ type }) => type === 'ai.request.completed')(world);
        put('ai.request.completed', 's1', { result: 'other' })(world);
      },
    ],
    ['a lost message', 'the model said', ({ messages }) => void messages.splice(2, 1)],
    [
      'a doubled message',
      'is of tool',
      ({ messages }) => void messages.splice(2, 0, messages[2] as WireMessage),
    ],
    [
      'messages in another order',
      'is of tool',
      ({ messages }) => void messages.splice(1, 2, messages[2] as WireMessage, messages[1] as WireMessage),
    ],
    ['a changed answer of a tool', 'the history is', toolAnswer({ content: '{"ok":true,"result":"7"}' })],
    [
      'a word that nobody said',
      'nobody said hi',
      ({ messages }) => void messages.splice(3, 0, { role: 'user', content: 'hi' }),
    ],
    [
      'a conversation that is not in the history',
      'which is not in the history',
      ({ asks }) => asks.push({ ...last(asks), key: 'other' }),
    ],
    ['an answer that nobody was asked for', '2 conversations for 3 answers', ({ asks }) => void asks.pop()],
    [
      'a call that was not asked for',
      'was executed, and not asked for',
      (world) => void (world.messages = world.messages.slice(0, 3)),
    ],
    [
      'a success without an execution',
      'without an execution',
      ({ calls }) => void calls.set([...calls.keys()][0] ?? '', []),
    ],
    ['a call that was made twice', 'was made 2 times', madeTwice],
    ['a second execution', '2 executions, the budget is 1', executedTwice],
    [
      'a directive that never ended',
      'tool-1-0: no terminal signal',
      drop(({ type, causationid }) => type === 'ai.tool.result' && causationid === 'tool-1-0'),
    ],
    ['a cause that is not there', 'is caused by elsewhere', put('ai.request.started', 'elsewhere', {}, 1)],
    ['other counts', '9 iterations, 3 model calls', inRun(() => ({ iterations: 9 }))],
    [
      'other usage',
      'input_tokens are 1, its calls used',
      inRun(({ usage }) => ({ usage: { ...usage, input_tokens: 1 } })),
    ],
    ['a run that waits', 'waits for', inRun(() => ({ waiting_for: [{}] }))],
    ['a start that was refused', 'a repeat was answered 409', startAnswered('repeat', 409)],
    ['a conflict that was accepted', 'a conflict was answered 202', startAnswered('conflict', 202)],
    [
      'an approval that was requested without need',
      'approval was requested',
      put('ai.tool.approval_requested', 's1', ASKED, 2),
    ],
    [
      'an end in spite of a cancellation',
      'completed after it was cancelled',
      (world) => put('ai.request.cancel_requested', world.history.requestId, {}, 2)(world),
    ],
    [
      'two runs of a conversation that know nothing of each other',
      'goes on from what was said before',
      ({ others }) => others.push({ messages: [{ role: 'user', content: 'other' }], iterations: 1 }),
    ],
    [
      'a cancellation that was acknowledged and not heard',
      'a cancellation was acknowledged, and the run went on',
      ({ history }) => history.cancels.push(UNHEARD),
    ],
    [
      'words of another conversation',
      'that no other run of the conversation has',
      ({ messages }) => void messages.unshift({ role: 'user', content: 'before' }),
    ],
  ];

  test.each(breaks)('%s', (_name, sentence, disturb) => {
    const world = undisturbed();
    disturb(world);
    expect(sentences(world)).toContainEqual(expect.stringContaining(sentence));
  });

  test('a run that is unknown', () => {
    const { history } = undisturbed();
    const sight = { view: null, signals: [], calls: new Map(), asks: [] };
    expect(runViolationsOf(runEvidence(history, sight, { faults: [], others: [] }))).toEqual([
      'started, and unknown',
    ]);
  });

  test('an input that was accepted and forgotten', () => {
    const world = undisturbed(steered(['by the way']));
    speakTo(world, 'by the way', { history: false });
    expect(sentences(world)).toContain('the input i0 was accepted, and the run completed without it');
  });

  test('an input that was accepted and is not in the log', () => {
    const world = undisturbed(steered(['by the way']));
    speakTo(world, 'by the way');
    withLog(world, ({ type }) => type !== 'ai.request.input');
    expect(sentences(world)).toContain('the input i0 was accepted and is not in the log');
  });

  test('an input that was read twice', () => {
    const world = undisturbed(steered(['by the way']));
    speakTo(world, 'by the way');
    world.messages.splice(2, 0, { role: 'user', content: 'by the way' });
    expect(sentences(world)).toContain('the input i0 is 2 times in the history');
  });
});

describe('about calls that need approval it reports', () => {
  const ONCE = ['alpha.once'];
  type Decision = RunHistory['decisions'][number];
  const decided = (callId: string, decision: Decision['decision']): Decision => {
    const sent = { sentAt: AT, answeredAt: AT, status: 200, code: '' };
    return { callId, decision, arguments: null, ...sent };
  };
  const refusedAs = (type: string): Disturb =>
    toolAnswer({ is_error: true, content: JSON.stringify({ ok: false, error: { type } }) });

  /** Both calls needed approval and were approved. */
  function careful(): World {
    const base = planned('careful');
    const script = { ...base.script, rounds: 2, calls: 1, tools: ONCE };
    const world = undisturbed({
      ...base,
      script,
      given: [{ role: 'user', content: JSON.stringify(script) }],
    });
    for (const id of ['tool-1-0', 'tool-2-0']) {
      const at = world.signals.findIndex(({ causationid }) => causationid === id);
      const started = world.signals[at] as WireSignal;
      const deadline_at = instant(at + 100);
      const request = { call_id: id, arguments: started.data['arguments'], deadline_at };
      const asked = { id: `ask-${id}`, type: 'ai.tool.approval_requested', causationid: 's1', data: request };
      const said = { call_id: id, decision: 'approve' };
      const answer = { id: `say-${id}`, type: 'ai.tool.approval_decided', causationid: id, data: said };
      withLog(world, () => true, [asked, answer] as never, at);
      world.history.decisions.push(decided(id, 'approve'));
    }
    return world;
  }

  test('nothing when both were approved', () => {
    expect(sentences(careful())).toEqual([]);
  });

  const breaks: [string, string, Disturb][] = [
    [
      'of a call without approval',
      'was made without approval',
      drop(({ type }) => type.startsWith('ai.tool.approval')),
    ],
    [
      'of a call that nobody decided about',
      'was made without approval',
      drop(({ type }) => type === 'ai.tool.approval_decided'),
    ],
    [
      'of a decision that is not in the log',
      'the log does not say so',
      drop(({ id }) => id === 'say-tool-1-0'),
    ],
    [
      'of two decisions',
      'was decided about twice',
      put('ai.tool.approval_decided', 'tool-1-0', { call_id: 'tool-1-0', decision: 'approve' }, 6),
    ],
    [
      'of a call in spite of a denial',
      'was decided about otherwise',
      ({ history }) => history.decisions.push(decided('tool-1-0', 'deny')),
    ],
    [
      'of other arguments than were approved',
      'was made with other arguments',
      ({ history: { decisions } }) =>
        void decisions.splice(0, 1, { ...(decisions[0] as Decision), arguments: { a: -1 } }),
    ],
    ['of an execution of what was denied', 'was executed without approval', refusedAs('denied')],
    [
      'of what expired although it was decided',
      'expired, and was decided about in time',
      ({ run }) =>
        void Object.assign(run, {
          error: { type: 'approval_expired', details: { call_id: 'tool-1-0' } },
        }),
    ],
  ];

  test.each(breaks)('%s', (_name, sentence, disturb) => {
    const world = careful();
    disturb(world);
    expect(sentences(world)).toContainEqual(expect.stringContaining(sentence));
  });
});

test('the same seed plans the same runs and decisions, another seed plans others', () => {
  const plans = (seed: string): string =>
    JSON.stringify([1, 2, 3, 4].map((number) => planRuns(seed, number)));
  expect(plans('one')).toBe(plans('one'));
  expect(plans('one')).not.toBe(plans('two'));
  const call = { id: 'c', tool: 'alpha.once', arguments: { label: 'r/0.0' } };
  expect(decisionAbout(call)).toEqual(decisionAbout(call));
});
