/** Signals as lines for a person: one each, but deltas of one kind that arrive together share a line.
 *  It must never change their order, nor hold text back for long. */
import type { Signal } from '../../contract/signal/signal.ts';
import { deltaText, gistOf } from './signal-gist.ts';
import { oneLine, type Paint } from '../terminal.ts';

/** Text that fills a line is printed at once. */
const FULL_LINE = 100;
const LONGEST_HOLD_MS = 250;

interface SignalLines {
  add(signal: Signal): void;
  /** Prints what is held back. */
  end(): void;
}

type Delta = Extract<Signal, { type: 'ai.llm.delta' }>;

/** Deltas of one line: the first, the sequence of the last, and their joined text. */
interface Held {
  readonly first: Delta;
  last: number;
  delta: unknown;
}

export function createSignalLines(print: (line: string) => void, paint: Paint): SignalLines {
  let held: Held | null = null;
  let timer: NodeJS.Timeout | undefined;

  function end(): void {
    clearTimeout(timer);
    if (held === null) return;
    const { first, last, delta } = held;
    const number = last === first.sequence ? String(last) : `${first.sequence}–${last}`;
    held = null;
    print(lineOf(first, number, oneLine(deltaText(first.data.chunk_type, delta), 2 * FULL_LINE), paint));
  }

  function addDelta(signal: Delta): void {
    const joined =
      held !== null && isContinued(held.first, signal) ? joinedDelta(held.delta, signal.data.delta) : null;
    if (held === null || joined === null) {
      end();
      held = { first: signal, last: signal.sequence, delta: signal.data.delta };
      timer = setTimeout(end, LONGEST_HOLD_MS);
    } else {
      held.last = signal.sequence;
      held.delta = joined;
    }
    if (deltaText(signal.data.chunk_type, held.delta).length >= FULL_LINE) end();
  }

  return {
    add: (signal) => {
      if (signal.type === 'ai.llm.delta') return addDelta(signal);
      end();
      print(lineOf(signal, String(signal.sequence), gistOf(signal, paint), paint));
    },
    end,
  };
}

function isContinued(first: Delta, next: Delta): boolean {
  return (
    first.data.call_id === next.data.call_id &&
    first.data.chunk_type === next.data.chunk_type &&
    first.attempt === next.attempt
  );
}

/** null: they belong to different tool calls, or cannot be joined. */
function joinedDelta(before: unknown, after: unknown): unknown {
  if (typeof before === 'string' && typeof after === 'string') return before + after;
  const [left, right] = [Object(before), Object(after)] as [Record<string, unknown>, Record<string, unknown>];
  const [text, more] = [left['arguments'], right['arguments']];
  if (left['index'] !== right['index'] || typeof text !== 'string' || typeof more !== 'string') return null;
  return { ...left, arguments: text + more };
}

/** Sequence, time, directive, type and the gist. */
export function signalLine(signal: Signal, paint: Paint): string {
  return lineOf(signal, String(signal.sequence), gistOf(signal, paint), paint);
}

/** The same with another number and another gist: several signals in one line. */
function lineOf(signal: Signal, number: string, gist: string, paint: Paint): string {
  const columns = [
    paint('dim', number.padStart(4)),
    paint('dim', signal.time.slice(11, 23)),
    signal.type.padEnd(26),
    callIdOf(signal),
    gist,
  ];
  return columns.join(' ').trimEnd();
}

/** The directive of a signal; the request for the others. */
export function callIdOf(signal: Signal): string {
  return 'call_id' in signal.data ? signal.data.call_id : signal.subject;
}
