// Builds signals: CloudEvents without the sequence, which the journal gives when it appends.
// Must never read the clock or draw ids for a decision; both come from the caller's `Stamp`.
import { ownId } from '../../contract/access/tenant.ts';
import { ownMember } from '../../contract/json/json-object.ts';
import { SIGNAL_SOURCES, type SignalDraft } from '../../contract/signal/signal.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import { childTraceparent } from '../../platform/telemetry/traces/trace-context.ts';

/** The subject of one signal. */
export interface SignalOrigin {
  requestId: string;
  /** Id of the signal or directive that caused it. */
  causationId: string;
  traceparent: string;
  attempt?: number;
}

/** Where instants and ids come from. */
export interface Stamp {
  now(): number;
  id(): string;
}

/** Source of signals that a user's own directive type reports. */
const OWN_KIND_SOURCE = '/directive';

export const systemStamp: Stamp = { now: () => Date.now(), id: newIdentifier };

type SignalType = SignalDraft['type'];
type DataOf<T extends SignalType> = Extract<SignalDraft, { type: T }>['data'];

/** A signal of `type`; each gets a span id of its own below the origin's. */
export function draftSignal<T extends SignalType>(
  type: T,
  data: DataOf<T>,
  origin: SignalOrigin,
  stamp: Stamp = systemStamp,
): SignalDraft {
  return {
    specversion: '1.0',
    id: stamp.id(),
    source: ownMember<string>(SIGNAL_SOURCES, type) ?? OWN_KIND_SOURCE,
    type,
    subject: ownId(origin.requestId),
    time: new Date(stamp.now()).toISOString(),
    datacontenttype: 'application/json',
    traceparent: childTraceparent(origin.traceparent),
    causationid: origin.causationId,
    ...(origin.attempt === undefined ? {} : { attempt: origin.attempt }),
    data,
  } as unknown as SignalDraft;
}
