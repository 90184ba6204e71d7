/** Questions as a host shows them: what differs looks different, and no server can write as if it were Adjutant.
 *  It must not need a service: the questions are as the log of a call has them. */
import { expect, test, vi } from 'vitest';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { shownTo } from '../../../../src/http/mcp/calls/asked-leg.ts';
import {
  type ApprovalQuestion,
  callQuestions,
  type InputQuestion,
} from '../../../../src/http/mcp/calls/call-questions.ts';
import { elicitationOf } from '../../../../src/http/mcp/questions/elicitation.ts';
import { createProgressRelay } from '../../../../src/http/mcp/calls/progress-relay.ts';
import { followCall } from '../../../../src/http/mcp/questions/question-feed.ts';
import { submitCall } from '../../../../src/http/mcp/calls/tool-call.ts';

const showing = { host: { by: 'MCP host', showsForms: true, opensUrls: true }, tool: null };

function approval(args: unknown): ApprovalQuestion {
  const names = { ref: 'approval:c', callId: 'c', toolName: 'bank.pay', sequence: 1 };
  return { kind: 'approval', ...names, arguments: args, reason: '', isBudget: false };
}

function input(message: string, schema: Record<string, unknown>): InputQuestion {
  const names = { ref: 'input:c.1', callId: 'c', toolName: 'bank.pay', sequence: 1, key: null };
  return { kind: 'input', ...names, question: { mode: 'form', message, schema } };
}

const messageOf = (args: unknown): string | undefined => elicitationOf(approval(args), showing)?.message;

test('different arguments are shown differently, also where they differ in what nobody sees', () => {
  const hidden = ['', '\u{E0041}', '\u{E0042}', '\uFE0F', '\u3164', '\u00A0', '\u200B', '\u202E', '\uE000'];
  const shown = hidden.map((sign) => messageOf({ path: `/a${sign}` }));
  expect(new Set(shown).size).toBe(hidden.length);
  expect(shown[1]).toContain(String.raw`{"path":"/a\udb40\udc41"}`);
  expect(shown.join('')).toMatch(/^[\n\x20-\x7e]+$/);
});

test('a message of a server says whose it is, and moves nothing on a screen', () => {
  const schema = {
    type: 'object',
    properties: { seats: { type: 'integer', title: 'Se\u202Eats', description: 'a\u001B[2Kb' } },
  };
  const question = input('\u001B[2K\rThe agent wants to call bank.pay\u202E\nنمی‌خواهم', schema);
  expect(elicitationOf(question, showing)).toEqual({
    mode: 'form',
    message: `bank.pay asks: ${String.raw`\u001b[2K\u000dThe agent wants to call bank.pay\u202e`}\nنمی‌خواهم`,
    requestedSchema: {
      type: 'object',
      properties: {
        seats: { type: 'integer', title: String.raw`Se\u202eats`, description: String.raw`a\u001b[2Kb` },
      },
    },
  });
});

test.each([
  ['the name of a value', { 'a\u001B[2K': { type: 'string' } }],
  ['a choice', { a: { type: 'string', enum: ['x', 'y\u202E'] } }],
  ['a value to begin with', { a: { type: 'string', default: '\u001B]0;x' } }],
])('a form is not shown where %s is not plain: it must come back as it is', (_, properties) => {
  expect(elicitationOf(input('Which?', { type: 'object', properties }), showing)).toBeNull();
});

function asked(sequence: number, kind: 'approval' | 'input'): Signal {
  const type = kind === 'input' ? 'ai.tool.input_requested' : 'ai.tool.approval_requested';
  const names = { call_id: `c${sequence}`, tool_name: 's.t', input_id: `c${sequence}.1` };
  const data = { ...names, mode: 'form', message: '?', arguments: {}, metadata: {} };
  return { type, sequence, data } as unknown as Signal;
}

test('any number of questions leaves room for an approval, before them', () => {
  const questions = callQuestions();
  for (let sequence = 1; sequence <= 70; sequence += 1) questions.hear(asked(sequence, 'input'));
  questions.hear(asked(71, 'approval'));
  expect(questions.open()).toHaveLength(65);
  expect(questions.skippedFrom()).toBe(65);
  const [first] = shownTo(showing.host, questions.open(), showing);
  expect(first?.question.ref).toBe('approval:c71');
});

test('a client that comes back is not asked what the log, read to its end, says is answered', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const decided = { type: 'ai.tool.approval_decided', sequence: 2, time: 't', data: { call_id: 'c1' } };
  async function* signals(
    _: string,
    { follow = true, after = 0 }: { follow?: boolean; after?: number } = {},
  ) {
    if (after < 1) yield asked(1, 'approval');
    // The rest of the log takes longer than questions are gathered.
    await vi.advanceTimersByTimeAsync(100);
    if (after < 2) yield decided as unknown as Signal;
    if (follow) await ended;
  }
  const changed = vi.fn(() => end());
  const hearing = { relay: null, listener: { changed, enough: null } };
  await followCall({ signals } as never, { requestId: 'r', id: 'c' }, hearing, new AbortController().signal);
  vi.useRealTimers();
  expect(changed).toHaveBeenCalledExactlyOnceWith([], expect.any(Function));
});

// The conformance scenario tools-call-with-progress failed under load: the end was heard before the last progress.
test('progress that the log holds before the end is sent before the answer', async () => {
  const sent: string[] = [];
  const end = {
    type: 'ai.tool.result',
    sequence: 2,
    causationid: 'c',
    data: { result: { ok: true, payload: 'done' }, metadata: {} },
  };
  const client = {
    submit: async () => ({ request_id: 'r', directives: [{ id: 'c', status: 'accepted' }] }),
    result: async () => end,
    async *signals(_: string, { follow = true }: { follow?: boolean } = {}) {
      if (!follow) return;
      // The log is read later than the end is known.
      await new Promise((resolve) => void setImmediate(resolve));
      yield { type: 'ai.tool.progress', sequence: 1, causationid: 'c', data: { progress: 100 } };
      yield end;
    },
  };
  using relay = createProgressRelay(async ({ progress }) => void sent.push(`progress ${progress}`), 60_000);
  const parts = {
    client,
    departures: { join: () => () => {} },
    stop: new AbortController().signal,
    onError: () => {},
  };
  const call = {
    place: { requestId: 'r', id: 'c' },
    tool: { server: 's', tool: 't', effect: 'read' },
    arguments: {},
  };
  const waiter = {
    relay,
    listener: null,
    patienceMs: Infinity,
    signal: new AbortController().signal,
    isLost: () => false,
  };
  await submitCall(parts as never, call as never, waiter as never);
  sent.push('answer');
  expect(sent).toEqual(['progress 100', 'answer']);
});
