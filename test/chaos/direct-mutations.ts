/** The protections of pieces that pass by `fetch` and by a provider's client, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

const CHUNKS = 'src/llm/direct-chunks.ts';
const STREAM = 'src/llm/direct-stream.ts';

export const DIRECT_CHUNK_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'direct-on-its-way': [patch(CHUNKS, 'isBetween && bytes.passed === bytes.came;', 'isBetween;')],
  'direct-within-event': [
    patch(CHUNKS, 'isBetween && bytes.passed === bytes.came;', 'bytes.passed === bytes.came;'),
  ],
  'direct-deep': [patch(CHUNKS, 'jsonExcess(chunk, limits) !== null || ', '')],
  'direct-large': [patch(CHUNKS, ' || bytes.came + bytes.taken + chunk.length > mostBytes', '')],
};

export const DIRECT_STREAM_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'direct-unread': [patch(STREAM, ' || reading.isFull()', '')],
  'direct-all': [patch(STREAM, 'if (pieces.includes(null)) return false;', '')],
};
