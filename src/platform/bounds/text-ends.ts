/** The two ends of a text that is too long to keep, with each run of spaces, or of line ends, as one.
 *  It must never copy more than it returns. */

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;

/** The first bytes of `before` and `text` together. */
export function headOf(text: Uint8Array, maxBytes: number, before: Uint8Array = NOTHING): Buffer {
  const kept = Buffer.alloc(maxBytes);
  kept.set(before);
  let length = before.length;
  for (let at = 0; at < text.length && length < maxBytes; at += 1) {
    const byte = plain(text[at]);
    if (byte > SPACE || byte !== kept[length - 1]) kept[length++] = byte;
  }
  return kept.subarray(0, length);
}

/** The last bytes of `before` and `text` together. */
export function tailOf(text: Uint8Array, maxBytes: number, before: Uint8Array = NOTHING): Buffer {
  const kept = Buffer.alloc(maxBytes);
  let start = maxBytes;
  const keep = (byte: number): void => {
    if (byte > SPACE || byte !== kept[start]) kept[--start] = byte;
  };
  for (let at = text.length - 1; at >= 0 && start > 0; at -= 1) keep(plain(text[at]));
  for (let at = before.length - 1; at >= 0 && start > 0; at -= 1) keep(plain(before[at]));
  return kept.subarray(start);
}

const NOTHING = Buffer.alloc(0);

/** Line feeds for all line ends, spaces for all other control characters. */
function plain(byte = SPACE): number {
  if (byte === CARRIAGE_RETURN) return LINE_FEED;
  return byte < SPACE && byte !== LINE_FEED ? SPACE : byte;
}
