// The events of a streamed answer, repaired one by one on their way to the provider's client, and their end.
// Must never hold an event, nor end an answer before its provider has finished it.
import { jsonExcess } from '../../platform/bounds/json-shape.ts';
import { markLostNumbers } from '../../contract/json/exact-json.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { HideText } from '../../contract/json/secret-text.ts';
import { END_GRACE_MS, LANGUAGE_LIMITS } from '../answers/answer-limits.ts';
import { reportedError } from '../answers/provider-status.ts';
import type { Members, Mending, Wire } from './wire.ts';

/** Larger events and answers are passed on as they are: they hold an image, which no client refuses. */
export const MAX_MENDED_BYTES = 1024 * 1024;

const NOTHING = Buffer.alloc(0);
const BYTE_ORDER_MARK = '\u{feff}';

export interface AnswerEvents {
  /** The bytes to pass on in place of a whole event. */
  rewrite(event: Buffer<ArrayBuffer>): Buffer<ArrayBuffer>;
  /** The bytes to pass on in place of what follows the last whole event when the connection has been closed. */
  last(rest: Uint8Array<ArrayBuffer>): Buffer<ArrayBuffer>;
  /** Milliseconds until the stream ends if nothing more comes; null: it ends with its connection. */
  endsInMs(): number | null;
}

/** `hide`: removes the secrets that an error may repeat. `onComplete`: the finish reason or the end has come. */
export function createAnswerEvents(wire: Wire, hide: HideText, onComplete: () => void): AnswerEvents {
  const repair = wire.repair();
  let isEnded = false;
  /** The end of the grace, on the monotonic clock; null: the answer is not finished. */
  let endsAt: number | null = null;

  function noteEnd(): void {
    const state = repair.state();
    isEnded ||= state === 'ended';
    if (state !== 'open') onComplete();
    if (state === 'finished') endsAt = performance.now() + END_GRACE_MS;
  }

  function rewrite(event: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
    if (isEnded) return NOTHING;
    if (event.length > MAX_MENDED_BYTES) return event;
    const { name, data: sent, isBare } = fieldsOf(event.toString('utf8'));
    if (sent === null) return event;
    const data = markLostNumbers(sent);
    if (data === '' || data === 'null') return NOTHING;
    if (data === '[DONE]') {
      isEnded = true;
      onComplete();
      return bytesOf(repair.complete(), 'data: [DONE]\n\n');
    }
    const value = parsed(data);
    if (!isObject(value))
      return name === 'error' ? bytesOf([wire.errorEvent({ message: hide(data) }, 500)]) : event;
    const error = isBare || name === 'error' || marksError(value) ? errorIn(value, wire) : null;
    if (error !== null) return Buffer.from(hide(bytesOf([error]).toString()));
    const mending: Mending = { isChanged: false };
    const values = wire.isWhole(value) ? asEvents(value, wire) : [value];
    const events = values.flatMap((each) => repair.next(each, mending));
    if (events.length > 0) noteEnd();
    if (holdsError(value)) return Buffer.from(hide(bytesOf(events).toString()));
    const isSame =
      !isBare && data === sent && !mending.isChanged && events.length === 1 && events[0] === value;
    return isSame ? event : bytesOf(events);
  }

  return {
    rewrite,
    last(rest) {
      const event = Buffer.from(rest);
      const { data } = fieldsOf(event.toString('utf8'));
      const isWithin = event.length <= MAX_MENDED_BYTES && jsonExcess(event, LANGUAGE_LIMITS) === null;
      const isWhole = isWithin && data !== null && (data === '[DONE]' || parsed(data) !== undefined);
      const last = isWhole ? rewrite(Buffer.concat([event, Buffer.from('\n\n')])) : event;
      if (isEnded) return last;
      return Buffer.concat([last, bytesOf(endsAt === null ? repair.rest() : repair.complete())]);
    },
    endsInMs() {
      if (isEnded) return 0;
      return endsAt === null ? null : Math.max(0, endsAt - performance.now());
    },
  };
}

/** A whole answer as the bytes of a stream. */
export function asStream(answer: Members, wire: Wire): Buffer<ArrayBuffer> {
  const repair = wire.repair();
  const events = asEvents(answer, wire).flatMap((event) => repair.next(event, { isChanged: false }));
  return bytesOf([...events, ...repair.complete()]);
}

function asEvents(answer: Members, wire: Wire): Members[] {
  wire.mendWhole(answer, { isChanged: false });
  return wire.eventsOf(answer);
}

/** Whether an event of an answer reports an error inside, as `response.failed` does. */
function holdsError({ error, response }: Members): boolean {
  return isReport(error) || (isObject(response) && isReport(response['error']));
}

/** Whether an event says that it is an error: a message alone may be a report of progress. */
function marksError({ error, type, object, code, status }: Members): boolean {
  return isReport(error) || type === 'error' || object === 'error' || Number(code ?? status) >= 400;
}

/** The error that a value reports, in the form that the client reads; null: none. */
function errorIn(value: Members, wire: Wire): Members | null {
  if (saysAnswer(value, wire)) return null;
  const reported = reportedError(value);
  return reported === null ? null : wire.errorEvent(reported.members, reported.status);
}

/** Whether it has the form of an answer, and reports no error beside it. */
export function saysAnswer(value: Members, wire: Wire): boolean {
  return wire.isAnswer(value) && !isReport(value['error']);
}

function isReport(error: unknown): boolean {
  return isObject(error) || (typeof error === 'string' && error !== '');
}

/** `data`: the lines of data as one text, or a bare JSON text; null: there is none. */
function fieldsOf(text: string): { name: string | null; data: string | null; isBare: boolean } {
  const clean = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  if (clean.startsWith('{')) return { name: null, data: clean.trim(), isBare: true };
  let name: string | null = null;
  let data: string | null = null;
  for (const line of clean.split(/\r\n|\n|\r/)) {
    const [, field, value = ''] = /^(data|event)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') name = value.trim();
    if (field === 'data') data = data === null ? value : `${data}\n${value}`;
  }
  return { name, data: data === null ? null : data.trim(), isBare: false };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function bytesOf(events: readonly Members[], end = ''): Buffer<ArrayBuffer> {
  return Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + end);
}
