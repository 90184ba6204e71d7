/** Reads what a server prints beside its messages: keeps the last part, logs a limited part, drains all of it.
 *  It must never grow with what the server writes. */

const MAX_KEPT_BYTES = 64 * 1024;
const MAX_LINE_CHARACTERS = 2_000;
const LINES_PER_SECOND = 20;

export interface OutputTail {
  /** Bytes of stderr. */
  push(chunk: Buffer): void;
  /** A whole line of stdout that is no message. */
  line(text: string): void;
  text(): string;
  /** The line that most likely explains the end of the server: the reason that npm names, else the last that names an error, else the last; or ''. */
  lineOfCause(): string;
}

/** Gets at most 20 lines a second; `suppressed` counts the lines left out since the one before. */
export type OnOutput = (line: string, suppressed: number) => void;

export interface OutputTailOptions {
  readonly onLine: OnOutput;
  readonly now?: () => number;
}

export function createOutputTail(options: OutputTailOptions): OutputTail {
  const kept = createByteTail(MAX_KEPT_BYTES);
  const admit = createLineLimiter(options.now ?? Date.now);
  let partial = '';
  let suppressed = 0;

  const line = (text: string): void => {
    if (text.trim() === '') return;
    if (!admit()) {
      suppressed += 1;
      return;
    }
    options.onLine(text.slice(0, MAX_LINE_CHARACTERS), suppressed);
    suppressed = 0;
  };

  return {
    push(chunk) {
      kept.push(chunk);
      const lines = (partial + chunk.toString('utf8')).split('\n');
      partial = (lines.pop() ?? '').slice(-MAX_LINE_CHARACTERS);
      for (const text of lines) line(text);
    },
    line(text) {
      kept.push(Buffer.from(`${text}\n`));
      line(text);
    },
    text: () => kept.text(),
    lineOfCause: () => lineOfCause(kept.text()),
  };
}

/** Runtimes print the error first, and then a stack or their version. */
const NAMES_ERROR = /\b(\w*(Error|Exception)|error|fatal|panic|denied|not found|cannot)\b/i;

/** npm ends a failure with the place of its log, and begins it with codes. */
const REASON_OF_NPM = /^npm (?:error|ERR!) (?!code |errno |syscall |path |A complete log )/;

function lineOfCause(text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('at '));
  return (
    lines.find((line) => REASON_OF_NPM.test(line)) ??
    lines.findLast((line) => NAMES_ERROR.test(line)) ??
    lines.at(-1) ??
    ''
  );
}

function createByteTail(maxBytes: number): { push(chunk: Buffer): void; text(): string } {
  let pieces: Buffer[] = [];
  let heldBytes = 0;
  const trim = (): Buffer => {
    const joined = Buffer.concat(pieces);
    const kept = Buffer.from(joined.subarray(-maxBytes));
    pieces = [kept];
    heldBytes = kept.length;
    return kept;
  };
  return {
    push(chunk) {
      pieces.push(chunk);
      heldBytes += chunk.length;
      // Twice the bound before it is cut, so that many small writes cost one copy.
      if (heldBytes > 2 * maxBytes) trim();
    },
    text: () => trim().toString('utf8'),
  };
}

function createLineLimiter(now: () => number): () => boolean {
  let windowStart = -Infinity;
  let admitted = 0;
  return () => {
    const time = now();
    if (time - windowStart >= 1_000) {
      windowStart = time;
      admitted = 0;
    }
    admitted += 1;
    return admitted <= LINES_PER_SECOND;
  };
}
