// Who is notified of an end, as callers name them; and the names of what delivers.
// Must never hold a secret: callers name endpoints, and the operator's configuration has the rest.
import * as z from 'zod';
import { serverNameSchema } from '../identifiers.ts';
import { isObject } from '../json/json-object.ts';

/** The directive that delivers one event to one receiver. Only the service itself submits it. */
export const WEBHOOK_TYPE = 'webhook_send';

/** Request ids of deliveries begin so; what follows comes from what has ended, so that a repeat is the same delivery. */
export const WEBHOOK_REQUEST_PREFIX = 'webhook.';

const LONGEST_URL = 2_048;
const MOST_TARGETS = 8;

/** Schema of the name of a webhook endpoint. */
export const endpointNameSchema = serverNameSchema;

const webhookTargetSchema = z.union([
  endpointNameSchema,
  z.strictObject({
    url: z
      .url({ protocol: /^https?$/ })
      .max(LONGEST_URL)
      .describe('Address that receives the event, http or https, at most 2,048 characters.'),
  }),
]);

/** Who is notified of the end: an endpoint of the configuration, or an address where the operator allows it; or several. */
export const onEndSchema = z.union([
  webhookTargetSchema,
  z.array(webhookTargetSchema).min(1).max(MOST_TARGETS),
]);

/** Schema of the field that names the webhooks of an end. */
export const endFields = {
  on_end: onEndSchema
    .optional()
    .describe(
      'Webhook endpoints, by name or address, that receive an event at the end; at most 8. Default: as the rules of the configuration define.',
    ),
};

const SHORTEST_KEY = 24;
const LONGEST_KEY = 64;

/** Description of the form of a signing key. */
export const SECRET_FORM = `"whsec_" and ${SHORTEST_KEY} to ${LONGEST_KEY} bytes in base64`;

/** Whether a text is a signing key. */
export function isWebhookSecret(text: string): boolean {
  const [, base64 = ''] = /^whsec_([A-Za-z0-9+/]+)={0,2}$/.exec(text) ?? [];
  const bytes = Math.floor((base64.length * 3) / 4);
  return bytes >= SHORTEST_KEY && bytes <= LONGEST_KEY;
}

/** Receiver of a webhook: an endpoint or an address. */
export type WebhookTarget = z.infer<typeof webhookTargetSchema>;
/** Receivers of the event at an end. */
export type OnEnd = z.infer<typeof onEndSchema>;

/** `on_end` as a list; [] where there is none. */
export function targetsOf(onEnd: OnEnd | undefined): readonly WebhookTarget[] {
  if (onEnd === undefined) return [];
  return Array.isArray(onEnd) ? onEnd : [onEnd];
}

/** Begins the subject of a notice that a person is asked; what follows is the id of the call, the budget or the directive, and of a round of questions its first number. */
export const ASK_SUBJECT = '@ask/';

/** Receiver of a delivery, and its subject. */
export interface Delivery {
  /** An endpoint, or the host of an address that a caller gave. */
  readonly to: string;
  readonly requestId: string;
  /** Directive that ended, or the call or question that a person decides about; null: the end of a run. */
  readonly id: string | null;
  /** Whether a person is needed; else something has ended. */
  readonly asks: boolean;
}

/** Delivery that a stored directive makes; null: it is not a delivery. */
export function deliveryIn(directive: object): Delivery | null {
  const { type, endpoint, host, metadata } = directive as Readonly<Record<string, unknown>>;
  const ended = isObject(metadata) ? metadata['ended'] : null;
  if (type !== WEBHOOK_TYPE || !isObject(ended)) return null;
  const { request_id: requestId, id } = ended;
  if (typeof requestId !== 'string' || typeof id !== 'string') return null;
  // No directive's id begins so.
  const to = [endpoint, host].find((each) => typeof each === 'string') ?? '';
  if (id.startsWith(ASK_SUBJECT)) return { to, requestId, id: id.slice(ASK_SUBJECT.length), asks: true };
  return { to, requestId, id: id.startsWith('@') ? null : id, asks: false };
}
