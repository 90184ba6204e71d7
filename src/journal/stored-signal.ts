// The text in which a signal is stored and announced: what its request tells anyway, and what all signals have in common, is left out.
// Must never change a signal: what is read is what was written, member by member, in the same order.
import { ownId } from '../contract/tenant.ts';
import { isObject } from '../contract/json-object.ts';
import type { Signal } from '../contract/signal.ts';
import type { Announcement } from './announcement.ts';
import { leaveOutPieces, putBackPieces } from './signal-pieces.ts';

/*
 * `PACKED` id `NEXT` source `NEXT` type `NEXT` time `NEXT` traceparent `NEXT` causationid `NEXT` attempt `DATA` <data, JSON> `}`;
 * the script that appends puts `,"sequence":<n>` before the brace. In the data `REQUEST` and `CAUSE` stand for the ids of the request
 * and of the cause, and what signal-pieces.ts writes for what most signals have in common. JSON has no control characters, so none of
 * these is part of a text. Everything else, and what earlier versions wrote, is the whole signal as JSON.
 */
const REQUEST = '\u0001';
const PACKED = '\u0002';
const NEXT = '\u0003';
const DATA = '\u0004';
const CAUSE = '\u0005';

/** Of a signal without an attempt and without its sequence. */
const MEMBERS = 10;
/** Members and separators, without anything that Redis or a reader could take for another character. */
// oxlint-disable-next-line no-control-regex -- the separator is one
const HEAD = /^(?:[ -~]+\u0003){6}[ -~]*$/;
/** A shorter id is not worth a look through the data. */
const SHORTEST_ID = 8;
/**
 * The most characters that are left out of the data, so that a bound on stored texts is nearly one on what is read of them: ids
 * are their caller's, and an argument that repeats a long one would grow to many times its size when it is read.
 */
const MOST_LEFT_OUT = 1_024;
const VERSION = '1.0';
const MEDIA_TYPE = 'application/json';
/** The names and constant members that every packed signal lacks, at most. */
const FRAME_BYTES = 200;

/** `signal` has no sequence yet. What is unusual, as a signal about something else than its request, is written whole. */
export function writeSignal(requestId: string, signal: object): string {
  return writePacked(requestId, signal) ?? JSON.stringify(signal);
}

/** undefined: it is unusual, and is written whole. */
function writePacked(requestId: string, signal: object): string | undefined {
  const { id, source, type, time, traceparent, causationid, attempt, data } = signal as Signal;
  const head = [id, source, type, time, traceparent, causationid, attempt ?? ''].join(NEXT);
  if (!isUsual(requestId, signal as Signal) || !HEAD.test(head)) return undefined;
  const whole = JSON.stringify(data);
  const json = leaveOutPieces(shorten(shorten(whole, ownId(requestId), REQUEST), causationid, CAUSE));
  if (whole.length - json.length > MOST_LEFT_OUT) return undefined;
  return `${PACKED}${head}${DATA}${json}}`;
}

/** Whether it has the members that are written, and those that are not are what `readSignal` takes them for. */
function isUsual(requestId: string, signal: Signal): boolean {
  const { specversion, datacontenttype, subject, attempt, data } = signal;
  const members = attempt === undefined ? MEMBERS : MEMBERS + 1;
  const isConstant = (specversion as string) === VERSION && (datacontenttype as string) === MEDIA_TYPE;
  const hasAll = data !== undefined && Object.keys(signal).length === members;
  return isConstant && hasAll && subject === ownId(requestId);
}

/** A stored or announced signal, which has its sequence. Throws when the text is damaged. */
export function readSignal(requestId: string, text: string): Signal {
  return readSized(requestId, text).signal;
}

/** Throws for a text that is no signal, or not the announced one: any program on Redis can write to a channel. */
export function readAnnounced(requestId: string, { sequence, text }: Announcement): Signal {
  const signal: unknown = readSignal(requestId, text);
  const isAnnounced =
    isObject(signal) &&
    signal['sequence'] === sequence &&
    typeof signal['type'] === 'string' &&
    isObject(signal['data']);
  if (!isAnnounced) throw new Error('no announced signal');
  return signal as unknown as Signal;
}

/** `bytes`: about what the signal is as JSON, rather more. */
export function readSized(requestId: string, text: string): { signal: Signal; bytes: number } {
  const stored = Buffer.byteLength(text);
  if (!text.startsWith(PACKED)) return { signal: JSON.parse(text) as Signal, bytes: stored };
  const end = text.indexOf(DATA);
  const [id, source, type, time, traceparent, causationid = '', attempt = ''] = text
    .slice(1, end)
    .split(NEXT);
  const pieced = putBackPieces(text.slice(end + 1));
  const rest = replaced(replaced(pieced, CAUSE, causationid), REQUEST, ownId(requestId));
  const { data, sequence } = JSON.parse(`{"data":${rest}`) as Pick<Signal, 'data' | 'sequence'>;
  const signal = {
    specversion: VERSION,
    id,
    source,
    type,
    subject: ownId(requestId),
    time,
    datacontenttype: MEDIA_TYPE,
    traceparent,
    causationid,
    ...(attempt === '' ? {} : { attempt: Number(attempt) }),
    data,
    sequence,
  } as unknown as Signal;
  const grown = rest.length - (text.length - end - 1);
  return { signal, bytes: stored + grown + requestId.length + FRAME_BYTES };
}

function shorten(json: string, id: string, token: string): string {
  return id.length < SHORTEST_ID ? json : replaced(json, id, token);
}

/** For the few occurrences that are usual, faster than `replaceAll`, and `split` and `join`. */
function replaced(text: string, part: string, by: string): string {
  let at = text.indexOf(part);
  let whole = '';
  let done = 0;
  while (at >= 0) {
    whole += text.slice(done, at) + by;
    done = at + part.length;
    at = text.indexOf(part, done);
  }
  return done === 0 ? text : whole + text.slice(done);
}
