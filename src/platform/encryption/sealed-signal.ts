// The clear members of the signals of an encrypted directive: nothing of its answer. A text that was forged in Redis
// never counts as an answer.
import {
  encodedIn,
  encryptedNote,
  type PayloadPlace,
  PayloadUnreadable,
} from '../../contract/encrypted/encrypted.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { RESULT_FIELD } from './encrypted-result.ts';

export type End = Extract<Signal, { type: 'ai.tool.result' | 'ai.llm.response' | 'ai.embed.result' }>;

export function isEnd(signal: Signal): signal is End {
  return ['ai.tool.result', 'ai.llm.response', 'ai.embed.result'].includes(signal.type);
}

/** The same signal; of an answer that was cut only the sizes. Throws `PayloadUnreadable`. Errors may be the service's own, in clear. */
export function requireSealed<S extends Signal>(signal: S, asked: Pick<PayloadPlace, 'request' | 'id'>): S {
  const each: Signal = signal;
  if (each.type === 'ai.llm.delta' && encodedIn(each.data.delta) === null) throw inClear('delta', asked);
  const said = each.type === 'ai.tool.progress' && each.data.message !== undefined;
  if (said && encodedIn(each.data.metadata['message']) === null) throw inClear('message', asked);
  if (!isEnd(each) || !each.data.result.ok || encodedIn(each.data.result.payload) !== null) return signal;
  const payload = cutOf(each.data.result.payload);
  // @guard encrypted-answer
  if (payload === null) throw inClear(RESULT_FIELD, asked);
  const content = 'content' in each.data ? { content: payload.preview } : {};
  return {
    ...each,
    data: { ...each.data, ...content, result: { ok: true, payload, effects: [] } },
  } as unknown as S;
}

/** A large answer is cut, and no part of it can be read: all of it is in `payload`. null: it is another value. */
function cutOf(payload: unknown) {
  if (!isObject(payload) || payload['truncated'] !== true) return null;
  const { bytes, limit_bytes, preview } = payload;
  const key = /^\{"\$encrypted":\{"codec":"[\w.-]{1,32}","key_id":"(?<id>[\w.-]{1,64})"/.exec(
    String(preview),
  );
  if (key?.groups?.['id'] === undefined) return null;
  const note = `${encryptedNote(key.groups['id'])}, and read whole with payload()`;
  return { truncated: true, bytes: Number(bytes), limit_bytes: Number(limit_bytes), preview: note };
}

function inClear(field: string, asked: Pick<PayloadPlace, 'request' | 'id'>): PayloadUnreadable {
  return new PayloadUnreadable('in_clear', '', { ...asked, field });
}
