/** Cuts a byte stream into lines without ever holding more than one line of bounded length.
 *  It must never fail on what it reads: a line past the bound is passed over, with its two ends reported. */

export interface LineReader {
  push(chunk: Buffer): void;
}

export interface LineReaderOptions {
  readonly maxLineBytes: number;
  readonly onLine: (line: string) => void;
  /** A line was too long to keep: its first and last bytes, enough to tell which message it was. */
  readonly onOversized: (head: string, tail: string) => void;
}

const NEWLINE = 10;
const KEPT_END_BYTES = 256;

export function createLineReader(options: LineReaderOptions): LineReader {
  let pieces: Buffer[] = [];
  let pendingBytes = 0;
  let oversizedHead: Buffer | null = null;

  const keep = (piece: Buffer): void => {
    pieces.push(piece);
    pendingBytes += piece.length;
    if (pendingBytes <= options.maxLineBytes && oversizedHead === null) return;
    const held = Buffer.concat(pieces);
    oversizedHead ??= Buffer.from(held.subarray(0, KEPT_END_BYTES));
    pieces = [Buffer.from(held.subarray(-KEPT_END_BYTES))];
    pendingBytes = pieces[0]?.length ?? 0;
  };

  const finish = (piece: Buffer): void => {
    if (pieces.length === 0 && piece.length <= options.maxLineBytes)
      return options.onLine(piece.toString('utf8'));
    keep(piece);
    const line = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
    const head = oversizedHead;
    pieces = [];
    pendingBytes = 0;
    oversizedHead = null;
    const text = line?.toString('utf8') ?? '';
    if (head === null) options.onLine(text);
    else options.onOversized(head.toString('utf8'), text);
  };

  return {
    push(chunk) {
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
        finish(chunk.subarray(start, end));
        start = end + 1;
      }
      if (start < chunk.length) keep(chunk.subarray(start));
    },
  };
}
