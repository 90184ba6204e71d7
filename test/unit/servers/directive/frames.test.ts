/** Messages cut from bytes, in both framings, however the bytes arrive.
 *  It must not know what a message means. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createFrameReader, type Frame, framed } from '../../../../src/servers/directive/frames.ts';

const MAX_BYTES = 100;

/** As text, for comparing. */
function shown(frame: Frame): string {
  return frame.kind === 'message' ? frame.bytes.toString('utf8') : `<${frame.kind}>`;
}

function cut(text: string | Buffer, sizes: readonly number[] = []): string[] {
  const reader = createFrameReader(MAX_BYTES);
  const frames: Frame[] = [];
  let rest = Buffer.from(text as string);
  for (const size of sizes) {
    frames.push(...reader.push(rest.subarray(0, size)));
    rest = rest.subarray(size);
  }
  return [...frames, ...reader.push(rest), ...reader.end()].map(shown);
}

const withHeader = (body: string, ...headers: string[]): string =>
  `${[`Content-Length: ${Buffer.byteLength(body)}`, ...headers].join('\r\n')}\r\n\r\n${body}`;

describe('lines', () => {
  test.each([
    ['two', '{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['with CR and empty lines', '\n\r\n{"a":1}\r\n \n', ['{"a":1}\r']],
    ['a last one without its end', '{"a":1}\n{"b"', ['{"a":1}', '{"b"']],
    ['one that is too long, and the next', `"${'x'.repeat(MAX_BYTES)}"\n{}\n`, ['<oversized>', '{}']],
    ['an array', '[1]\n', ['[1]']],
    ['nothing', '', []],
  ])('%s', (_, text, frames) => expect(cut(text)).toEqual(frames));
});

describe('M16 Content-Length', () => {
  const BODY = '{"é":"🎉"}';
  test.each([
    ['one', withHeader(BODY), [BODY]],
    ['two', withHeader(BODY) + withHeader('{}'), [BODY, '{}']],
    ['in other letters', `content-LENGTH:${Buffer.byteLength(BODY)}\r\n\r\n${BODY}`, [BODY]],
    ['with more headers', withHeader(BODY, 'Content-Type: application/json', 'X: y'), [BODY]],
    ['after another header', `Content-Type: x\r\nContent-Length: 2\r\n\r\n{}`, ['{}']],
    ['with bare line ends', 'Content-Length: 2\n\n{}', ['{}']],
    ['with a line end between frames', `${withHeader('{}')}\r\n${withHeader('[]')}`, ['{}', '[]']],
    [
      'a body that is too long, and the next',
      withHeader('x'.repeat(MAX_BYTES + 1)) + withHeader('{}'),
      ['<oversized>', '{}'],
    ],
    ['without a length', 'Content-Type: x\r\n\r\n{}', ['<broken>']],
    ['a length that is no number', 'Content-Length: two\r\n\r\n{}', ['<broken>']],
    ['a length of 0', 'Content-Length: 0\r\n\r\n', ['<broken>']],
    ['a length below 0', 'Content-Length: -5\r\n\r\n{}', ['<broken>']],
    ['headers without an end', `Content-Length: 2\r\n${'X: y\r\n'.repeat(2_000)}`, ['<broken>']],
    ['half a body', 'Content-Length: 50\r\n\r\n{}', []],
  ])('%s', (_, text, frames) => expect(cut(text)).toEqual(frames));
});

test('how the bytes arrive makes no difference', () => {
  const body = fc.json().filter((json) => Buffer.byteLength(json) < MAX_BYTES && /^[^a-zA-Z]/.test(json));
  fc.assert(
    fc.property(
      fc.array(body),
      fc.boolean(),
      fc.array(fc.integer({ min: 0, max: 40 })),
      (bodies, lines, sizes) => {
        const text = bodies.map((each) => (lines ? `${each}\n` : withHeader(each))).join('');
        expect(cut(text, sizes)).toEqual(bodies);
      },
    ),
  );
});

test('an answer has the framing of the question, and with a header as many bytes as characters', () => {
  const reader = createFrameReader(MAX_BYTES);
  expect(reader.framing).toBe('lines');
  reader.push(Buffer.from('Content-Length: 2\r\n\r\n{}'));
  expect(reader.framing).toBe('headers');
  expect(framed({ é: '🎉' }, 'lines')).toBe('{"é":"🎉"}\n');
  const answer = framed({ é: '🎉' }, 'headers');
  const [head, body = ''] = answer.split('\r\n\r\n');
  expect(head).toBe(`Content-Length: ${Buffer.byteLength(body)}`);
  expect([body.length, JSON.parse(body)]).toEqual([Buffer.byteLength(body), { é: '🎉' }]);
});
