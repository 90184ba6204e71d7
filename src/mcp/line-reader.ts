/** Cuts a byte stream into lines, holding at most one line of bounded length.
 *  It must never fail on its input: a line past the bound is skipped, and its two ends are reported. */
import { createByteGatherer } from '../bounds/byte-gatherer.ts';

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
  let skipped: { head: string; tail: Buffer; bytes: number } | null = null;

  const keep = (piece: Buffer): void => {
    if (skipped !== null) {
      skipped.tail = Buffer.from(lastBytes(Buffer.concat([skipped.tail, lastBytes(piece)])));
      skipped.bytes += piece.length;
      if (skipped.bytes > MAX_SKIPPED_LINES * maxLineBytes) options.onEndless();
    } else if (!held.add(piece)) {
      const start = held.take();
      const head = (start.length > 0 ? start : piece).toString('utf8', 0, KEPT_END_BYTES);
      skipped = { head, tail: Buffer.from(lastBytes(piece)), bytes: 0 };
      onOversized(head, '');
    }
  };

  const finish = (piece: Buffer): void => {
    if (held.length === 0 && skipped === null && piece.length <= maxLineBytes) return onLine(piece);
    keep(piece);
    if (skipped === null) return onLine(held.take());
    const { head, tail } = skipped;
    skipped = null;
    onOversized(head, tail.toString('utf8'));
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

function lastBytes(bytes: Buffer): Buffer {
  return bytes.subarray(-KEPT_END_BYTES);
}
