// The attributes of a directive's span for the fields about its time, priority and limits. Never shows a key of a
// caller, unless spans show content: it may name a person.
import { type Directive, DIRECTIVE_TYPES } from '../../contract/directive/directive.ts';
import { encryptedFields } from '../../contract/encrypted/encrypted.ts';
import type { FlowFields, Ticket } from '../../contract/directive/flow.ts';
import type { LaterFields } from '../../contract/directive/later.ts';
import type { OnceFields } from '../../contract/directive/once.ts';
import type { RetryPolicy } from '../../contract/directive/retry-policy.ts';
import { type OnEnd, targetsOf } from '../../contract/signal/webhook.ts';
import { type ContentLimit, shown } from '../../platform/telemetry/traces/content.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';
import { onceAttributes } from './once-span.ts';

type Retries = Partial<RetryPolicy> & { readonly timeout_ms?: number | undefined };

type Fields = Retries & FlowFields & LaterFields & OnceFields & { readonly on_end?: OnEnd | undefined };

/** `ticket`: with what it enters the gate of its lane. A user's own type may mean something else by these names. */
export function flowAttributes(
  directive: Directive,
  ticket: Ticket | null | undefined,
  content: ContentLimit,
): Attributes {
  const fields: Fields = DIRECTIVE_TYPES.includes(directive.type) ? (directive as Fields) : {};
  return {
    [ATTRIBUTE.timeoutMs]: fields.timeout_ms,
    [ATTRIBUTE.deadlineMs]: fields.deadline_ms,
    [ATTRIBUTE.maxRetries]: fields.max_retries,
    [ATTRIBUTE.retryBackoffMs]: fields.retry_backoff_ms,
    [ATTRIBUTE.backoff]: fields.backoff,
    [ATTRIBUTE.delayMs]: fields.delay_ms,
    [ATTRIBUTE.runAt]: fields.run_at,
    [ATTRIBUTE.startByMs]: fields.start_by_ms,
    ...ticketAttributes(ticket),
    ...limitAttributes(fields, content),
    ...onceAttributes(fields, content),
    ...noticeAttributes(fields),
    ...encryptionAttributes(directive),
  };
}

/** Rules of the configuration count as well. */
function ticketAttributes(ticket: Ticket | null | undefined): Attributes {
  if (!ticket) return {};
  return {
    [ATTRIBUTE.priority]: ticket.priority,
    [ATTRIBUTE.priorityFixedBy]: ticket.fixed_by,
    [ATTRIBUTE.limits]: ticket.limits.length,
  };
}

function limitAttributes({ concurrency, rate, fairness_key }: FlowFields, content: ContentLimit): Attributes {
  return {
    [ATTRIBUTE.fairnessKey]: shown(content, fairness_key),
    [ATTRIBUTE.concurrencyLimit]: concurrency?.limit,
    [ATTRIBUTE.concurrencyKey]: shown(content, concurrency?.key),
    [ATTRIBUTE.rateMax]: rate?.max,
    [ATTRIBUTE.ratePerMs]: rate?.per_ms,
    [ATTRIBUTE.rateKey]: shown(content, rate?.key),
  };
}

/** An address of the caller may hold a secret. */
function noticeAttributes({ on_end: onEnd }: Pick<Fields, 'on_end'>): Attributes {
  const names = targetsOf(onEnd).map((target) => (typeof target === 'string' ? target : 'url'));
  return { [ATTRIBUTE.onEnd]: names.length === 0 ? undefined : names };
}

function encryptionAttributes(directive: Directive): Attributes {
  const fields = encryptedFields(directive);
  if (fields.length === 0) return {};
  return {
    [ATTRIBUTE.encryptedFields]: fields.map(({ field }) => field),
    [ATTRIBUTE.encryptionKeyId]: fields[0]?.encoded.key_id,
  };
}
