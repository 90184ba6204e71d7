// Makes sure that what an executor returned can be written to the log and read back by everybody.
// Must never let an answer that came be taken for a worker that died.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { isDeeperThan } from '../../contract/json/json-guard.ts';
import { DEEPEST_RESULT, errorResult } from '../../contract/result.ts';
import type { Execution } from '../executors/definition.ts';

/** The execution as it is, or with an `invalid_result` in place of a result that no log can hold. */
export function recordable(execution: Execution): Execution {
  const { result, metadata, usage } = execution;
  if (isDeeperThan(result, DEEPEST_RESULT) || isDeeperThan(usage, DEEPEST_RESULT))
    return unrecordable(`it is nested deeper than ${DEEPEST_RESULT} levels`);
  if (!isDeeperThan(metadata, DEEPEST_RESULT)) return execution;
  const { metadata: _tooDeep, ...rest } = execution;
  return rest;
}

/** The end of an attempt whose answer came and cannot be recorded: a repeat would bring the same. */
export function unrecordable(reason: string): Execution {
  const message = `The result cannot be recorded: ${reason}`;
  return { result: errorResult(errorEnvelope('invalid_result', message)) };
}
