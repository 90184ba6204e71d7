/** A history that fills the model's context is made shorter without losing its shape.
 *  It must not depend on how tokens are estimated beyond "more text is more tokens". */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/contract/model/message.ts';
import { compactHistory, compactRefused, pruneToolResults } from '../../../src/agents/core/compaction.ts';
import { answerCalls, toolMessage } from '../../../src/agents/core/history.ts';
import { estimateTokens } from '../../../src/agents/core/token-estimate.ts';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { call, calls, Simulation } from './simulation.ts';

const text = (tokens: number): string => 'x'.repeat(tokens * 4);
const textOf = (content: unknown): string =>
  typeof content === 'string' ? content : JSON.stringify(content);
const user = (content: string): Message => ({ role: 'user', content });
const said = (content: string): Message => ({ role: 'assistant', content });

function toolRound(id: string, resultTokens: number): Message[] {
  return [
    { role: 'assistant', content: '', tool_calls: [{ id, name: 'fs.list', arguments: {} }] },
    { role: 'tool', tool_call_id: id, name: 'fs.list', content: text(resultTokens) },
  ];
}

describe('compactHistory', () => {
  test('leaves a short history alone', () => {
    expect(compactHistory([user('a'), said('b')], { limitTokens: 100, keepRecent: 1 })).toBeNull();
  });

  test('first only older tool results shrink to notes', () => {
    const messages = [user('q'), ...toolRound('a', 500), ...toolRound('b', 100)];
    const compacted = compactHistory(messages, { limitTokens: 400, keepRecent: 2 });
    expect(compacted).toMatchObject({ removed: 0, shortened: 1 });
    expect(compacted?.messages[2]?.content).toBe(
      '[Previous: fs.list result — 2000 chars, pruned to save context]',
    );
    expect(compacted?.messages[4]).toBe(messages[4]);
  });

  test('then old answers are removed, then old questions; a note counts them', () => {
    const messages = [
      { role: 'system', content: 'S' } as const,
      user(text(50)),
      said(text(100)),
      user(text(50)),
      said(text(100)),
      user('now'),
      said('yes'),
    ];
    const once = compactHistory(messages, { limitTokens: 250, keepRecent: 2 });
    expect(once?.messages.map(({ role, content }) => `${role} ${textOf(content).slice(0, 40)}`)).toEqual([
      'system S',
      `user ${'x'.repeat(40)}`,
      'user [CONTEXT COMPACTED] 2 earlier messages o',
      `user ${'x'.repeat(40)}`,
      'user now',
      'assistant yes',
    ]);
    const twice = compactHistory(once?.messages ?? [], { limitTokens: 60, keepRecent: 2 });
    expect(twice?.messages.map(({ content }) => textOf(content).slice(0, 36))).toEqual([
      'S',
      '[CONTEXT COMPACTED] 4 earlier messag',
      'now',
      'yes',
    ]);
  });

  test('kept messages stay whole, even if they are still too long', () => {
    const messages = [user(text(900)), said('ok')];
    expect(compactHistory(messages, { limitTokens: 100, keepRecent: 2 })).toBeNull();
  });

  test('pruning twice changes nothing, and a short result stays', () => {
    const messages = [user('q'), ...toolRound('a', 100), ...toolRound('b', 2)];
    const once = pruneToolResults(messages, 0, 'longer');
    expect(once.shortened).toBe(1);
    expect(pruneToolResults(once.messages, 0, 'longer').messages).toBe(once.messages);
    const every = pruneToolResults(once.messages, 0, 'every');
    expect(every.shortened).toBe(1);
    expect(pruneToolResults(every.messages, 0, 'every').messages).toBe(every.messages);
  });

  const historyArbitrary = fc
    .array(
      fc.oneof(
        fc.nat(60).map((n) => [user(text(n))]),
        fc.nat(60).map((n) => [said(text(n))]),
        fc.constant([{ role: 'system', content: 'S' } as Message]),
        fc.tuple(fc.nat(60), fc.nat(60)).map(([a, b]): Message[] => [
          {
            role: 'assistant',
            content: '',
            tool_calls: [
              { id: `i${a}`, name: 'a.b', arguments: {} },
              { id: `j${b}`, name: 'a.c', arguments: {} },
            ],
          },
          { role: 'tool', tool_call_id: `i${a}`, name: 'a.b', content: text(a) },
          { role: 'tool', tool_call_id: `j${b}`, name: 'a.c', content: text(b) },
        ]),
      ),
      { maxLength: 20 },
    )
    .map((groups) => groups.flat());

  test('whatever the history: pairs stay together, the newest and all system messages stay, it gets shorter', () => {
    fc.assert(
      fc.property(
        historyArbitrary,
        fc.integer({ min: 20, max: 400 }),
        fc.integer({ min: 1, max: 6 }),
        (messages, limitTokens, keepRecent) => {
          const compacted = compactHistory(messages, { limitTokens, keepRecent });
          if (!compacted) return;
          const after = compacted.messages;
          expect(answerCalls(after, errorEnvelope('cancelled', ''))).toBe(after);
          for (const [at, message] of after.entries()) {
            if (message.role === 'tool') expect(['assistant', 'tool']).toContain(after[at - 1]?.role);
          }
          expect(after.filter(({ role }) => role === 'system')).toHaveLength(
            messages.filter(({ role }) => role === 'system').length,
          );
          expect(after.slice(-keepRecent)).toEqual(messages.slice(-keepRecent));
          const notes = after.filter(({ content }) =>
            textOf(content).startsWith('[CONTEXT COMPACTED]'),
          ).length;
          expect(notes).toBe(compacted.removed > 0 ? 1 : 0);
          expect(after.length).toBe(messages.length - compacted.removed + notes);
          expect(estimateTokens(after)).toBeLessThanOrEqual(estimateTokens(messages) + notes * 30);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('compactRefused', () => {
  const limits = { limitTokens: 10_000, keepRecent: 6 };

  test('cuts the largest results of the newest messages to one length, with a mark, until 40 % is left', () => {
    const messages = [user('q'), ...toolRound('a', 3_000), ...toolRound('b', 20), ...toolRound('c', 2_000)];
    const compacted = compactRefused(messages, { ...limits, keepRecent: 7 });
    expect(compacted).toMatchObject({ removed: 0, shortened: 2 });
    const after = compacted?.messages ?? [];
    expect(estimateTokens(after)).toBeLessThan(estimateTokens(messages) * 0.4 + 100);
    expect(textOf(after[2]?.content)).toMatch(/^x+\n\[CUT: \d+ characters were left out/);
    expect(after[4]).toBe(messages[4]);
    const lengths = [after[2], after[6]].map((message) => textOf(message?.content).indexOf('\n'));
    expect(lengths[0]).toBe(lengths[1]);
  });

  test('a mark counts what earlier cuts removed', () => {
    const messages = [user('q'), ...toolRound('a', 2_000)];
    const once = compactRefused(messages, limits)?.messages ?? [];
    const twice = compactRefused(once, limits)?.messages ?? [];
    const content = textOf(twice[2]?.content);
    const kept = content.indexOf('\n');
    expect(content).toContain(`[CUT: ${8_000 - kept} characters`);
    expect(content.match(/CUT/g)).toHaveLength(1);
  });

  test('does not split a character of two halves', () => {
    const content = '😀'.repeat(4_001);
    const [first, asked] = [user('q'), toolRound('a', 1)[0] as Message];
    for (const start of ['', 'x']) {
      const answer: Message = { role: 'tool', tool_call_id: 'a', name: 'fs.list', content: start + content };
      const cut = compactRefused([first, asked, answer], limits)?.messages[2];
      expect(textOf(cut?.content).isWellFormed()).toBe(true);
    }
  });

  test('replaces parts by a note', () => {
    const content = [{ type: 'text' as const, text: text(5_000) }];
    const [asked] = toolRound('a', 1);
    const answer: Message = { role: 'tool', tool_call_id: 'a', name: 'fs.list', content };
    const after = compactRefused([user('q'), asked as Message, answer], limits)?.messages[2];
    expect(textOf(after?.content)).toMatch(/^\[Previous: fs\.list result/);
  });

  test('is null when there is nothing to leave out', () => {
    expect(compactRefused([user(text(5_000)), ...toolRound('a', 10)], limits)).toBeNull();
  });
});

describe('estimateTokens', () => {
  test('counts text, parts and the arguments of tool calls', () => {
    const asked = (n: number): Message => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', name: 'b', arguments: { text: text(n) } }],
    });
    expect(estimateTokens([asked(100)]) - estimateTokens([asked(0)])).toBe(100);
    const parts: Message = { role: 'user', content: [{ type: 'text', text: text(50) }] };
    expect(estimateTokens([parts])).toBeGreaterThan(54);
    expect(estimateTokens([user(''), user('')])).toBe(8);
  });
});

test('a tool message is an error only when it is marked as one', () => {
  expect(toolMessage('a', 'b', 'c')).toEqual({ role: 'tool', tool_call_id: 'a', name: 'b', content: 'c' });
});

test('anchors take their part of the context', () => {
  const agent = { compaction: { context_tokens: 1_000, threshold: 0.5, keep_recent: 1 } };
  const anchored = (n: number): number => {
    const run = new Simulation({ agent }).model('model-1', calls(call('fs.list', { n: 1 }, 'x')));
    run.tool('tool-1-0', text(300), [{ type: 'context_anchor', params: { key: 'k', content: text(n) } }]);
    return run.model('model-2', calls(call('fs.list', { n: 2 }, 'y'))).tool('tool-2-0', 'z').state.counters
      .compactions;
  };
  expect([anchored(1), anchored(250)]).toEqual([0, 1]);
});

test('a run compacts before a model call, keeps its anchors, and logs it', () => {
  const run = new Simulation({
    agent: { compaction: { context_tokens: 1_000, threshold: 0.5, keep_recent: 2 } },
  });
  run.model('model-1', calls(call('fs.list', { n: 1 }, 'x')));
  run.tool('tool-1-0', text(450), [{ type: 'context_anchor', params: { key: 'k', content: 'remember' } }]);
  expect(run.state.counters.compactions).toBe(0);
  run.model('model-2', calls(call('fs.list', { n: 2 }, 'y'))).tool('tool-2-0', text(100));
  expect(run.state.counters.compactions).toBe(1);
  expect(run.messages[2]?.['content']).toContain('pruned to save context');
  const { messages } = run.directive('model-3')['context'] as { messages: { content: string }[] };
  expect(messages.at(-1)?.content).toContain('remember');
  expect(run.logged).toMatchObject([{ level: 'info', details: { removed: 0, shortened: 1 } }]);
});

describe('a run whose prompt is refused as too long', () => {
  const refusal = (reason: string) => ({
    type: 'validation_error',
    message: 'too long',
    details: { reason },
  });
  const afterTool = (): Simulation =>
    new Simulation().model('model-1', calls(call('fs.list', { n: 1 }, 'x'))).tool('tool-1-0', text(9_000));

  test.each(['context_length', 'request_too_large'])(
    '%s: asks once more, with less than half of it',
    (reason) => {
      const run = afterTool().modelFails('model-2', refusal(reason));
      expect(run.status).toBe('running');
      const { messages } = run.directive('model-3')['context'] as { messages: Message[] };
      expect(textOf(messages[2]?.content)).toContain('[CUT: ');
      expect(estimateTokens(messages)).toBeLessThan(4_700);
      expect(run.state.counters.compactions).toBe(1);
      run.model('model-3', { type: 'final_answer', text: 'done', tool_calls: [] });
      expect(run.status).toBe('completed');
    },
  );

  test('fails with that reason when the shorter one is refused too', () => {
    const run = afterTool().modelFails('model-2', refusal('context_length'));
    run.modelFails('model-3', refusal('context_length'));
    expect(run.status).toBe('failed');
    expect(run.ids()).not.toContain('model-4');
    expect(run.view).toMatchObject({
      termination_reason: 'context_length',
      error: { type: 'validation_error', details: { reason: 'context_length' } },
    });
  });

  test('fails at once when nothing can be left out, and on any other refusal', () => {
    expect(new Simulation().modelFails('model-1', refusal('context_length')).ids()).toEqual(['model-1']);
    const other = afterTool().modelFails('model-2', refusal('other'));
    expect(other.view).toMatchObject({ status: 'failed', termination_reason: 'validation_error' });
  });

  test('after an answer it may be refused, and shortened, again', () => {
    const run = afterTool().modelFails('model-2', refusal('context_length'));
    run.model('model-3', calls(call('fs.list', { n: 2 }, 'y'))).tool('tool-3-0', text(9_000));
    run.modelFails('model-4', refusal('context_length'));
    expect(run.ids()).toContain('model-5');
  });
});
