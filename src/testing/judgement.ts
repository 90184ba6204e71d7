/** Assertions about signals, as verdicts with a sentence: matchers for `expect`, and functions that throw for `node:test`.
 *  An assertion without signals fails. */
import { AssertionError } from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { Signal, TerminalSignal } from '../contract/signal/signal.ts';
import { isTerminalSignal } from '../contract/signal/signal.ts';

interface Verdict {
  readonly pass: boolean;
  /** Why it is so, in one sentence. */
  readonly says: string;
}

type Ended = TerminalSignal | null | undefined;

/** `value`: the whole result, where it matters. */
function success(signal: Ended, value: readonly unknown[]): Verdict {
  if (!signal) return { pass: false, says: 'it has not ended' };
  const { result } = resultOf(signal);
  if (result === undefined) return { pass: false, says: `${signal.type} has no result` };
  if (!result.ok) return { pass: false, says: `it failed: ${JSON.stringify(result.error)}` };
  const says = `it succeeded with ${JSON.stringify(result.payload)}`;
  const pass = value.length === 0 || isDeepStrictEqual(result.payload, value[0]);
  return { pass, says: pass ? says : `${says}, not with ${JSON.stringify(value[0])}` };
}

function failure(signal: Ended, type: string | undefined): Verdict {
  if (!signal) return { pass: false, says: 'it has not ended' };
  const error = resultOf(signal).result?.error;
  if (error === undefined) return { pass: false, says: `it ended as ${signal.type} without an error` };
  const says = `it failed as ${error.type}: ${error.message}`;
  return { pass: type === undefined || error.type === type, says };
}

/** `id`: of a directive. */
function oneEnd(signals: readonly Signal[], id: string): Verdict {
  const ends = signals.filter((signal) => isTerminalSignal(signal) && signal.causationid === id);
  const says = `'${id}' has ${ends.length} terminal signals among ${signals.length} signals`;
  return { pass: ends.length === 1, says };
}

/** Also of a type of the user. */
interface AnyResult {
  readonly result?: {
    readonly ok: boolean;
    readonly payload?: unknown;
    readonly error?: { readonly type: string; readonly message: string };
  };
}

function resultOf(signal: TerminalSignal): AnyResult {
  return signal.data as AnyResult;
}

interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

function matched({ pass, says }: Verdict, what: string): MatcherResult {
  return { pass, message: () => `expected the directive ${pass ? 'not ' : ''}${what}: ${says}` };
}

/** Types of `matchers`, to be merged with those of the test runner as docs/testing.md shows. `R`: return type of its assertions. */
export interface TestMatchers<R = void> {
  /** The directive of a terminal signal succeeded, with this result where one is given. */
  toHaveSucceeded(...value: readonly unknown[]): R;
  /** The directive of a terminal signal failed, with this type of error where one is given. */
  toHaveFailed(type?: string): R;
  /** The directive of this id ended exactly once in a log. */
  toEndOnce(id: string): R;
}

/** Matchers for `expect.extend` of vitest or jest. */
export const matchers = {
  /** The directive of a terminal signal succeeded, with this result where one is given. */
  toHaveSucceeded: (signal: Ended, ...value: readonly unknown[]): MatcherResult =>
    matched(success(signal, value), 'to have succeeded'),
  /** The directive of a terminal signal failed, with this type of error where one is given. */
  toHaveFailed: (signal: Ended, type?: string): MatcherResult =>
    matched(failure(signal, type), `to have failed${type === undefined ? '' : ` as ${type}`}`),
  /** The directive of this id ended exactly once in a log. */
  toEndOnce: (signals: readonly Signal[], id: string): MatcherResult =>
    matched(oneEnd(signals, id), `'${id}' to end exactly once`),
};

function assured(verdict: Verdict): void {
  if (!verdict.pass) throw new AssertionError({ message: verdict.says });
}

/** Throws an `AssertionError` unless the directive succeeded, with this result where one is given. */
export function assertSucceeded(signal: Ended, ...value: readonly unknown[]): void {
  assured(success(signal, value));
}

/** Throws an `AssertionError` unless the directive failed, with this type of error where one is given. */
export function assertFailed(signal: Ended, type?: string): void {
  assured(failure(signal, type));
}

/** Throws an `AssertionError` unless the directive of this id ended exactly once in this log. */
export function assertEndedOnce(signals: readonly Signal[], id: string): void {
  assured(oneEnd(signals, id));
}
