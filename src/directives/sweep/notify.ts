// Notifies of an end, or of an open question to a person: reads it from the journal, and submits one delivery for each receiver under ids that follow from it.
// Must never notify of an end of what is still open, nor submit under an id that a repeat would not choose again.
import { hash } from 'node:crypto';
import type { AskRule, EndNotices, Sending } from '../../contract/signal/end-notices.ts';
import type { OpenApproval } from '../../contract/run/approval-listing.ts';
import type { ParsedDirective } from '../../contract/directive/directive.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import {
  ASK_SUBJECT,
  type OnEnd,
  targetsOf,
  WEBHOOK_TYPE,
  type WebhookTarget,
} from '../../contract/signal/webhook.ts';
import {
  type Asked,
  askedEvent,
  boundedEvent,
  directiveEndedEvent,
  type EndEvent,
  type WebhookEvent,
} from '../../contract/signal/webhook-event.ts';
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
  event: EndEvent;
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
  /** A question to a person is open, and the next notice of it is due at that instant. */
  | { kind: 'asking'; nextAt: number }
  | { kind: 'notified' };

export interface NotifierParts {
  journal: Pick<Journal, 'directive' | 'envelope' | 'log' | 'now'>;
  submitter: Pick<Submitter, 'submit'>;
  endNotices: EndNotices;
  /** The end of the run of a request. */
  runEnd(requestId: string): Promise<EndState>;
  /** Open question of a call, budget or directive of a request. */
  openAsks(requestId: string, callId: string): Promise<OpenApproval[]>;
  /** The trace context of the run of a request; null: it has none. */
  runTrace(requestId: string): Promise<string | null>;
}

export type Notify = (requestId: string, id: string) => Promise<Notified>;

export function createNotifier(parts: NotifierParts): Notify {
  const { journal, submitter, endNotices, runEnd } = parts;
  return async (requestId, id) => {
    if (id.startsWith(ASK_SUBJECT))
      return notifyOfAsk(parts, requestId, id.slice(ASK_SUBJECT.length).split('/')[0] ?? '');
    const isRun = id === RUN_ENTRY;
    const state = await (isRun ? runEnd(requestId) : directiveEnd(journal, requestId, id));
    if (state.kind !== 'ended') return state;
    const about = { requestId, id, subject: subjectOf(id, state.end) };
    let isFull = false;
    for (const target of receiversOf(endNotices, requestId, state.end)) {
      const delivery = deliveryOf(target, about, endNotices, ({ payloadBytes }) => ({
        id: nameOf(target),
        webhook_id: `msg_${endIdOf(requestId, about.subject)}`,
        event: boundedEvent(state.end.event, payloadBytes),
      }));
      // @guard webhook-notified
      if (!(await submitOnce(submitter, delivery))) isFull = true;
    }
    return isFull ? { kind: 'full', since: Date.parse(state.end.event.timestamp) } : { kind: 'notified' };
  };
}

/** Each end of a run that was resumed is notified of. */
function subjectOf(id: string, { event }: KnownEnd): string {
  const { resumed } = event.data as { resumed?: number };
  return resumed === undefined ? id : `${id}/resumed-${resumed}`;
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

interface Message {
  id: string;
  webhook_id: string;
  event: WebhookEvent;
}

function deliveryOf(
  target: WebhookTarget,
  { requestId, id, subject }: { requestId: string; id: string; subject: string },
  { sendingTo }: Pick<EndNotices, 'sendingTo'>,
  messageFor: (sending: Sending) => Message,
) {
  const sending = sendingTo(target);
  const { payloadBytes: _, ...retries } = sending;
  return {
    type: WEBHOOK_TYPE,
    request_id: deliveriesOf(requestId, subject),
    metadata: { ended: { request_id: ownId(requestId), id } },
    ...(typeof target === 'string' ? { endpoint: target } : { ...target, host: hostOf(target.url) }),
    ...messageFor(sending),
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
  delivery: { event: WebhookEvent },
): Promise<boolean> {
  try {
    const { traceparent } = delivery.event.data;
    await submitter.submit([delivery as unknown as ParsedDirective], { traceparent });
    return true;
  } catch (error) {
    const code = error instanceof DirectiveRefused ? error.problem.code : null;
    if (code === 'id_conflict') return true;
    if (code === 'lane_full') return false;
    throw error;
  }
}

/** Notices of one question to one endpoint. */
const MOST_NOTICES = 100;

/** Each rule's newest due notice; those that were missed meanwhile are left out. */
async function notifyOfAsk(parts: NotifierParts, requestId: string, callId: string): Promise<Notified> {
  const { endNotices, submitter, journal } = parts;
  const asks = await parts.openAsks(requestId, callId);
  if (asks.length === 0) return { kind: 'missing' };
  const [now, traceparent] = await Promise.all([journal.now(), traceOf(parts, requestId, callId)]);
  if (traceparent === null) return { kind: 'missing' };
  const tenant = tenantOf(requestId);
  let nextAt = Infinity;
  for (const ask of asks)
    for (const rule of endNotices.asked(tenant, ask)) {
      const { due, next } = noticeDue(rule, ask, now);
      nextAt = Math.min(nextAt, next);
      if (due === null) continue;
      const about = { tenant, reminder: due, timestamp: instant(now), traceparent };
      const event = askedEvent(ask, { ...about, publicUrl: endNotices.publicUrl });
      const delivery = askDelivery(parts, { requestId, callId, rule, event });
      // @guard ask-notified
      if (!(await submitOnce(submitter, delivery))) nextAt = Math.min(nextAt, now + FULL_AGAIN_MS);
    }
  return nextAt === Infinity ? { kind: 'notified' } : { kind: 'asking', nextAt };
}

const FULL_AGAIN_MS = 60_000;

/** `due`: the number of the notice; null: none yet. `next`: when another one is due, milliseconds since the epoch. */
function noticeDue(
  { afterMs, repeatMs }: AskRule,
  { since, deadline_at }: OpenApproval,
  now: number,
): { due: number | null; next: number } {
  const firstAt = (since === null ? now : Date.parse(since)) + afterMs;
  const due = firstAt > now ? null : repeatMs === null ? 0 : Math.floor((now - firstAt) / repeatMs);
  const following = due === null ? 0 : due + 1;
  const next = following === 0 ? firstAt : repeatMs === null ? Infinity : firstAt + following * repeatMs;
  const isOver = following >= MOST_NOTICES || next >= Date.parse(deadline_at);
  return { due: due === null || due >= MOST_NOTICES ? null : due, next: isOver ? Infinity : next };
}

interface AskNotice {
  requestId: string;
  callId: string;
  rule: AskRule;
  event: Asked;
}

function askDelivery({ endNotices }: NotifierParts, { requestId, callId, rule, event }: AskNotice) {
  const { input_id, reminder } = event.data;
  const subject = `${ASK_SUBJECT}${input_id ?? callId}`;
  const { endpoint } = rule;
  const webhook_id = `msg_${endIdOf(requestId, `${subject}/${reminder}`)}`;
  const id = `${endpoint}:${reminder}`;
  return deliveryOf(endpoint, { requestId, id: subject, subject }, endNotices, () => ({
    id,
    webhook_id,
    event,
  }));
}

async function traceOf(
  { journal, runTrace }: NotifierParts,
  requestId: string,
  callId: string,
): Promise<string | null> {
  const json = await journal.envelope(requestId, callId);
  return json === null ? runTrace(requestId) : decodeEnvelope(json).traceparent;
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
