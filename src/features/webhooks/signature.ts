// The headers of a message: those of Standard Webhooks with a signature by every current key, and what each message has.
// Must never put a key anywhere else than into a signature.
import { Webhook } from 'standardwebhooks';

export interface Message {
  id: string;
  body: string;
  /** Time of this attempt. */
  at: Date;
}

export interface SentMessage extends Message {
  traceparent: string;
  userAgent: string;
}

/** All that the service sets itself. */
export function messageHeaders(
  secrets: readonly string[],
  { traceparent, userAgent, ...message }: SentMessage,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': userAgent,
    traceparent,
    ...signedHeaders(secrets, message),
  };
}

/** `secrets`: `whsec_` and base64. During a rotation there are two, and a receiver that knows one of them accepts the message. */
export function signedHeaders(
  secrets: readonly string[],
  // @guard webhook-one-id
  { id, body, at }: Message,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  // @guard webhook-one-id-2
  const signatures = secrets.map((secret) => new Webhook(secret).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signatures.join(' '),
  };
}
