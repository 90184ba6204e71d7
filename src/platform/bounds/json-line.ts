/** JSON as one line for any reader: Node's `readline`, among others, also ends a line at U+2028 and U+2029.
 *  It must never change a value: within JSON both can only be in a string, where an escape means the same. */
import { Writable } from 'node:stream';

const LINE_ENDS = /[\u2028\u2029]/g;

/** The value as JSON and a line feed. */
export function jsonLine(value: unknown): string {
  return `${oneLine(JSON.stringify(value))}\n`;
}

function oneLine(json: string): string {
  return json.replace(LINE_ENDS, (end) => `\\u${end.charCodeAt(0).toString(16)}`);
}

/** A stream in front of `output` that does the same to lines that are already written as JSON. Takes no more than `output` does. */
export function jsonLines(output: Writable): Writable {
  const lines = new Writable({
    decodeStrings: false,
    highWaterMark: 1,
    write(line: string, _encoding, taken) {
      if (output.destroyed || !output.writable || output.write(oneLine(line))) return taken();
      const settle = (): void => {
        output.off('drain', settle).off('close', settle);
        taken();
      };
      output.on('drain', settle).on('close', settle);
    },
  });
  output.on('error', (error) => lines.destroy(error));
  return lines;
}
