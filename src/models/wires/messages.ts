// The Messages API of Anthropic, whose documentation says that new types of events may come at any time.
// Must never drop a block that the client reads.
import { isObject } from '../../contract/json/json-object.ts';
import { MAX_ANSWER_PARTS } from '../answers/answer-limits.ts';
import { RefusedAnswer } from '../answers/refused-answer.ts';
import { type AnswerRepair, type Members, type Mending, objectsIn, put, type Wire } from './wire.ts';

export const MESSAGES: Wire = {
  repair: messagesRepair,
  isAnswer: ({ type }) => typeof type === 'string' && type !== 'error',
  isWhole: ({ type }) => type === 'message',
  mendWhole(answer, mending) {
    const blocks = objectsIn(mending, answer, 'content');
    const read = blocks.filter(isKnownBlock);
    if (read.length < blocks.length || !Array.isArray(answer['content']))
      put(mending, answer, 'content', read);
    for (const block of read) mendBlock(block, mending);
    mendUsage(answer, mending);
  },
  eventsOf,
  errorEvent: (error) => ({
    type: 'error',
    error: { ...error, type: typeof error['type'] === 'string' ? error['type'] : 'api_error' },
  }),
};

const EVENTS: ReadonlySet<unknown> = new Set([
  'message_start',
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'message_delta',
  'message_stop',
  'error',
]);
const BLOCKS: ReadonlySet<unknown> = new Set([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'compaction',
  'server_tool_use',
  'mcp_tool_use',
  'mcp_tool_result',
  'web_fetch_tool_result',
  'web_search_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result',
  'fallback',
]);
const DELTAS: ReadonlySet<unknown> = new Set([
  'input_json_delta',
  'text_delta',
  'thinking_delta',
  'signature_delta',
  'compaction_delta',
  'citations_delta',
]);

function isKnownBlock(block: unknown): block is Members {
  return isObject(block) && BLOCKS.has(block['type']);
}

/** A block without its text is an empty one. */
function mendBlock(block: Members, mending: Mending): void {
  const { type } = block;
  if ((type === 'text' || type === 'thinking') && typeof block[type] !== 'string')
    put(mending, block, type, '');
}

function mendUsage(holder: Members, mending: Mending): void {
  if (!isObject(holder['usage'])) put(mending, holder, 'usage', {});
  const usage = holder['usage'] as Members;
  for (const name of ['input_tokens', 'output_tokens'])
    if (typeof usage[name] !== 'number') put(mending, usage, name, 0);
}

function messagesRepair(): AnswerRepair {
  /** Indexes of blocks that are not read. */
  const skipped = new Set<unknown>();
  /** Indexes of blocks that are tool calls. */
  const called = new Set<unknown>();
  let state: 'open' | 'finished' | 'ended' = 'open';
  let hasReason = false;
  let hasContent = false;

  function isRead(event: Members): boolean {
    const { type, index, content_block, delta } = event;
    if (!EVENTS.has(type)) return false;
    if (type === 'content_block_start') {
      if (isKnownBlock(content_block)) skipped.delete(index);
      else skipped.add(index);
      if (isObject(content_block) && content_block['type'] === 'tool_use') called.add(index);
      else called.delete(index);
      if (skipped.size + called.size > MAX_ANSWER_PARTS)
        throw new RefusedAnswer('too_large', `the answer has more than ${MAX_ANSWER_PARTS} parts`);
    }
    // In a tool call it may be a part of the arguments: the client refuses it.
    if (type === 'content_block_delta' && !(isObject(delta) && DELTAS.has(delta['type'])))
      return called.has(index);
    return typeof type !== 'string' || !type.startsWith('content_block') || !skipped.has(index);
  }

  function mend(event: Members, mending: Mending): void {
    const { type, message, content_block, delta } = event;
    if (type === 'message_start') {
      if (!isObject(message)) put(mending, event, 'message', {});
      const begun = event['message'] as Members;
      if (Array.isArray(begun['content']) && begun['content'].length > 0) put(mending, begun, 'content', []);
      if (!isObject(begun['usage']) || typeof begun['usage']['input_tokens'] !== 'number')
        mendUsage(begun, mending);
    }
    if (type === 'content_block_start' && isObject(content_block)) mendBlock(content_block, mending);
    if (type === 'content_block_start') hasContent = true;
    if (type === 'message_delta') {
      if (!isObject(delta)) put(mending, event, 'delta', {});
      hasReason ||= typeof (event['delta'] as Members)['stop_reason'] === 'string';
      if (!isObject(event['usage']) || typeof event['usage']['output_tokens'] !== 'number') {
        const { input_tokens } = (event['usage'] ?? {}) as Members;
        put(mending, event, 'usage', {
          output_tokens: 0,
          ...(input_tokens === undefined ? {} : { input_tokens }),
        });
      }
      if (hasReason) state = 'finished';
    }
  }

  const missingReason = (): Members[] =>
    hasContent && !hasReason
      ? [{ type: 'message_delta', delta: { stop_reason: 'unknown' }, usage: { output_tokens: 0 } }]
      : [];

  return {
    next(event, mending) {
      if (!isRead(event)) return [];
      mend(event, mending);
      if (event['type'] !== 'message_stop') return [event];
      state = 'ended';
      return [...missingReason(), event];
    },
    rest: () => [],
    complete: () => (state === 'ended' ? [] : [...missingReason(), { type: 'message_stop' }]),
    state: () => state,
  };
}

function eventsOf(answer: Members): Members[] {
  const { content, stop_reason, stop_sequence, usage, ...head } = answer;
  const blocks = (content as unknown[]).filter(isObject).flatMap((block, index) => blockEvents(block, index));
  return [
    { message: { ...head, content: [], usage }, type: 'message_start' },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ];
}

function blockEvents(block: Members, index: number): Members[] {
  const delta = (value: Members): Members => ({ type: 'content_block_delta', index, delta: value });
  const started = (content_block: Members): Members => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const stop = { type: 'content_block_stop', index };
  switch (block['type']) {
    case 'text':
      return [started({ ...block, text: '' }), delta({ type: 'text_delta', text: block['text'] }), stop];
    case 'thinking': {
      const { thinking, signature } = block;
      const signed = signature ? [delta({ type: 'signature_delta', signature })] : [];
      const begun = started({ type: 'thinking', thinking: '' });
      return [begun, delta({ type: 'thinking_delta', thinking }), ...signed, stop];
    }
    case 'tool_use': {
      const partial_json = JSON.stringify(block['input'] ?? {});
      return [started({ ...block, input: {} }), delta({ type: 'input_json_delta', partial_json }), stop];
    }
    default:
      return [started(block), stop];
  }
}
