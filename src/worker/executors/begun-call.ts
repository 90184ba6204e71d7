// The call of a model, while what its attempt holds under limits by key is its own.
// Must never make it without having asked.
import { whileItHolds } from '../../platform/bounds/while-it-holds.ts';
import type { ExecutionContext } from './definition.ts';

/** Where it may not be made any more, the signal of the call has fired, and fires. */
export async function begunCall<T>(
  mayBegin: ExecutionContext['mayBegin'],
  call: () => Promise<T>,
): Promise<T> {
  const holds = await mayBegin?.();
  return whileItHolds(holds ?? undefined, call);
}
