// The Responses API of OpenAI.
// Must never drop an item that the client reads.
import { isObject } from '../../contract/json/json-object.ts';
import {
  type AnswerRepair,
  drop,
  keepOnly,
  type Members,
  type Mending,
  objectsIn,
  put,
  type Wire,
} from './wire.ts';

export const RESPONSES: Wire = {
  repair: responsesRepair,
  isAnswer: ({ type, object, output }) =>
    (typeof type === 'string' && type !== 'error') || object === 'response' || Array.isArray(output),
  isWhole: ({ object, output }) => object === 'response' || Array.isArray(output),
  mendWhole,
  eventsOf,
  errorEvent: (error, status) => ({
    type: 'error',
    sequence_number: 0,
    error: {
      ...error,
      type: typeof error['type'] === 'string' && error['type'] !== 'error' ? error['type'] : 'api_error',
      code: typeof error['code'] === 'string' ? error['code'] : String(status),
    },
  }),
};

const ENDS: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete', 'response.failed']);
/** The items of an answer to a request without tools of the provider. */
const ITEMS: ReadonlySet<unknown> = new Set(['message', 'reasoning', 'function_call', 'custom_tool_call']);
const CONTENTS: ReadonlySet<unknown> = new Set(['output_text', 'refusal']);

function responsesRepair(): AnswerRepair {
  let hasContent = false;
  let isEnded = false;
  /** Fragments of arguments by the place of their item. */
  const pieces = new Map<unknown, string>();

  /** Some servers leave the arguments out where the call is done. */
  function mendCall({ type, output_index: place, delta, item }: Members, mending: Mending): void {
    if (type === 'response.function_call_arguments.delta' && typeof delta === 'string')
      pieces.set(place, (pieces.get(place) ?? '') + delta);
    if (type !== 'response.output_item.done' || !isObject(item)) return;
    const written = pieces.get(place) ?? '';
    pieces.delete(place);
    if (item['arguments'] === '' && written !== '') put(mending, item, 'arguments', written);
  }

  function isRead({ type, response }: Members): boolean {
    if (typeof type !== 'string') return false;
    if (type !== 'response.created' && type !== 'response.in_progress') return true;
    return (
      isObject(response) &&
      typeof response['id'] === 'string' &&
      typeof response['created_at'] === 'number' &&
      typeof response['model'] === 'string'
    );
  }

  return {
    next(event, mending) {
      if (!isRead(event)) return [];
      const { type, item } = event;
      if (type === 'response.output_text.annotation.added') return [];
      if (type === 'response.output_item.added' || type === 'response.output_item.done') hasContent = true;
      if (isObject(item)) mendItem(item, mending);
      mendCall(event, mending);
      if (typeof type === 'string' && type.endsWith('.delta')) drop(mending, event, 'logprobs');
      if (!ENDS.has(type)) return [event];
      isEnded = true;
      if (!isObject(event['response'])) put(mending, event, 'response', {});
      mendEnd(event['response'] as Members, mending);
      if (type === 'response.failed' && typeof event['sequence_number'] !== 'number')
        put(mending, event, 'sequence_number', 0);
      return [event];
    },
    rest: () => [],
    complete: () =>
      hasContent && !isEnded
        ? [{ type: 'response.incomplete', response: { incomplete_details: { reason: 'unknown' } } }]
        : [],
    state: () => (isEnded ? 'ended' : 'open'),
  };
}

function mendItem(item: Members, mending: Mending): void {
  if (item['type'] !== 'function_call') return;
  if (typeof item['id'] !== 'string') put(mending, item, 'id', item['call_id']);
  const { arguments: input } = item;
  if (typeof input !== 'string')
    put(mending, item, 'arguments', input === undefined || input === null ? '' : JSON.stringify(input));
  if (typeof item['status'] !== 'string') put(mending, item, 'status', 'completed');
}

/** The members that an end and a whole answer have in common. */
function mendEnd(response: Members, mending: Mending): void {
  const { usage, incomplete_details: details } = response;
  const isCounted =
    isObject(usage) && ['input_tokens', 'output_tokens'].every((name) => typeof usage[name] === 'number');
  if (!isCounted) drop(mending, response, 'usage');
  if (!isObject(details) || typeof details['reason'] !== 'string')
    drop(mending, response, 'incomplete_details');
  if (!isObject(response['error'])) drop(mending, response, 'error');
  keepOnly(mending, response, 'string', 'service_tier');
}

function mendWhole(answer: Members, mending: Mending): void {
  mendEnd(answer, mending);
  keepOnly(mending, answer, 'number', 'created_at');
  const items = objectsIn(mending, answer, 'output');
  const read = items.filter(({ type }) => ITEMS.has(type));
  if (read.length < items.length || !Array.isArray(answer['output'])) put(mending, answer, 'output', read);
  for (const item of read) {
    mendItem(item, mending);
    if (item['type'] !== 'message') continue;
    const contents = objectsIn(mending, item, 'content');
    const known = contents.filter(({ type }) => CONTENTS.has(type));
    if (known.length < contents.length) put(mending, item, 'content', known);
    for (const content of known) {
      drop(mending, content, 'logprobs');
      if (content['type'] === 'output_text') put(mending, content, 'annotations', []);
    }
  }
}

function eventsOf(answer: Members): Members[] {
  const { status, output, ...response } = answer;
  const items = (output as unknown[]).filter(isObject).flatMap((item, index) => itemEvents(item, index));
  const type = status === 'failed' || status === 'incomplete' ? `response.${status}` : 'response.completed';
  return [{ type: 'response.created', response }, ...items, { type, sequence_number: 0, response }];
}

function itemEvents(item: Members, output_index: number): Members[] {
  const added = {
    type: 'response.output_item.added',
    output_index,
    item: { ...item, content: [], arguments: '' },
  };
  const done = { type: 'response.output_item.done', output_index, item };
  const contents = Array.isArray(item['content']) ? item['content'].filter(isObject) : [];
  const summaries = Array.isArray(item['summary']) ? item['summary'].filter(isObject) : [];
  const item_id = item['id'];
  const texts = contents.map(({ type, text, refusal }) =>
    type === 'refusal'
      ? { type: 'response.refusal.delta', item_id, output_index, delta: refusal }
      : { type: 'response.output_text.delta', item_id, output_index, delta: text },
  );
  const thoughts = summaries.flatMap(({ text }, summary_index) => {
    const place = { item_id, output_index, summary_index };
    return [
      { type: 'response.reasoning_summary_part.added', ...place },
      { type: 'response.reasoning_summary_text.delta', ...place, delta: text },
    ];
  });
  return [added, ...texts, ...thoughts, done];
}
