/** How the contracts of the clients read signals and refusals.
 *  It must never use anything that only one transport can know. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { DirectiveRefused } from '../../src/contract/problem.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';

export interface TransportSetup {
  readonly client: DirectiveClient;
  stop(): Promise<void>;
}

export const newId = (): string => `test-${randomUUID()}`;

export async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const value of values) read.push(value);
  return read;
}

export function sequences(signals: readonly Signal[]): number[] {
  return signals.map(({ sequence }) => sequence);
}

/** The traces that the signals of a request belong to. */
export async function tracesOf(signals: AsyncIterable<Signal>): Promise<Set<string | undefined>> {
  return new Set((await all(signals)).map(({ traceparent }) => traceparent.split('-')[1]));
}

/** The refusal of `call`; fails the test when it is not refused. */
export async function refusal(call: Promise<unknown>): Promise<DirectiveRefused['problem']> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(DirectiveRefused);
  return (error as DirectiveRefused).problem;
}
