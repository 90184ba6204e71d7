// Notifies of an end: reads it from the journal, and submits one delivery for each receiver under ids that follow from it.
// Must never notify of what is still open, nor submit under an id that a repeat would not choose again.
import { hash } from 'node:crypto';
import type { EndNotices } from '../contract/end-notices.ts';
import type { Directive, ParsedDirective } from '../contract/directive.ts';
import { DirectiveRefused } from '../contract/problem.ts';
import { ownId, scopedAs, tenantOf } from '../contract/tenant.ts';
import {
  boundedEvent,
  type DirectiveEnded,
  endPath,
  type EndStatusWord,
  type OnEnd,
  targetsOf,
  WEBHOOK_REQUEST_PREFIX,
  WEBHOOK_TYPE,
  type WebhookEvent,
  type WebhookTarget,
} from '../contract/webhook.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Journal } from '../journal/journal.ts';
import { type DirectiveRecord, dueFrom } from '../journal/records.ts';
import { onEndOf } from './notice.ts';
import { RUN_ENTRY } from './run-wake.ts';
import type { Submitter } from './submit.ts';

/** What has ended, as receivers are notified of it. */
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

export type Notified = Exclude<EndState, { kind: 'ended' }> | { kind: 'notified' };

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
    for (const target of receiversOf(endNotices, requestId, state.end))
      await submitOnce(submitter, deliveryOf(target, state.end, about, endNotices), state.end.event);
    return { kind: 'notified' };
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

/** The same for every delivery of one end, and unlike that of any other. */
function endId(requestId: string, subject: string): string {
  return hash('sha256', `${requestId}/${subject}`, 'hex').slice(0, 32);
}

function deliveryOf(
  target: WebhookTarget,
  { event }: KnownEnd,
  { requestId, subject }: { requestId: string; subject: string },
  { sendingTo }: EndNotices,
) {
  const { payloadBytes, ...retries } = sendingTo(target);
  const ended = endId(requestId, subject);
  return {
    type: WEBHOOK_TYPE,
    id: nameOf(target),
    request_id: scopedAs(requestId, `${WEBHOOK_REQUEST_PREFIX}${ended}`),
    metadata: { ended: { request_id: ownId(requestId), id: subject } },
    ...(typeof target === 'string' ? { endpoint: target } : target),
    webhook_id: `msg_${ended}`,
    event: boundedEvent(event, payloadBytes),
    ...retries,
    backoff: 'exponential',
    jitter: 0.2,
  };
}

/** Where the id is taken, the delivery is there: perhaps with the settings that the configuration had then. */
async function submitOnce(submitter: NotifierParts['submitter'], delivery: object, event: WebhookEvent) {
  try {
    const { traceparent } = event.data;
    await submitter.submit([delivery as unknown as ParsedDirective], { traceparent });
  } catch (error) {
    if (error instanceof DirectiveRefused && error.problem.code === 'id_conflict') return;
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
  const event = endedEvent(requestId, record, { directive, traceparent, data: signal?.data });
  return { kind: 'ended', end: { type: directive.type, agent: null, onEnd: onEndOf(directive), event } };
}

interface Ended {
  directive: Directive;
  traceparent: string;
  /** Of the signal that ended it. */
  data: unknown;
}

function endedEvent(
  requestId: string,
  record: DirectiveRecord,
  { directive, traceparent, data }: Ended,
): DirectiveEnded {
  const ended_at = instant(record.endedAt ?? record.acceptedAt);
  const { payload = null, error = null } = Object(Object(data).result) as {
    payload?: unknown;
    error?: unknown;
  };
  const { tool_name, model, model_alias } = directive as unknown as Record<string, unknown>;
  const name = [tool_name, model, model_alias].find((each) => typeof each === 'string' && each !== '');
  return {
    type: 'directive.ended',
    timestamp: ended_at,
    data: {
      tenant: tenantOf(requestId),
      request_id: ownId(requestId),
      id: record.id,
      directive_type: directive.type,
      name: (name as string | undefined) ?? null,
      status: statusOf(record, error),
      result: payload,
      error,
      url: endPath(ownId(requestId), record.id),
      lane: record.lane,
      attempts: record.fence - record.released,
      sequence: record.terminal ?? 1,
      accepted_at: instant(record.acceptedAt),
      started_at: record.startedAt === null ? null : instant(record.startedAt),
      ended_at,
      traceparent,
    },
  };
}

function statusOf({ status }: DirectiveRecord, error: unknown): EndStatusWord {
  if (status === 'succeeded') return 'succeeded';
  return (Object(error) as { type?: unknown }).type === 'cancelled' ? 'cancelled' : 'failed';
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
