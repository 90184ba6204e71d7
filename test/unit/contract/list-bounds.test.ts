/** Bodies whose lists are too long are refused before a schema reads each member: of four megabytes that held the API for seconds.
 *  It must never measure time: it counts what is said. */
import { expect, test } from 'vitest';
import { parseSubmission } from '../../../src/contract/directive/directive.ts';
import { runSecretsSchema } from '../../../src/contract/encrypted/encrypted-run.ts';
import { crowdedList, MOST_MEMBERS } from '../../../src/contract/directive/list-bounds.ts';

const MANY = MOST_MEMBERS + 1;
const empties = (count: number): unknown[] => Array.from({ length: count }, () => ({}));
const MESSAGE = 'must hold at most 10000 members, their parts and tool calls among them';

test.each([
  ['context', { context: empties(MANY) }],
  ['context', { context: { messages: empties(MANY) } }],
  ['context', { context: [{ role: 'user', content: empties(MANY) }] }],
  ['messages', { messages: [{ role: 'assistant', tool_calls: empties(MANY) }] }],
  ['texts', { texts: empties(MANY) }],
  ['tools', { tools: empties(MANY) }],
])('%s', (path, body) => {
  expect(crowdedList(body)).toEqual({ path, message: MESSAGE });
});

test('as many as may be are read, and so is whatever is no list', () => {
  expect(crowdedList({ messages: empties(MOST_MEMBERS) })).toBeNull();
  expect(crowdedList({ messages: null, texts: 'text', tools: 7, context: { messages: 'none' } })).toBeNull();
});

test('a directive for a model has one error, free JSON of a tool none, and the errors of a batch end', () => {
  const ask = { type: 'llm_generate', model: 'm', context: empties(MANY) };
  expect(parseSubmission(ask)).toEqual({ ok: false, errors: [{ path: 'context', message: MESSAGE }] });
  const call = { type: 'tool_exec', tool_name: 'a.b', arguments: { messages: empties(MANY) } };
  expect(parseSubmission(call)).toMatchObject({ ok: true });
  const wrong = { type: 'llm_generate', model: 'm', context: empties(200) };
  const read = parseSubmission({ directives: Array.from({ length: 1_000 }, () => wrong) });
  expect(read.ok ? [] : read.errors).toHaveLength(100);
});

test('an encrypted run likewise', () => {
  const messages = [{ role: 'user', content: empties(MANY) }];
  const read = runSecretsSchema.safeParse({ messages });
  expect(read.error?.issues.map(({ message }) => message)).toEqual([MESSAGE]);
});
