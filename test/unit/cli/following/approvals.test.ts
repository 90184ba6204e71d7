/** Questions about tool calls: what each answer decides, and that an unneeded question is withdrawn. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { type Approval, approvalPrompt } from '../../../../src/cli/following/approvals.ts';
import { who } from '../../../../src/cli/commands/answer.ts';
import { createKeyboard, type Input } from '../../../../src/cli/keyboard.ts';
import { onInterrupt } from '../../../../src/cli/on-interrupt.ts';
import { createPrompts } from '../../../../src/cli/following/prompts.ts';
import { createTerminal } from '../../../../src/cli/terminal.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { textStream } from '../../../support/text-stream.ts';

function approval(id: string): Approval {
  return { call_id: id, tool_name: 's.t', arguments: { a: 1 }, metadata: {} };
}

/** A person at a terminal, and a service that records decisions. */
function setup({ isTTY = true, refuse = false } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stderr = textStream(isTTY, 200);
  const decided: object[] = [];
  const waiting = Promise.withResolvers<void>();
  const client = {
    runs: {
      decide: async (_: string, callId: string, decision: object) => {
        const { by, ...rest } = decision as { by?: string };
        expect(by, 'who decides: the user of this process').toBe(who(undefined).by);
        decided.push({ callId, ...rest });
        waiting.resolve();
        if (refuse) throw new DirectiveRefused(problem('already_decided', { detail: 'decided before' }));
      },
    },
  } as unknown as DirectiveClient;
  const quiet: boolean[] = [];
  const terminal = createTerminal(textStream(isTTY), stderr);
  const keyboard = createKeyboard(stdin as unknown as Input, stderr, () => {});
  const prompts = createPrompts(
    { terminal, keyboard, interrupt: new AbortController().signal },
    (asking) => void quiet.push(asking),
  );
  const approvals = {
    requested: (asked: Approval) => prompts.add(approvalPrompt({ client, terminal }, 'r', asked)),
    decided: prompts.dropCall,
    close: prompts.close,
  };
  const asked = async (question: string | RegExp): Promise<void> =>
    expect.poll(() => stderr.text(), { interval: 5 }).toMatch(question);
  const type = (line: string): void => void stdin.write(`${line}\r`);
  return { approvals, decided, quiet, stderr, asked, type, first: waiting.promise };
}

describe('an answer', () => {
  test('yes approves', async () => {
    const { approvals, decided, quiet, asked, type, first } = setup();
    approvals.requested(approval('c'));
    await asked(/s\.t \{"a":1\}[\s\S]*approve\?/);
    expect(quiet).toEqual([true]);
    type('y');
    await first;
    expect(decided).toEqual([{ callId: 'c', decision: 'approve' }]);
    await expect.poll(() => quiet).toEqual([true, false]);
  });

  test('is requested with all arguments shown, at any length', async () => {
    const { approvals, asked } = setup();
    const args = { harmless: 'x'.repeat(5_000), path: '/etc/shadow' };
    approvals.requested({ ...approval('c'), arguments: args });
    await asked(/"path":"\/etc\/shadow"\}[\s\S]*approve\?/);
  });

  test.each([
    ['', {}],
    ['too dear', { reason: 'too dear' }],
  ])('no, or none, denies, with the reason if there is one', async (why, reason) => {
    const { approvals, decided, asked, type, first } = setup();
    approvals.requested(approval('c'));
    await asked(/approve\?/);
    type('');
    await asked(/why\?/);
    type(why);
    await first;
    expect(decided).toEqual([{ callId: 'c', decision: 'deny', ...reason }]);
  });

  test('may edit the arguments, again until they are an object', async () => {
    const { approvals, decided, stderr, asked, type, first } = setup();
    approvals.requested(approval('c'));
    await asked(/approve\?/);
    type('e');
    await asked(/arguments: [\s\S]*\{"a":1\}/);
    type(' oops');
    await asked(/oops[\s\S]*oops/);
    expect(decided).toEqual([]);
    type('\u0015{"a":2}');
    await first;
    expect(decided).toEqual([{ callId: 'c', decision: 'approve', arguments: { a: 2 } }]);
    expect(stderr.text()).toContain('{"a":1}');
  });

  test('is one of the choices: another word decides nothing and is asked again', async () => {
    const { approvals, decided, asked, type, first } = setup();
    approvals.requested(approval('c'));
    await asked(/approve\?/);
    type('maybe');
    await asked(/Nothing is decided[\s\S]*approve\?[^?]*$/);
    type('y');
    await first;
    expect(decided).toEqual([{ callId: 'c', decision: 'approve' }]);
  });

  test('that comes too late is reported', async () => {
    const { approvals, asked, type } = setup({ refuse: true });
    approvals.requested(approval('c'));
    await asked(/approve\?/);
    type('y');
    await asked(/decided before/);
  });
});

