/** Whether each directive of a case ended once and as expected, judged by its signals.
 *  It must trust nothing but the signals. */
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../src/contract/signal/signal.ts';
import type { DemoCase } from './cases.ts';

export interface Verdict {
  /** `ok` or error types, each with its count. */
  readonly endings: string;
  readonly attempts: number;
  /** What is wrong, in sentences; empty when everything is as expected. */
  readonly faults: readonly string[];
}

export function judge({ directives, expected }: DemoCase, signals: readonly Signal[]): Verdict {
  const terminal = signals.filter(isTerminalSignal);
  const ended = new Set(terminal.map(callOf));
  const attempts = Math.max(0, ...terminal.map(({ attempt }) => attempt ?? 1));
  const endings = terminal.map(endingOf);
  const others = endings.filter((ending) => ending !== expected.ending);
  const faults = [
    ended.size === directives.length ? null : `${directives.length - ended.size} did not end`,
    terminal.length === ended.size ? null : `${terminal.length - ended.size} ended more than once`,
    others.length === 0 ? null : `${others.length} ended in ${counted(others)} instead of ${expected.ending}`,
    attempts === expected.attempts ? null : `${attempts} attempts instead of ${expected.attempts}`,
    isDense(signals) ? null : 'the sequence has gaps or repeats',
  ];
  return { endings: counted(endings), attempts, faults: faults.filter((fault) => fault !== null) };
}

function endingOf(signal: TerminalSignal): string {
  if (signal.type === 'ai.request.error') return signal.data.reason;
  return signal.data.result.ok ? 'ok' : signal.data.result.error.type;
}

function callOf(signal: TerminalSignal): string {
  return signal.type === 'ai.request.error' ? signal.id : signal.data.call_id;
}

function isDense(signals: readonly Signal[]): boolean {
  return signals.every(({ sequence }, index) => sequence === index + 1);
}

function counted(endings: readonly string[]): string {
  const counts = Map.groupBy(endings, (ending) => ending);
  return [...counts]
    .map(([ending, { length }]) => (length === 1 ? ending : `${length} × ${ending}`))
    .join(', ');
}
