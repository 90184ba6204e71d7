// Notifies of an end: reads it from the journal, and submits one delivery for each receiver under ids that follow from it.
// Must never notify of what is still open, nor submit under an id that a repeat would not choose again.
import { hash } from 'node:crypto';
import type { EndNotices } from '../../contract/signal/end-notices.ts';
import type { ParsedDirective } from '../../contract/directive/directive.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { type OnEnd, targetsOf, WEBHOOK_TYPE, type WebhookTarget } from '../../contract/signal/webhook.ts';
import { boundedEvent, directiveEndedEvent, type WebhookEvent } from '../../contract/signal/webhook-event.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import { type DirectiveRecord, dueFrom } from '../../store/request/records.ts';
import { deliveriesOf, endIdOf, onEndOf } from './notice.ts';
import { RUN_ENTRY } from '../../queue/run-wake.ts';
import type { Submitter } from '../submit.ts';

/** The end, as receivers are notified of it. */
export interface KnownEnd {
  type: string;
  agent: string | null;
  onEnd: OnEnd | undefined;
  event: WebhookEvent;
}

/** `since`, `beginsAt`: milliseconds since the epoch, by the clock of Redis. */
export type EndState =
  | { kind: 'missing' }
  | { kind: 'open'; since: number; beginsAt: number | null }
  | { kind: 'ended'; end: KnownEnd };

/** `full`: as many deliveries as may wait for some receiver do. `since`: of the end. */
export type Notified =
  | Exclude<EndState, { kind: 'ended' }>
  | { kind: 'full'; since: number }
  | { kind: 'notified' };

export interface NotifierParts {
  journal: Pick<Journal, 'directive' | 'envelope' | 'log'>;
  submitter: Pick<Submitter, 'submit'>;
  endNotices: EndNotices;
  /** The end of the run of a request. */
  runEnd(requestId: string): Promise<EndState>;
}

export type Notify = (requestId: string, id: string) => Promise<Notified>;

export function createNotifier({ journal, submitter, endNotices, runEnd }: NotifierParts): Notify {
  return async (requestId, id) => {
    const isRun = id === RUN_ENTRY;
    const state = await (isRun ? runEnd(requestId) : directiveEnd(journal, requestId, id));
    if (state.kind !== 'ended') return state;
    const about = { requestId, subject: id };
    let isFull = false;
    for (const target of receiversOf(endNotices, requestId, state.end)) {
      const delivery = deliveryOf(target, state.end, about, endNotices);
      // @guard webhook-notified
      if (!(await submitOnce(submitter, delivery, state.end.event))) isFull = true;
    }
    return isFull ? { kind: 'full', since: Date.parse(state.end.event.timestamp) } : { kind: 'notified' };
  };
}

/** Each once: those that the caller named, and those of the rules. */
function receiversOf({ matching }: EndNotices, requestId: string, end: KnownEnd): WebhookTarget[] {
  const { status } = end.event.data;
  const lane = 'lane' in end.event.data ? end.event.data.lane : null;
  const facts = { tenant: tenantOf(requestId), type: end.type, agent: end.agent, status, lane };
  const all = [...targetsOf(end.onEnd), ...matching(facts)];
  return [...new Map(all.map((target) => [nameOf(target), target])).values()];
}

/** No endpoint has a colon in its name. */
function nameOf(target: WebhookTarget): string {
  return typeof target === 'string' ? target : `url:${hash('sha256', target.url, 'hex').slice(0, 24)}`;
}

function deliveryOf(
  target: WebhookTarget,
  { event }: KnownEnd,
  { requestId, subject }: { requestId: string; subject: string },
  { sendingTo }: EndNotices,
) {
  const { payloadBytes, ...retries } = sendingTo(target);
  const ended = endIdOf(requestId, subject);
  return {
    type: WEBHOOK_TYPE,
    id: nameOf(target),
    request_id: deliveriesOf(requestId, subject),
    metadata: { ended: { request_id: ownId(requestId), id: subject } },
    ...(typeof target === 'string' ? { endpoint: target } : { ...target, host: hostOf(target.url) }),
    webhook_id: `msg_${ended}`,
    event: boundedEvent(event, payloadBytes),
    ...retries,
    backoff: 'exponential',
    jitter: 0.2,
  };
}

/** Key that counts deliveries to one host. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/\.$/, '').slice(-256);
}

/** false: the lane is full. Where the id is taken, the delivery exists: perhaps with the settings that the configuration had then. */
async function submitOnce(
  submitter: NotifierParts['submitter'],
  delivery: object,
  event: WebhookEvent,
): Promise<boolean> {
  try {
    const { traceparent } = event.data;
    await submitter.submit([delivery as unknown as ParsedDirective], { traceparent });
    return true;
  } catch (error) {
    const code = error instanceof DirectiveRefused ? error.problem.code : null;
    if (code === 'id_conflict') return true;
    if (code === 'lane_full') return false;
    throw error;
  }
}

async function directiveEnd(
  journal: NotifierParts['journal'],
  requestId: string,
  id: string,
): Promise<EndState> {
  const record = await journal.directive(requestId, id);
  if (record === null) return { kind: 'missing' };
  if (record.terminal === null)
    return { kind: 'open', since: dueFrom(record), beginsAt: record.begin?.at ?? null };
  const [json, signal] = await Promise.all([
    journal.envelope(requestId, id),
    journal.log.at(requestId, record.terminal),
  ]);
  if (json === null) return { kind: 'missing' };
  const { directive, traceparent } = decodeEnvelope(json);
  const event = directiveEndedEvent({
    requestId: ownId(requestId),
    tenant: tenantOf(requestId),
    directive,
    id,
    succeeded: record.status === 'succeeded',
    signal: signal?.data,
    traceparent,
    ...whenOf(record),
  });
  return { kind: 'ended', end: { type: directive.type, agent: null, onEnd: onEndOf(directive), event } };
}

function whenOf(record: DirectiveRecord) {
  const { lane, acceptedAt, startedAt, endedAt, terminal } = record;
  return {
    lane,
    attempts: record.fence - record.released,
    sequence: terminal ?? 1,
    accepted_at: instant(acceptedAt),
    started_at: startedAt === null ? null : instant(startedAt),
    ended_at: instant(endedAt ?? acceptedAt),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
