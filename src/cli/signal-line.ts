/** A signal as one line of text for a person.
 *  It must never be parsed: programs read the JSON. */
import type { Signal } from '../contract/signal.ts';
import { gistOf } from './signal-gist.ts';
import type { Paint } from './terminal.ts';

/** Sequence, time, directive, type and the gist. */
export function signalLine(signal: Signal, paint: Paint): string {
  return lineOf(signal, String(signal.sequence), gistOf(signal, paint), paint);
}

/** The same with another number and another gist: several signals in one line. */
export function lineOf(signal: Signal, number: string, gist: string, paint: Paint): string {
  const columns = [
    paint('dim', number.padStart(4)),
    paint('dim', signal.time.slice(11, 23)),
    signal.type.padEnd(26),
    callIdOf(signal),
    gist,
  ];
  return columns.join(' ').trimEnd();
}

/** The directive of a signal; the request for the others. */
export function callIdOf(signal: Signal): string {
  return 'call_id' in signal.data ? signal.data.call_id : signal.subject;
}
