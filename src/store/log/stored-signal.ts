// The text of a signal in its request's log: plain JSON under the CloudEvents names, without what the name of the key tells.
// docs/redis.md describes it for readers in other languages: a signal is read as it was written, member by member.
import { isObject } from '../../contract/json/json-object.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { ownId } from '../../contract/access/tenant.ts';

/** The values of the members that an entry leaves out, beside `subject`, which is the request's id. */
const SPECVERSION = '1.0';
const MEDIA_TYPE = 'application/json';

/** `signal` has no sequence yet. A signal of which one of the three members differs is written whole. */
export function writeSignal(requestId: string, signal: object): string {
  const { specversion, subject, datacontenttype, ...rest } = signal as Record<string, unknown>;
  const isUsual =
    specversion === SPECVERSION && subject === ownId(requestId) && datacontenttype === MEDIA_TYPE;
  return JSON.stringify(isUsual ? rest : signal);
}

/** The signal of an entry of the log, which has its sequence. Throws when the text is damaged. */
export function readSignal(requestId: string, text: string): Signal {
  return wholeSignal(requestId, JSON.parse(text));
}

/** The signal of a parsed entry. Throws when it is no object. */
export function wholeSignal(requestId: string, entry: unknown): Signal {
  if (!isObject(entry)) throw new SyntaxError('an entry of a log is a JSON object');
  const { id, source, type, time, ...rest } = entry;
  const subject = ownId(requestId);
  const whole = {
    specversion: SPECVERSION,
    id,
    source,
    type,
    subject,
    time,
    datacontenttype: MEDIA_TYPE,
    ...rest,
  };
  return whole as unknown as Signal;
}
