/** A JSON object given as a command line argument.
 *  It must never accept anything else. */
import { InexactJson, parseExactJson } from '../contract/exact-json.ts';
import { isObject } from '../contract/json-object.ts';
import { usage } from './failure.ts';

const QUOTED = `Quote it for the shell, as in: '{"a": 1}'`;

/** `what` was given, in the plural, and `how` it is given as an object. Throws `CliFailure`. */
export function objectArgument(text: string, what = 'The arguments', how = QUOTED): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseExactJson(text);
  } catch (error) {
    if (error instanceof InexactJson) throw usage(`${what} are refused: ${error.message}.`, how);
    throw usage(`${what} are not JSON: ${(error as Error).message}`, how);
  }
  if (isObject(value)) return value;
  throw usage(`${what} are not a JSON object.`, how);
}
