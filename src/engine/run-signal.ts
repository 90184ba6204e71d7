// Signals that a run says or is told, made complete: identity, time, trace and cause.
// Must never pass on a type of the service's own families that the contract does not know.
import { ownTypeFault } from '../contract/own-signal.ts';
import { SIGNAL_SOURCES } from '../contract/signal.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { childTraceparent } from '../telemetry/trace-context.ts';
import type { EmittedSignal } from './transition.ts';
import { ownMember } from '../contract/own-member.ts';

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
  // Whoever said it has checked it; a line that it could break is no place to find out that nobody did.
  if (own === undefined && ownTypeFault(type) !== null)
    throw new TypeError(`a run said a signal of the type ${JSON.stringify(type)}, which is none`);
  return {
    specversion: '1.0',
    id: newIdentifier(),
    source: own ?? source ?? DEFAULT_SOURCE,
    type,
    subject: (own === undefined ? subject : null) ?? requestId,
    time: new Date(now).toISOString(),
    datacontenttype: 'application/json',
    traceparent: childTraceparent(traceparent),
    causationid: cause,
    data,
  };
}
