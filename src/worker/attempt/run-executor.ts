// Runs an executor so that it always ends: whatever it throws, and whether or not it obeys its abort. Never takes a
// call for harmless whose executor broke or was left behind.
import type { Directive } from '../../contract/directive/directive.ts';
import { errorEnvelope, normalizeError } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';
import type { Execution, ExecutionContext, QueuedDefinition } from '../executors/definition.ts';
import { recordable } from '../record/recordable.ts';

/** An executor that ignores its abort is left behind after this time; what it says later is not heard. */
const ABORT_GRACE_MS = 2_000;

export async function runExecutor(
  definition: QueuedDefinition,
  directive: Directive,
  context: ExecutionContext,
): Promise<Execution> {
  if (context.signal.aborted) return notBegun();
  const patience = patienceFor(context.signal);
  try {
    return recordable(await Promise.race([definition.execute(directive, context), patience.exhausted]));
  } catch (error) {
    // The call may have been made before the code broke.
    return { result: errorResult(normalizeError(error, 'exception', 'the executor broke')), ambiguous: true };
  } finally {
    patience.end();
  }
}

/** `exhausted` comes some time after the abort: a slot, a stop and a directive must not wait for deaf code. */
function patienceFor(signal: AbortSignal): { exhausted: Promise<Execution>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<Execution>();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => resolve(leftBehind()), ABORT_GRACE_MS);
  };
  signal.addEventListener('abort', begin, { once: true });
  return {
    exhausted: promise,
    end() {
      signal.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

function notBegun(): Execution {
  return { result: errorResult(errorEnvelope('cancelled', 'the attempt was stopped before it began')) };
}

function leftBehind(): Execution {
  const error = errorEnvelope('executor', 'the executor did not stop when it was told to');
  return { result: errorResult(error), ambiguous: true };
}
