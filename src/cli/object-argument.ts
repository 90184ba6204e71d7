/** A JSON object given as a command line argument.
 *  It must never accept anything else. */
import { isObject } from '../contract/json-object.ts';
import { usage } from './failure.ts';

/** Throws `CliFailure`. */
export function objectArgument(text: string): Record<string, unknown> {
  const how = `Quote it for the shell, as in: '{"a": 1}'`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`The arguments are not JSON: ${(error as Error).message}`, how);
  }
  if (isObject(value)) return value;
  throw usage('The arguments are not a JSON object.', how);
}
