// Reads what the `execute` of a custom directive reports and returns, like executions of the service's own types.
// Must never pass on what cannot be journalled, nor a signal whose type belongs to the service.
import { isObject } from '../../contract/json/json-object.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { ownTypeFault } from '../../contract/signal/own-signal.ts';
import { normalizeResult } from '../../contract/result.ts';
import type { Execution, Report } from '../../worker/executors/definition.ts';

/** Anything but an execution becomes an `invalid_result`, which may have had an effect. */
export function readExecution(answered: unknown): Execution {
  const { result, ambiguous, unreached, pauseScope, metadata } = Object(answered) as Partial<Execution>;
  const read = normalizeResult(result, { message: 'execute returned no readable { result }' });
  const isInvalid = !read.ok && read.error.type === 'invalid_result';
  return {
    result: read,
    ambiguous: isInvalid || ambiguous === true,
    unreached: unreached === true,
    pauseScope: pauseScope === 'directive' ? 'directive' : 'lane',
    ...(isObject(metadata) ? { metadata: jsonSafe(metadata) as Record<string, unknown> } : {}),
  };
}

/** Throws where the service's own report does not: a report that is not allowed is a bug in `execute`. */
export function ownReport(directiveType: string, report: Report): Report {
  return (type, data) => {
    const fault = ownTypeFault(type);
    const name = JSON.stringify(String(type)).slice(0, 258);
    if (fault === 'reserved_type')
      throw new TypeError(
        `"${directiveType}" cannot report ${name}: types that begin with ai., agent., directive. or adjutant. are the service's own`,
      );
    if (fault !== null)
      throw new TypeError(
        `"${directiveType}" cannot report ${name}: 1 to 256 characters, none of them white space or control`,
      );
    if (!isObject(data))
      throw new TypeError(`"${directiveType}" cannot report ${name} without an object as its data`);
    report(type, data);
  };
}
