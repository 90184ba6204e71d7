// Completes the signals that a run writes or receives: identity, time, trace and cause.
// Must never pass on a type of the service's own families that the contract does not know.
import { ownId } from '../contract/access/tenant.ts';
import { ownTypeFault } from '../contract/signal/own-signal.ts';
import { SIGNAL_SOURCES } from '../contract/signal/signal.ts';
import { newIdentifier } from '../platform/telemetry/identifier.ts';
import { childTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import type { EmittedSignal } from './turn/transition.ts';
import { ownMember } from '../contract/json/json-object.ts';

export interface RunSignalOrigin {
  requestId: string;
  cause: string;
  traceparent: string;
  /** Milliseconds since the epoch. */
  now: number;
}

const DEFAULT_SOURCE = '/agent';

/** A signal as the journal takes it: CloudEvents without the sequence. */
export function runSignal(
  { type, source, subject, data }: EmittedSignal,
  { requestId, cause, traceparent, now }: RunSignalOrigin,
): object {
  const own = ownMember<string>(SIGNAL_SOURCES, type);
  // The writer has checked the type; this is the last chance to stop one that would break a line.
  if (own === undefined && ownTypeFault(type) !== null)
    throw new TypeError(`a run wrote a signal of the invalid type ${JSON.stringify(type)}`);
  return {
    specversion: '1.0',
    id: newIdentifier(),
    source: own ?? source ?? DEFAULT_SOURCE,
    type,
    subject: (own === undefined ? subject : null) ?? ownId(requestId),
    time: new Date(now).toISOString(),
    datacontenttype: 'application/json',
    traceparent: childTraceparent(traceparent),
    causationid: cause,
    data,
  };
}
