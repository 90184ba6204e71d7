// What the `execute` of a user's kind says and answers, as the executions of the service's own kinds do.
// Must never let anything through that cannot be journalled, nor a signal that the service itself answers for.
import { isObject } from '../contract/json-object.ts';
import { jsonSafe } from '../contract/json-safe.ts';
import { ownTypeFault } from '../contract/own-signal.ts';
import { normalizeResult } from '../contract/result.ts';
import type { Execution, Report } from '../executors/definition.ts';

/** Whatever is not an execution is an `invalid_result`, of something that may have happened. */
export function readExecution(answered: unknown): Execution {
  const { result, ambiguous, unreached, pauseScope, metadata } = Object(answered) as Partial<Execution>;
  const read = normalizeResult(result, { message: 'execute answered no { result } that can be read' });
  const isInvalid = !read.ok && read.error.type === 'invalid_result';
  return {
    result: read,
    ambiguous: isInvalid || ambiguous === true,
    unreached: unreached === true,
    pauseScope: pauseScope === 'directive' ? 'directive' : 'lane',
    ...(isObject(metadata) ? { metadata: jsonSafe(metadata) as Record<string, unknown> } : {}),
  };
}

/** Throws where the service's own report would not: what `execute` may not say is a mistake in it. */
export function ownReport(kind: string, report: Report): Report {
  return (type, data) => {
    const fault = ownTypeFault(type);
    const name = JSON.stringify(String(type)).slice(0, 258);
    if (fault === 'reserved_type')
      throw new TypeError(
        `"${kind}" cannot report ${name}: types that begin with ai., agent., directive. or adjutant. are the service's own`,
      );
    if (fault !== null)
      throw new TypeError(
        `"${kind}" cannot report ${name}: 1 to 256 characters, none of them white space or control`,
      );
    if (!isObject(data)) throw new TypeError(`"${kind}" cannot report ${name} without an object as its data`);
    report(type, data);
  };
}
