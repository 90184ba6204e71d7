// The claims of a worker in memory that two threads share: written for a few hundred nanoseconds, read by the heartbeat.
// Must never make the writer wait, nor let the reader take half of a claim for a whole one.
import type { Pass } from '../queue/gated-lanes.ts';
import type { ClaimRef } from '../store/refs.ts';

/** One claim as the reader finds it. */
export interface TableEntry {
  slot: number;
  /** Tells this use of the slot from later ones. */
  generation: number;
  /** Milliseconds since the epoch. */
  startedAt: number;
  claim: ClaimRef;
  /** The pass of the gate of its lane; null: it has none. */
  pass: Pass | null;
}

/** The writer's signs of life, counted, and nothing. */
const HEADER_BYTES = 8;
const SIGNS_OF_LIFE = 0;
/** Generation, fence, four lengths, start, then ASCII: the request with its tenant, at most 161, the directive, at most 128, the lane of a
 * pass, at most 140, and its token. */
const SLOT_BYTES = 512;
const START_OFFSET = 24;
const TEXT_OFFSET = 32;

const GENERATION = 0;
const FENCE = 1;
const REQUEST_LENGTH = 2;
const ID_LENGTH = 3;
const LANE_LENGTH = 4;
const TOKEN_LENGTH = 5;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function claimTableBytes(slots: number): number {
  return HEADER_BYTES + slots * SLOT_BYTES;
}

class Slots {
  readonly #ints: Int32Array;
  readonly #floats: Float64Array;
  readonly #bytes: Uint8Array;
  readonly count: number;

  constructor(memory: SharedArrayBuffer) {
    this.#ints = new Int32Array(memory);
    this.#floats = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.count = Math.floor((memory.byteLength - HEADER_BYTES) / SLOT_BYTES);
  }

  #int(slot: number, field: number): number {
    return (HEADER_BYTES + slot * SLOT_BYTES) / 4 + field;
  }

  /** Odd while the slot holds a claim. */
  generation(slot: number): number {
    return Atomics.load(this.#ints, this.#int(slot, GENERATION));
  }

  advance(slot: number): number {
    return Atomics.add(this.#ints, this.#int(slot, GENERATION), 1) + 1;
  }

  write(slot: number, { requestId, id, fence }: ClaimRef, startedAt: number, pass: Pass | null): void {
    const text = HEADER_BYTES + slot * SLOT_BYTES + TEXT_OFFSET;
    const room = this.#bytes.subarray(text, text + SLOT_BYTES - TEXT_OFFSET);
    const first = encoder.encodeInto(requestId, room).written;
    const second = encoder.encodeInto(id, room.subarray(first)).written;
    const third = pass === null ? 0 : encoder.encodeInto(pass.lane, room.subarray(first + second)).written;
    const fourth =
      pass === null ? 0 : encoder.encodeInto(pass.token, room.subarray(first + second + third)).written;
    this.#ints[this.#int(slot, FENCE)] = fence;
    this.#ints[this.#int(slot, REQUEST_LENGTH)] = first;
    this.#ints[this.#int(slot, ID_LENGTH)] = second;
    this.#ints[this.#int(slot, LANE_LENGTH)] = third;
    this.#ints[this.#int(slot, TOKEN_LENGTH)] = fourth;
    this.#floats[(HEADER_BYTES + slot * SLOT_BYTES + START_OFFSET) / 8] = startedAt;
  }

  startedAt(slot: number): number {
    return this.#floats[(HEADER_BYTES + slot * SLOT_BYTES + START_OFFSET) / 8] ?? 0;
  }

  read(slot: number): Pick<TableEntry, 'claim' | 'pass'> {
    const text = HEADER_BYTES + slot * SLOT_BYTES + TEXT_OFFSET;
    const lengths = [REQUEST_LENGTH, ID_LENGTH, LANE_LENGTH, TOKEN_LENGTH];
    let end = 0;
    const [requestId = '', id = '', lane = '', token = ''] = lengths.map((field) => {
      const begin = end;
      end += this.#ints[this.#int(slot, field)] ?? 0;
      // Text decoders refuse shared memory, so the identifiers are copied out.
      return decoder.decode(this.#bytes.slice(text + begin, text + end));
    });
    const claim = { requestId, id, fence: this.#ints[this.#int(slot, FENCE)] ?? 0 };
    return { claim, pass: lane === '' ? null : { lane, token } };
  }
}

/** The worker's side. */
export function writeClaims(memory: SharedArrayBuffer) {
  const slots = new Slots(memory);
  const signs = new Int32Array(memory);
  const free = Array.from({ length: slots.count }, (_, index) => slots.count - 1 - index);
  return {
    /** null when every slot is taken. */
    put(
      claim: ClaimRef,
      startedAt: number,
      pass: Pass | null = null,
    ): { slot: number; generation: number } | null {
      const slot = free.pop();
      if (slot === undefined) return null;
      slots.write(slot, claim, startedAt, pass);
      return { slot, generation: slots.advance(slot) };
    },
    /** The writer's thread does something: it is not blocked. */
    live(): void {
      Atomics.add(signs, SIGNS_OF_LIFE, 1);
    },
    remove(slot: number): void {
      slots.advance(slot);
      free.push(slot);
    },
  };
}

/** The heartbeat's side: how often the writer has shown that it lives. No clock is shared, only that the count changes. */
export function signsOfLife(memory: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(memory), SIGNS_OF_LIFE);
}

/** The heartbeat's side: every claim that was put before `before`. */
export function readClaims(memory: SharedArrayBuffer, before: number): TableEntry[] {
  const slots = new Slots(memory);
  const entries: TableEntry[] = [];
  for (let slot = 0; slot < slots.count; slot += 1) {
    const generation = slots.generation(slot);
    if (generation % 2 === 0) continue;
    const startedAt = slots.startedAt(slot);
    if (startedAt > before) continue;
    const found = slots.read(slot);
    if (slots.generation(slot) === generation) entries.push({ slot, generation, startedAt, ...found });
  }
  return entries;
}
