/** Questions of tools at the keyboard: what is shown, what each line that is typed becomes, and what ends a question.
 *  It must never reach a service: the client is the test's. */
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createKeyboard, type Input } from '../../../../src/cli/keyboard.ts';
import { createPrompts } from '../../../../src/cli/following/prompts.ts';
import { fieldsOf, fieldText, valueOf } from '../../../../src/cli/following/question-fields.ts';
import { type Asked, questionKey, questionPrompt } from '../../../../src/cli/following/questions.ts';
import { createTerminal } from '../../../../src/cli/terminal.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { textStream } from '../../../support/text-stream.ts';

const schema = {
  type: 'object',
  properties: {
    seats: { type: 'integer', title: 'Seats' },
    kind: { type: 'string', enum: ['window', 'aisle'] },
    meal: { type: 'boolean', default: true },
    tags: { type: 'array', items: { anyOf: [{ const: 'a', title: 'A' }, { const: 'b' }] } },
  },
  required: ['seats'],
};

function asked(more: Partial<Asked> = {}): Asked {
  const deadline_at = '2026-01-01T00:00:00.000Z';
  const about = { call_id: 'c', tool_name: 's.t', input_id: 'c.1', deadline_at, metadata: {} };
  return { ...about, mode: 'form', message: 'How many?', schema, ...more };
}

/** A person at a terminal, and a service that records answers; `refusals`: how many it refuses first. */
function setup({ isTTY = true, refusals = 0 } = {}) {
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const stderr = textStream(isTTY, 400);
  const answers: Record<string, unknown>[] = [];
  const client = {
    answer: async (_: string, inputId: string, { by: _by, ...answer }: Record<string, unknown>) => {
      answers.push({ inputId, ...answer });
      if (answers.length <= refusals)
        throw new DirectiveRefused(problem('invalid_body', { detail: 'content.seats must be an integer' }));
    },
  } as unknown as DirectiveClient;
  const terminal = createTerminal(textStream(isTTY), stderr);
  const keyboard = createKeyboard(stdin as unknown as Input, stderr, () => {});
  const prompts = createPrompts({ terminal, keyboard, interrupt: new AbortController().signal }, () => {});
  return {
    answers,
    prompts,
    stderr,
    ask: (question: Asked) => prompts.add(questionPrompt({ client, terminal }, 'r', question)),
    said: async (text: string | RegExp): Promise<void> =>
      expect.poll(() => stderr.text(), { interval: 5 }).toMatch(text),
    type: (line: string): void => void stdin.write(`${line}\r`),
  };
}

describe('at the keyboard', () => {
  test('the fields are asked one by one, an empty line leaves one out, and a refused answer is asked again', async () => {
    const { ask, said, type, answers } = setup({ refusals: 1 });
    ask(asked());
    await said(
      /s\.t asks.* until 2026[\s\S]*How many\?[\s\S]*kind \(window \| aisle, may be empty\)[\s\S]*answer\?/,
    );
    const typed = [
      ['y', /seats Seats \(integer\): [^:]*$/],
      ['x', /kind .*: [^:]*$/],
      ['aisle', /meal .*default true\): [^:]*$/],
      ['', /tags .*: [^:]*$/],
    ] as const;
    for (const [line, next] of typed) {
      type(line);
      await said(next);
    }
    type('a, b');
    await said(/must be an integer[\s\S]*answer\?[^?]*$/);
    type('d');
    await expect
      .poll(() => answers)
      .toEqual([
        { inputId: 'c.1', action: 'accept', content: { seats: 'x', kind: 'aisle', tags: ['a', 'b'] } },
        { inputId: 'c.1', action: 'decline' },
      ]);
  });

  test('a URL is shown whole, its host again on a line of its own, and only said to be opened', async () => {
    const { ask, said, type, answers } = setup();
    const url = `https://example.test/${'x'.repeat(600)}`;
    ask(asked({ mode: 'url', url, schema: undefined } as never));
    await said(new RegExp(`open: ${url}`));
    await said(/\n {2}on the host: example\.test\n/);
    await said(/opened it\?/);
    type('y');
    await expect.poll(() => answers).toEqual([{ inputId: 'c.1', action: 'accept' }]);
  });

  test('another word sends nothing and is asked again; a choice of the only field is the answer', async () => {
    const { ask, said, type, answers } = setup();
    ask(asked());
    await said(/answer\?/);
    type('aisle');
    await said(/Nothing is sent[\s\S]*answer\?[^?]*$/);
    type('d');
    await expect.poll(() => answers).toEqual([{ inputId: 'c.1', action: 'decline' }]);
    const color = { type: 'object', properties: { color: { type: 'string', enum: ['red', 'green'] } } };
    ask(asked({ input_id: 'c.2', schema: color }));
    await said(/color \(red[\s\S]*answer\?[^?]*$/);
    type('green');
    const content = { color: 'green' };
    await expect.poll(() => answers[1]).toEqual({ inputId: 'c.2', action: 'accept', content });
  });

  test('an empty line leaves it open and prints the commands; one that is answered elsewhere is dropped', async () => {
    const { ask, said, type, answers, prompts } = setup();
    ask(asked());
    await said(/answer\?/);
    type('');
    await said(/adjutant answer r c\.1 '\{…\}'/);
    ask(asked({ input_id: 'c.2' }));
    await said(/answer\?[\s\S]*answer\?/);
    prompts.drop(questionKey('c.2'));
    ask(asked({ input_id: 'c.3' }));
    await said(/answer\?[\s\S]*answer\?[\s\S]*answer\?/);
    prompts.dropCall('c');
    expect(answers).toEqual([]);
  });
});

test('nothing that a server wrote obeys the terminal, and a field that looks like a secret is named', async () => {
  const { ask, stderr } = setup({ isTTY: false });
  const password = {
    type: 'object',
    properties: { 'api_key\u001B[2J': { type: 'string' }, password: { type: 'string' } },
  };
  ask(asked({ message: 'Hi\u001B]0;x\u0007 \u202Etxet', tool_name: 's.t\u009B', schema: password }));
  // oxlint-disable-next-line no-control-regex
  expect(stderr.text()).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u202E]/);
  expect(stderr.text()).toMatch(/may be a secret: its server reads your answer/);
});

test('a schema beyond simple fields is answered as JSON', () => {
  expect(fieldsOf({ properties: { a: { type: 'object' } } })).toBeNull();
  expect(fieldsOf({})).toBeNull();
});

test('typed lines become values; what does not fit stays text, for the service to refuse', () => {
  const [seats, , meal] = fieldsOf(schema) ?? [];
  if (seats === undefined || meal === undefined) throw new Error('no fields');
  expect(fieldText(meal)).toBe('meal (boolean, default true)');
  expect([valueOf(seats, ' 3 '), valueOf(seats, 'three'), valueOf(seats, ' ')]).toEqual([
    3,
    'three',
    undefined,
  ]);
  expect(['y', 'No', 'perhaps'].map((text) => valueOf(meal, text))).toEqual([true, false, 'perhaps']);
});
