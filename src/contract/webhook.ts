// What is sent when a directive or a run has ended, and how a caller names who gets it.
// Must never hold a secret: callers name endpoints, and the operator's configuration has the rest.
import * as z from 'zod';
import { directivePath, requestPath } from './api-path.ts';
import { identifierSchema, instantSchema, serverNameSchema } from './identifiers.ts';
import { usageSchema } from './usage.ts';

/** The directive that delivers one event to one receiver. Only the service itself submits it. */
export const WEBHOOK_TYPE = 'webhook_send';

/** Request ids of deliveries begin so; what follows comes from what has ended, so that a repeat is the same delivery. */
export const WEBHOOK_REQUEST_PREFIX = 'webhook.';

const LONGEST_URL = 2_048;
const MOST_TARGETS = 8;

export const endpointNameSchema = serverNameSchema;

const webhookTargetSchema = z.union([
  endpointNameSchema,
  z.strictObject({ url: z.url({ protocol: /^https?$/ }).max(LONGEST_URL) }),
]);

/** Who is notified of the end: an endpoint of the configuration, or an address where the operator allows it; or several. */
export const onEndSchema = z.union([
  webhookTargetSchema,
  z.array(webhookTargetSchema).min(1).max(MOST_TARGETS),
]);

export const endFields = {
  /** Who is notified when it has ended. Absent = whom the rules of the configuration name. */
  on_end: onEndSchema.optional(),
};

export type WebhookTarget = z.infer<typeof webhookTargetSchema>;
export type OnEnd = z.infer<typeof onEndSchema>;

export const END_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;
export type EndStatusWord = (typeof END_STATUSES)[number];

const endDataFields = {
  tenant: z.string(),
  request_id: identifierSchema,
  status: z.enum(END_STATUSES),
  /** What it returned; null: nothing, or it is larger than the configuration lets an event be: then read `url`. */
  result: z.unknown(),
  /** Why it failed; null: it succeeded. */
  error: z.unknown(),
  /** Bytes of a result that is left out; absent: it is whole. */
  omitted_bytes: z.int().min(1).optional(),
  /** Path at this service's API under which everything is read. */
  url: z.string(),
  ended_at: instantSchema,
  traceparent: z.string(),
};

export const directiveEndedSchema = z.object({
  type: z.literal('directive.ended'),
  timestamp: instantSchema,
  data: z.object({
    ...endDataFields,
    id: z.string(),
    directive_type: z.string(),
    /** Name of the tool or model; null: it has none. */
    name: z.string().nullable(),
    lane: z.string().nullable(),
    attempts: z.int().min(0),
    /** Of the signal that ended it. */
    sequence: z.int().min(1),
    accepted_at: instantSchema,
    started_at: instantSchema.nullable(),
  }),
});

export const runEndedSchema = z.object({
  type: z.literal('run.ended'),
  timestamp: instantSchema,
  data: z.object({
    ...endDataFields,
    run_id: z.string(),
    agent: z.string(),
    conversation_id: z.string().nullable(),
    termination_reason: z.string().nullable(),
    iterations: z.int().min(0),
    tool_calls: z.int().min(0),
    usage: usageSchema,
    cost: z.number().nullable(),
    started_at: instantSchema.nullable(),
  }),
});

/** The body of a delivery. Readers skip members they do not know. */
export const webhookEventSchema = z.discriminatedUnion('type', [directiveEndedSchema, runEndedSchema]);

export type WebhookEvent = z.infer<typeof webhookEventSchema>;
export type DirectiveEnded = z.infer<typeof directiveEndedSchema>;
export type RunEnded = z.infer<typeof runEndedSchema>;

/** `on_end` as a list; [] where there is none. */
export function targetsOf(onEnd: OnEnd | undefined): readonly WebhookTarget[] {
  if (onEnd === undefined) return [];
  return Array.isArray(onEnd) ? onEnd : [onEnd];
}

/** Where everything about the end is read. */
export function endPath(requestId: string, id: string | null): string {
  return id === null ? requestPath(requestId) : directivePath(requestId, id);
}

const SHOWN_MESSAGE = 1_024;

/** The event with at most about `mostBytes` of what was returned: beyond it, only where to read it. */
export function boundedEvent<E extends WebhookEvent>(event: E, mostBytes: number): E {
  const { result, error } = event.data;
  const bytes = sizeOf(result) + sizeOf(error);
  if (bytes <= mostBytes) return event;
  return { ...event, data: { ...event.data, result: null, error: shortError(error), omitted_bytes: bytes } };
}

function sizeOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

function shortError(error: unknown): unknown {
  if (error === null || error === undefined) return null;
  const { type, message } = Object(error) as Partial<Record<'type' | 'message', unknown>>;
  const text = (value: unknown, most: number) => (typeof value === 'string' ? value.slice(0, most) : '');
  return { type: text(type, 64), message: text(message, SHOWN_MESSAGE) };
}
