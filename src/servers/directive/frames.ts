/** Cuts what a client writes into messages: a line each, or `Content-Length` headers before each, as its first bytes are.
 *  It must never hold more than one message of bounded length. */
import { createByteGatherer } from '../../platform/bounds/byte-gatherer.ts';
import { jsonLine } from '../../platform/bounds/json-line.ts';

export type Framing = 'lines' | 'headers';

export type Frame =
  | { readonly kind: 'message'; readonly bytes: Buffer }
  /** Longer than the bound; it is skipped. */
  | { readonly kind: 'oversized' }
  /** Nothing that follows can be understood. */
  | { readonly kind: 'broken' };

export interface FrameReader {
  /** As the first message came; lines before that. */
  readonly framing: Framing;
  push(chunk: Buffer): Frame[];
  /** A last line needs no line end. */
  end(): Frame[];
}

const NEWLINE = 10;
const MAX_HEADER_CHARS = 8 * 1024;

interface Cutter {
  /** How many bytes of the chunk it took. */
  take(chunk: Buffer, frames: Frame[]): number;
  end(): Frame[];
}

export function createFrameReader(maxBytes: number): FrameReader {
  let framing: Framing | null = null;
  let cutter: Cutter | null = null;
  const choose = (chunk: Buffer): Buffer => {
    const start = chunk.findIndex((byte) => byte > 32);
    if (start < 0) return chunk.subarray(chunk.length);
    framing = isLetter(chunk[start] ?? 0) ? 'headers' : 'lines';
    cutter = framing === 'headers' ? createHeaderCutter(maxBytes) : createLineCutter(maxBytes);
    return chunk.subarray(start);
  };
  return {
    get framing() {
      return framing ?? 'lines';
    },
    push(chunk) {
      const frames: Frame[] = [];
      let rest = cutter === null ? choose(chunk) : chunk;
      while (cutter !== null && rest.length > 0) rest = rest.subarray(cutter.take(rest, frames));
      return frames;
    },
    end: () => cutter?.end() ?? [],
  };
}

/** JSON begins with no letter that a client would send; a header does. */
function isLetter(byte: number): boolean {
  return /[A-Za-z]/.test(String.fromCodePoint(byte));
}

function createLineCutter(maxBytes: number): Cutter {
  const held = createByteGatherer(maxBytes);
  let skips = false;
  const finish = (): Frame[] => {
    const bytes = held.take();
    const isEmpty = bytes.every((byte) => byte <= 32);
    const frames: Frame[] = skips ? [{ kind: 'oversized' }] : isEmpty ? [] : [{ kind: 'message', bytes }];
    skips = false;
    return frames;
  };
  return {
    take(chunk, frames) {
      const newline = chunk.indexOf(NEWLINE);
      const end = newline < 0 ? chunk.length : newline;
      if (!skips && !held.add(chunk.subarray(0, end))) {
        held.take();
        skips = true;
      }
      if (newline >= 0) frames.push(...finish());
      return Math.min(chunk.length, end + 1);
    },
    end: finish,
  };
}

function createHeaderCutter(maxBytes: number): Cutter {
  const body = createByteGatherer(maxBytes);
  let headers = '';
  /** Bytes of the body that have not come; null: in the headers. */
  let missing: number | null = null;
  let skips = false;
  let broken = false;

  const takeHeaders = (chunk: Buffer): Frame[] => {
    headers += chunk.toString('latin1');
    if (headers.trim() === '') headers = '';
    if (!/\n\r?\n$/.test(headers)) return headers.length > MAX_HEADER_CHARS ? fail() : [];
    missing = lengthIn(headers);
    headers = '';
    skips = missing !== null && missing > maxBytes;
    return missing === null ? fail() : skips ? [{ kind: 'oversized' }] : [];
  };
  const takeBody = (piece: Buffer, left: number): Frame[] => {
    if (!skips) body.add(piece);
    missing = left === 0 ? null : left;
    return left > 0 || skips ? [] : [{ kind: 'message', bytes: body.take() }];
  };
  const fail = (): Frame[] => {
    broken = true;
    return [{ kind: 'broken' }];
  };
  return {
    take(chunk, frames) {
      if (broken) return chunk.length;
      const piece = chunk.subarray(0, missing ?? endOfLine(chunk));
      frames.push(...(missing === null ? takeHeaders(piece) : takeBody(piece, missing - piece.length)));
      return piece.length;
    },
    end: () => [],
  };
}

function endOfLine(chunk: Buffer): number {
  const newline = chunk.indexOf(NEWLINE);
  return newline < 0 ? chunk.length : newline + 1;
}

/** The bytes of the body that follows; null: the headers do not say. */
function lengthIn(headers: string): number | null {
  const found = /^content-length:[ \t]*(?<bytes>\d{1,12})[ \t]*\r?$/im.exec(headers)?.groups?.['bytes'];
  return found === undefined || Number(found) === 0 ? null : Number(found);
}

/** The bytes of a message as the client frames its own. */
export function framed(message: unknown, framing: Framing): string {
  if (framing === 'lines') return jsonLine(message);
  const body = asciiOf(JSON.stringify(message));
  return `Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** The same JSON in ASCII: clients of that framing count characters as well as bytes. */
function asciiOf(json: string): string {
  return json.replaceAll(
    /[\u0080-\uFFFF]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
