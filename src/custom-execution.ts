// What the `execute` of a user's kind answered, as the executions of the service's own kinds look.
// Must never let an answer through that cannot be journalled: its worker would look like one that died.
import { jsonSafe } from './contract/json-safe.ts';
import { normalizeResult } from './contract/result.ts';
import type { Execution } from './executors/definition.ts';

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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
