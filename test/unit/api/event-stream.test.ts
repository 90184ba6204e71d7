/** Frames of server-sent events: one signal is one frame, whatever its type holds.
 *  It must not trust what wrote the log. */
import { expect, test } from 'vitest';
import { frame } from '../../../src/api/event-stream.ts';

test.each(['x\nevent: ai.request.completed', 'x\r\n\r\nid: 9', 'x\rdata: {}', 'x\0'])(
  'a type of %j cannot start a new line',
  (type) => {
    const text = frame({ sequence: 3, type, data: { text: 'a\nb\r\n\r\nc' } } as never);
    const lines = text.split(/\r\n|\r|\n/);
    expect(lines.map((line) => line.split(':', 1)[0])).toEqual(['id', 'event', 'data', '', '']);
    expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toMatchObject({ type });
  },
);
