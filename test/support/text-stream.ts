/** A stream that records what was written to it, and can act as a terminal.
 *  It must never change its input. */
import { PassThrough } from 'node:stream';
import type { Output } from '../../src/cli/terminal.ts';

export function textStream(isTTY: boolean, columns = 40): Output & { text(): string } {
  const through = Object.assign(new PassThrough(), { isTTY, columns });
  let text = '';
  through.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  return Object.assign(through, { text: () => text }) as unknown as Output & { text(): string };
}
