/** Joins chunks of bytes up to a bound. Its memory depends on the bytes held, not on the number of chunks.
 *  It never holds more than its bound, nor keeps the memory of a chunk alive. */

export interface ByteGatherer {
  readonly length: number;
  /** Adds a chunk; false: it would cross the bound and is not held. */
  add(piece: Uint8Array): boolean;
  /** Returns what is held, and empties it. */
  take(): Buffer<ArrayBuffer>;
}

const FIRST_BYTES = 4 * 1024;

export function createByteGatherer(maxBytes: number): ByteGatherer {
  let held = Buffer.alloc(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(piece) {
      const needed = length + piece.length;
      if (needed > maxBytes) return false;
      if (needed > held.length) held = grown(held, length, needed, maxBytes);
      held.set(piece, length);
      length = needed;
      return true;
    },
    take() {
      const taken = held.subarray(0, length);
      held = Buffer.alloc(0);
      length = 0;
      return taken;
    },
  };
}

/** Doubles the capacity, so that many small chunks cost few copies. */
function grown(
  held: Buffer<ArrayBuffer>,
  length: number,
  needed: number,
  maxBytes: number,
): Buffer<ArrayBuffer> {
  const size = Math.min(Math.max(FIRST_BYTES, held.length * 2, needed), Math.max(maxBytes, needed));
  const larger = Buffer.allocUnsafeSlow(size);
  larger.set(held.subarray(0, length));
  return larger;
}
