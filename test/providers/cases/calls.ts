/** Tool calls whose arguments cannot be used as they are, and what a model reads of a result.
 *  A row must never pass because the run ended before its tool could have been called. */
import assert from 'node:assert/strict';
import { type Cell, HANDLES, LONG_RESULT, RAN, type Reply, type RunRow, type Seen } from '../row.ts';
import { type Finish, TEXT_ARGUMENTS, WIRES } from '../wires.ts';

/** The model calls a tool once, then answers. */
function once(name: string, text: string, finish?: Finish) {
  return (_cell: Cell, index: number): Reply =>
    index === 0
      ? { parts: [{ call: 'call_1', name, arguments: text }], ...(finish === undefined ? {} : { finish }) }
      : { parts: [{ text: 'done' }] };
}

/** The tool has not run: the model reads an error, or the run ends because the answer is incomplete. */
const notRun: RunRow['expects'] = (run, seen) => {
  assert.ok(!seen.some(({ text }) => text.includes(RAN)), 'the tool has run');
  if (run.status === 'failed') assert.equal(run.termination_reason, 'incomplete_response');
  else assert.equal(run.result, 'done');
};

function unreadable(kind: string, text: string, rule: string, wires = TEXT_ARGUMENTS): RunRow {
  return { through: 'run', kind, rule, wires, says: once('t_purge', text), expects: notRun };
}

const second = (seen: readonly Seen[]): string => {
  assert.equal(seen.length, 2, `${seen.length} requests to the model instead of 2`);
  return seen[1]?.text ?? '';
};

const results: readonly RunRow[] = [
  {
    through: 'run',
    kind: 'handles in a result reach the model',
    rule: 'MCP: structuredContent is for the model; a page token is opaque and is sent back as it came',
    says: once('t_handles', '{}'),
    expects: (_run, seen) => {
      for (const value of Object.values(HANDLES))
        assert.ok(second(seen).includes(value), `${value} is missing`);
    },
  },
  {
    through: 'run',
    kind: 'a page of 21,000 characters reaches the model',
    rule: 'MCP fetch servers return pages of more than 16,384 characters',
    says: once('t_page', '{}'),
    expects: (_run, seen) => assert.ok(second(seen).includes(LONG_RESULT), 'the result is cut'),
  },
  {
    through: 'run',
    kind: 'a list of 150 members reaches the model',
    rule: 'REST APIs return pages of more than 100 members',
    says: once('t_list', '{}'),
    expects: (_run, seen) => assert.match(second(seen), /member-149-end/),
  },
  {
    through: 'run',
    kind: 'integers above 2^53 do not change silently',
    rule: 'RFC 8259, section 6: such numbers are not interoperable; ids of Discord and X have 19 digits',
    says: once('t_purge', '{"id":9007199254740993}'),
    wires: TEXT_ARGUMENTS,
    expects: (run, seen, cell) => {
      notRun(run, seen, cell);
      assert.match(second(seen), /inexact_number/);
    },
  },
  {
    through: 'run',
    kind: 'half a surrogate pair is replaced',
    rule: 'RFC 8259, section 8.2; Anthropic: "no low surrogate in string"',
    query: 'a query \ud83d',
    says: (_cell, index) => {
      const parts = [
        { text: 'text \ud83d' },
        { call: 'call_1', name: 't_purge', arguments: '{"emoji":"\\ud83d"}' },
      ];
      return index === 0 ? { parts } : { parts: [{ text: 'done' }] };
    },
    expects: (run, seen) => {
      assert.equal(run.status, 'completed');
      for (const { text } of seen) assert.doesNotMatch(text, /\\ud[89a-f]/i);
      assert.match(second(seen), /\ufffd/);
    },
  },
];

function called(kind: string, rule: string, name: string, finish?: Finish): RunRow {
  const expects: RunRow['expects'] = (_run, seen) => assert.match(second(seen), new RegExp(RAN));
  return { through: 'run', kind, rule, wires: TEXT_ARGUMENTS, says: once(name, '{}', finish), expects };
}

const HALF_RESULT: RunRow = {
  through: 'run',
  kind: 'half a surrogate pair in a result is replaced',
  rule: 'RFC 8259, section 8.2; a tool that cuts a text in the middle of a pair',
  says: once('t_half', '{}'),
  expects: (run, seen) => {
    assert.equal(run.status, 'completed', JSON.stringify(run.error));
    assert.doesNotMatch(second(seen), /\\ud[89a-f]/i);
    assert.match(second(seen), /half \ufffd end/);
  },
};

const CUT = '{"folder":"/var/tmp/sess';

/** The model calls tools in one answer, then answers. */
const both =
  (...calls: readonly { call: string; name: string }[]): RunRow['says'] =>
  (_cell, index) =>
    index === 0
      ? { parts: calls.map((each) => ({ ...each, arguments: '{}' })) }
      : { parts: [{ text: 'done' }] };

export const CALLS: readonly RunRow[] = [
  {
    through: 'run',
    kind: 'arguments cut by the length limit',
    rule: 'OpenAI: finish_reason length; Anthropic: stop_reason max_tokens; Responses: response.incomplete',
    wires: TEXT_ARGUMENTS,
    says: once('t_purge', CUT, 'length'),
    expects: notRun,
  },
  {
    through: 'run',
    kind: 'whole arguments of a cut answer',
    rule: 'as above: a later argument or call may be missing; Google: finishReason MAX_TOKENS',
    wires: WIRES,
    says: once('t_purge', '{"folder":"/var"}', 'length'),
    expects: notRun,
  },
  unreadable('cut arguments without a sign', CUT, 'vllm-project/vllm#58228: the stream ends with tool_calls'),
  unreadable('doubled arguments', '{"a":1}{"a":1}', 'UKGovernmentBEIS/inspect_ai#4822'),
  unreadable('JSON in a JSON text', '"{\\"folder\\":\\"tmp\\"}"', 'ahwurm/localharness#77'),
  unreadable('single quotes', "{'folder': 'tmp'}", 'local models write Python'),
  unreadable('a trailing comma', '{"folder":"tmp",}', 'RFC 8259 has none'),
  unreadable('a fence', '```json\n{"folder":"tmp"}\n```', 'local models write Markdown'),
  unreadable('null as arguments', 'null', 'omnigent-ai/omnigent#2587'),
  unreadable('a list as arguments', '["tmp"]', 'JSON Schema of a tool: type object', WIRES),
  unreadable('NaN in arguments', '{"n":NaN}', 'RFC 8259, section 6: NaN is not permitted'),
  unreadable('70 levels of arguments', `${'{"a":'.repeat(70)}1${'}'.repeat(70)}`, 'bounded depth'),
  ...results,
  HALF_RESULT,
  called(
    'calls beside finish_reason stop',
    'ollama/ollama#7963, googleapis/python-genai#2868',
    't_purge',
    'stop',
  ),
  called(
    'the routing of gpt-oss in a name',
    'pydantic/pydantic-ai#7143, earendil-works/pi#4439',
    't_purge<|channel|>commentary',
  ),
  called('the namespace of gpt-oss in a name', 'harmony: functions.<name>', 'functions.t_purge'),
  {
    through: 'run',
    kind: 'two calls with one id',
    rule: 'huggingface/smolagents#2683: providers repeat an id',
    says: both({ call: 'call_1', name: 't_purge' }, { call: 'call_1', name: 't_handles' }),
    expects: (run, seen) => {
      assert.equal(run.status, 'completed', JSON.stringify(run.error));
      assert.match(second(seen), new RegExp(RAN));
      assert.match(second(seen), /OPS-7/);
    },
  },
];
