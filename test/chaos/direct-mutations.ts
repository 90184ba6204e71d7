/** The protections of pieces that pass by `fetch` and by a provider's client, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

const CHUNKS = 'src/llm/direct-chunks.ts';
const LEAD = 'src/llm/direct-lead.ts';
const STREAM = 'src/llm/direct-stream.ts';

export const DIRECT_CHUNK_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'direct-on-its-way': [patch(CHUNKS, 'isBetween && bytes.passed === bytes.came;', 'isBetween;')],
  'direct-within-event': [
    patch(CHUNKS, 'isBetween && bytes.passed === bytes.came;', 'bytes.passed === bytes.came;'),
  ],
  'direct-deep': [patch(CHUNKS, 'jsonExcess(chunk, limits) !== null || ', '')],
  'direct-large': [patch(CHUNKS, ' || bytes.came + bytes.taken + chunk.length > mostBytes', '')],
  'direct-lead-encoded': [patch(CHUNKS, "if (name === 'content-encoding') return false;", '')],
  'direct-lead-status': [patch(CHUNKS, 'status === 200 && ', '')],
  'direct-lead-type': [patch(CHUNKS, 'let isEvents = false;', 'let isEvents = true;')],
  'direct-lead-deep': [patch(CHUNKS, ' && jsonExcess(chunk, limits) === null;', ';')],
};

export const DIRECT_STREAM_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'direct-unread': [patch(STREAM, 'reading.isFull() ? null : client.next()', 'client.next()')],
  'direct-lead-twice': [patch(LEAD, 'shown.shift();\n      return true;', 'return false;')],
  'direct-lead-misread': [patch(LEAD, 'if (!isSame(part, next)) throw misread();', '')],
  'direct-lead-lost': [patch(STREAM, 'if (result.done) lead.end();', 'if (result.done) void 0;')],
  'direct-lead-after-other': [patch(LEAD, 'isAtStart = false;\n', '')],
  'direct-lead-held': [patch(LEAD, 'open !== null && isIdle', 'open !== null')],
  'direct-lead-error': [patch(LEAD, "if (part.type === 'error') {", 'if (part.type !== part.type) {')],
  'direct-all': [patch(STREAM, 'if (pieces.includes(null)) return false;', '')],
};
