// Delivers one event to one receiver: signed, in one POST, with an outcome that says whether to try again.
// Must never show a secret, the answer of a receiver, or the address of the operator in a result.
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { jsonObjectSchema } from '../../contract/identifiers.ts';
import { errorResult, okResult } from '../../contract/result.ts';
import { WEBHOOK_TYPE } from '../../contract/signal/webhook.ts';
import type { WebhookEvent } from '../../contract/signal/webhook-event.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { PrivateAddress } from '../../platform/bounds/outgoing-request.ts';
import { type Delivery, post, type Reply } from '../../features/webhooks/post.ts';
import { retryAfterMs } from '../../features/webhooks/retry-after.ts';
import { messageHeaders } from '../../features/webhooks/signature.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
} from './definition.ts';

/** Where it goes and how, as the configuration of this process has it. */
export interface Receiver {
  url: string;
  secrets: readonly string[];
  headers: Readonly<Record<string, string>>;
  timeoutMs: number;
  privateAddresses: boolean;
}

/** A delivery as it is journalled. `endpoint` or `url` names the receiver. */
export interface WebhookSend {
  endpoint?: string;
  url?: string;
  webhook_id: string;
  event: WebhookEvent;
}

export interface WebhookSendOptions {
  /** null: this process does not know it, or does not allow it. */
  receiverOf(directive: WebhookSend): Receiver | null;
  /** Addresses of callers whose receiver has said that it is gone, of a tenant. */
  gone: {
    has(url: string, tenant: string): Promise<boolean>;
    add(url: string, tenant: string): Promise<void>;
  };
  userAgent: string;
  now?: () => Date;
}

const GONE = 410;

export function webhookSend(options: WebhookSendOptions): DirectiveDefinition {
  return defineDirective({
    mode: 'queued',
    type: WEBHOOK_TYPE as Directive['type'],
    schema: jsonObjectSchema,
    // Its receiver recognises a repeat by the id.
    repeatPolicy: async () => 'idempotent',
    started: () => null,
    execute: async (directive, context) => deliver(options, directive as unknown as WebhookSend, context),
  });
}

async function deliver(
  options: WebhookSendOptions,
  directive: WebhookSend,
  context: ExecutionContext,
): Promise<Execution> {
  const receiver = options.receiverOf(directive);
  if (receiver === null) return failed(NOT_ALLOWED);
  const { url } = directive;
  const { gone, userAgent, now = () => new Date() } = options;
  const { signal, traceparent, tenant } = context;
  // Redis may be away: then it is not known to be gone, or is asked once more the next time.
  if (url !== undefined && (await gone.has(url, tenant).catch(() => false))) return failed(DISABLED);
  try {
    const reply = await post(messageTo(receiver, directive, { signal, traceparent, at: now(), userAgent }));
    if (reply.status !== GONE) return outcomeOf(reply, now().getTime());
    if (url !== undefined) await gone.add(url, tenant).catch(() => {});
    return failed({ ...(url === undefined ? GONE_ENDPOINT : DISABLED), details: GONE_NOW });
  } catch (error) {
    return failed(unanswered(error, receiver, directive));
  }
}

type About = Pick<ExecutionContext, 'signal' | 'traceparent'> & { at: Date; userAgent: string };

function messageTo(
  { secrets, headers, ...receiver }: Receiver,
  { webhook_id: id, event }: WebhookSend,
  { signal, ...about }: About,
): Delivery {
  const body = JSON.stringify(event);
  return {
    ...receiver,
    body,
    signal,
    headers: { ...headers, ...messageHeaders(secrets, { id, body, ...about }) },
  };
}

function outcomeOf({ status, retryAfter }: Reply, now: number): Execution {
  if (status >= 200 && status < 300) return { result: okResult({ status }) };
  if (status >= 300 && status < 400)
    return failed(refusal(`answered with status ${status}`, REDIRECT, { status }));
  const waitMs = retryAfterMs(retryAfter, now);
  const details = { status, ...(waitMs === null ? {} : { retry_after_ms: waitMs }) };
  return failed({ ...refusal(`answered with status ${status}`, ANSWER, details), retryable: true });
}

const REDIRECT = 'redirects are not followed: name the final address';
const ANSWER = 'answer with a status from 200 to 299 once the event is stored';

function refusal(what: string, fix: string, details: Record<string, unknown> = {}): ErrorEnvelope {
  return { ...errorEnvelope('webhook_failed', `the receiver ${what}; ${fix}`, details), retryable: false };
}

const DISABLED = refusal(
  'is gone',
  'it answered with status 410, so nothing is sent to a caller’s address for a day',
  {
    reason: 'gone',
  },
);

const GONE_ENDPOINT = refusal(
  'is gone',
  'it answered with status 410; the next ends are still sent to it: correct its url in `webhooks.endpoints`, or remove it',
);

const GONE_NOW = { reason: 'gone', status: GONE };

const NOT_ALLOWED = refusal(
  'is not in the configuration of this worker',
  'name it in `webhooks.endpoints`, or allow `webhooks.callers_may_give_urls`',
  { reason: 'unknown_endpoint' },
);

function unanswered(error: unknown, { timeoutMs }: Receiver, { endpoint }: WebhookSend): ErrorEnvelope {
  if (error instanceof PrivateAddress) {
    const place = endpoint === undefined ? 'callers_may_give_urls' : `endpoints.${endpoint}`;
    const fix = `only public addresses are allowed, unless the operator sets \`webhooks.${place}.private_addresses\``;
    return refusal('has a private address', fix, { reason: 'private_address' });
  }
  const { code, name } = Object(error) as { code?: unknown; name?: unknown };
  if (name === 'TimeoutError' || code === 'ABORT_ERR')
    return errorEnvelope('timeout', `the receiver did not answer in ${timeoutMs} ms`, {});
  const reason = typeof code === 'string' && /^[A-Z0-9_]{1,64}$/.test(code) ? code : 'no connection';
  return errorEnvelope('network', `the receiver was not reached: ${reason}`, { reason });
}

function failed(error: ErrorEnvelope): Execution {
  return { result: errorResult(error) };
}
