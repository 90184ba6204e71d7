// Reads the arguments that a model wrote for its tool calls, or says why they cannot be used.
// Must never repair or invent an argument: a tool that gets {} for a cut text may delete everything.
import { jsonShape } from '../../platform/bounds/json-shape.ts';
import { InexactJson, parseExactJson } from '../../contract/json/exact-json.ts';
import type { FinishReason } from '../../contract/model/finish-reason.ts';
import { findJsonHazard } from '../../contract/json/json-guard.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { type ArgumentsError, MOST_WRITTEN, type ToolCall } from '../../contract/model/message.ts';
import { wellFormed } from '../../contract/json/well-formed.ts';

export type ReadArguments = Pick<ToolCall, 'arguments' | 'arguments_error'>;

/** Values in the arguments of one answer, all its calls together: a run copies and compares them in each of its turns. */
const MOST_VALUES = 10_000;
const DEEPEST = 64;

/** Ends of an answer after which each of its calls is whole. */
const WHOLE: ReadonlySet<FinishReason | null> = new Set([null, 'stop', 'tool_calls', 'unknown']);

/** One result for each text. No arguments at all are {} where the answer is whole. */
export function readArguments(texts: readonly string[], finish: FinishReason | null): ReadArguments[] {
  let valuesLeft = MOST_VALUES;
  return texts.map((text) => {
    if (!WHOLE.has(finish)) return unusable('cut', cutMessage(text, finish), text);
    if (text.trim() === '')
      return finish === 'unknown' ? unusable('cut', UNFINISHED, text) : { arguments: {} };
    const { values, excess } = jsonShape(Buffer.from(text), { maxDepth: DEEPEST, maxValues: valuesLeft });
    if (excess !== null) return excess.limit === 'depth' ? tooDeep(text) : tooMany(text);
    valuesLeft = Math.max(1, valuesLeft - values);
    return readText(text);
  });
}

const UNFINISHED =
  'the answer ended without a finish reason before any of these arguments; call the tool again, with {} where it takes none';

function tooDeep(text: string): ReadArguments {
  return unusable('too_deep', `the arguments are nested deeper than ${DEEPEST} levels`, text);
}

function tooMany(text: string): ReadArguments {
  const fault = `the arguments of this answer have more than ${MOST_VALUES} values`;
  return unusable('too_many_values', fault, text);
}

function readText(text: string): ReadArguments {
  try {
    // Some providers' clients parse the arguments and write them again, after which large integers have lost their digits.
    const value = parseExactJson(text, { isStrict: true });
    if (!isObject(value))
      return unusable('not_object', `the arguments are ${kindOf(value)}, not an object`, text);
    const hazard = findJsonHazard(value, { maxDepth: DEEPEST });
    if (hazard !== null) return unusable('forbidden_key', `${hazard.path} ${hazard.message}`, text);
    return { arguments: wellFormed(value) };
  } catch (error) {
    if (error instanceof InexactJson) return unusable('inexact_number', error.message, text);
    const fault = (error as Error).message.toWellFormed().slice(0, 200);
    return unusable('not_json', `the arguments are not one JSON object (${fault})`, text);
  }
}

function cutMessage({ length }: string, finish: FinishReason | null): string {
  const why =
    finish === 'length' ? 'it reached its maximum number of output tokens' : `it ended as ${finish}`;
  return (
    `the answer was cut off after ${length} characters of these arguments because ${why}; ` +
    'call the tool again with complete, shorter arguments'
  );
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function unusable(reason: ArgumentsError['reason'], fault: string, text: string): ReadArguments {
  const message = `The tool was not called: ${fault}.`;
  return { arguments: {}, arguments_error: { reason, message, written: excerpt(text) } };
}

function excerpt(text: string): string {
  return text.slice(0, MOST_WRITTEN).toWellFormed();
}
