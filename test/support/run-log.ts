/** What the log of a scripted run shows.
 *  It must not look anywhere but into the log. */
import type { Signal } from '../../src/contract/signal/signal.ts';

export function types(log: readonly Signal[]): string[] {
  return log.map(({ type }) => type);
}

/** What the run read, in order: the result of a scripted run. */
export function heard(log: readonly Signal[]): string[] {
  const end = log.find(({ type }) => type === 'ai.request.completed');
  if (end?.type !== 'ai.request.completed') throw new Error(`not completed: ${types(log).join(' ')}`);
  return end.data.result as string[];
}