describe('a question', () => {
  test('is withdrawn when somebody else has decided, and the next one is asked', async () => {
    const { approvals, decided, stderr, asked, type, first } = setup();
    approvals.requested(approval('c'));
    approvals.requested(approval('d'));
    await asked(/approve\?/);
    // One question at a time: nothing is written over it.
    expect(stderr.text().match(/waits for approval/g)).toHaveLength(1);
    approvals.decided('c');
    await asked(/approve\?[\s\S]*approve\?/);
    type('y');
    await first;
    expect(decided).toEqual([{ callId: 'd', decision: 'approve' }]);
  });

  test('of a run that has ended is not asked', async () => {
    const { approvals, quiet, asked } = setup();
    approvals.requested(approval('c'));
    approvals.requested(approval('d'));
    await asked(/approve\?/);
    approvals.close();
    await expect.poll(() => quiet).toEqual([true, false]);
  });

  test('without a keyboard becomes the commands to decide with', () => {
    const { approvals, decided, stderr } = setup({ isTTY: false });
    approvals.requested(approval('c'));
    expect(stderr.text()).toMatch(/adjutant approve r c\n.*adjutant deny r c/);
    expect(decided).toEqual([]);
  });
});

/** Seen at a terminal: after Ctrl-C at `approve?` nothing that was typed at `cancel it?` arrived. */
test('Ctrl-C at an approval asks whether to cancel, and the answer to that arrives', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = textStream(true, 200);
  const interruption = new AbortController();
  const interrupt = interruption.signal;
  const keyboard = createKeyboard(stdin as unknown as Input, stderr, () => interruption.abort());
  const quiet: boolean[] = [];
  const prompts = createPrompts(
    { terminal: createTerminal(textStream(true), stderr), keyboard, interrupt },
    (asking) => void quiet.push(asking),
  );
  const client = {} as unknown as DirectiveClient;
  using on = onInterrupt({ client, interrupt, keyboard });
  on.watch({ requestId: 'r' });
  const terminal = createTerminal(textStream(true), stderr);
  prompts.add(approvalPrompt({ client, terminal }, 'r', approval('c')));
  await expect.poll(() => stderr.text(), { interval: 5 }).toContain('approve?');
  stdin.write('\u0003');
  await expect.poll(() => stderr.text(), { interval: 5 }).toContain('cancel it?');
  stdin.write('n\r');
  await expect.poll(() => on.giveUp.aborted, { interval: 5 }).toBe(true);
  expect(quiet).toEqual([true]);
});

test('a keyboard passes an interrupt on, and an end of input is no answer', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  let interrupts = 0;
  const keyboard = createKeyboard(stdin as unknown as Input, textStream(true), () => void (interrupts += 1));
  const never = new AbortController().signal;
  const answer = keyboard?.ask('? ', { signal: never });
  stdin.write('\u0003');
  await expect.poll(() => interrupts).toBe(1);
  stdin.end();
  expect(await answer).toBeNull();
});
