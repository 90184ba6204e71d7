/** Cuts a byte stream into lines, holding at most one line of bounded length.
 *  It must never fail on its input: a line past the bound is skipped, and its two ends are reported. */
import { createByteGatherer } from '../../platform/bounds/byte-gatherer.ts';
import { headOf, tailOf } from '../../platform/bounds/text-ends.ts';

export interface LineReader {
  /** How many lines ended in the chunk. */
  push(chunk: Buffer): number;
}

export interface LineReaderOptions {
  readonly maxLineBytes: number;
  /** The bytes are valid until it returns. */
  readonly onLine: (line: Buffer) => void;
  /**
   * A line is too long to keep: its first and last bytes, which identify the message. Called with an empty tail when
   * the line crosses the bound, and again at its end.
   */
  readonly onOversized: (head: string, tail: string) => void;
  /** The line goes on far beyond the bound. */
  readonly onEndless: () => void;
}

const NEWLINE = 10;
const KEPT_END_BYTES = 256;
/** A line is skipped up to this many times the bound; a longer one counts as endless. */
const MAX_SKIPPED_LINES = 4;

export function createLineReader(options: LineReaderOptions): LineReader {
  const { maxLineBytes, onLine, onOversized } = options;
  const held = createByteGatherer(maxLineBytes);
  let skipped: { head: Buffer; tail: Buffer; bytes: number } | null = null;

  const keep = (piece: Buffer): void => {
    if (skipped !== null) {
      skipped.head = headOf(piece, KEPT_END_BYTES, skipped.head);
      skipped.tail = tailOf(piece, KEPT_END_BYTES, skipped.tail);
      skipped.bytes += piece.length;
      if (skipped.bytes > MAX_SKIPPED_LINES * maxLineBytes) options.onEndless();
    } else if (!held.add(piece)) {
      const start = held.take();
      const head = headOf(piece, KEPT_END_BYTES, headOf(start, KEPT_END_BYTES));
      skipped = { head, tail: tailOf(piece, KEPT_END_BYTES, tailOf(start, KEPT_END_BYTES)), bytes: 0 };
      onOversized(head.toString('utf8'), '');
    }
  };

  const finish = (piece: Buffer): void => {
    if (held.length === 0 && skipped === null && piece.length <= maxLineBytes) return onLine(piece);
    keep(piece);
    if (skipped === null) return onLine(held.take());
    const { head, tail } = skipped;
    skipped = null;
    onOversized(head.toString('utf8'), tail.toString('utf8'));
  };

  return {
    push(chunk) {
      let start = 0;
      let lines = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        finish(chunk.subarray(start, end));
        start = end + 1;
        lines += 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
      return lines;
    },
  };
}
