// The webhook event of a directive or a run that has ended, or of a question to a person, and how it is made. Never
// holds more of a result than its receiver takes.
import * as z from 'zod';
import { directivePath, requestPath } from '../api-path.ts';
import { boundedText } from '../json/json-safe.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { type OpenApproval, openApprovalSchema } from '../run/approval-listing.ts';
import type { RunView } from '../run/run.ts';
import { toolNameIn } from '../tool/tool-pattern.ts';
import { usageSchema } from '../model/usage.ts';

/** Statuses at an end. */
export const END_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;
/** Status at an end. */
export type EndStatusWord = (typeof END_STATUSES)[number];

const endDataFields = {
  tenant: z.string().describe('Tenant of the request.'),
  request_id: identifierSchema.describe('Id of the request.'),
  status: z.enum(END_STATUSES).describe('Status at the end.'),
  result: z
    .unknown()
    .describe('Result; null: none, or larger than the configuration permits in an event: then read `url`.'),
  error: z.unknown().describe('Error envelope of the failure; null: succeeded.'),
  omitted_bytes: z
    .int()
    .min(1)
    .optional()
    .describe('Size of a result that is left out, in bytes. Absent: the result is complete.'),
  url: z.string().describe('Path at the API of the service that returns everything.'),
  ended_at: instantSchema.describe('Instant (UTC) of the end.'),
  traceparent: z.string().describe('W3C trace context of the directive or run.'),
};

/** Schema of the event for the end of a directive. */
export const directiveEndedSchema = z.object({
  type: z.literal('directive.ended').describe('Type of the event: the end of a directive.'),
  timestamp: instantSchema.describe('Instant (UTC) of the event.'),
  data: z
    .object({
      ...endDataFields,
      id: z.string().describe('Id of the directive.'),
      directive_type: z.string().describe('Type of the directive.'),
      name: z.string().nullable().describe('Name of the tool or model; null: none.'),
      lane: z.string().nullable().describe('Lane of the directive; null: none.'),
      attempts: z.int().min(0).describe('Number of attempts.'),
      sequence: z.int().min(1).describe('Sequence number of the signal that ended the directive.'),
      accepted_at: instantSchema.describe('Instant (UTC) of the acceptance.'),
      started_at: instantSchema.nullable().describe('Instant (UTC) of the first attempt; null: not started.'),
    })
    .describe('Data of the event.'),
});

/** Schema of the event for the end of a run. */
export const runEndedSchema = z.object({
  type: z.literal('run.ended').describe('Type of the event: the end of a run.'),
  timestamp: instantSchema.describe('Instant (UTC) of the event.'),
  data: z
    .object({
      ...endDataFields,
      run_id: z.string().describe('Id of the run.'),
      agent: z.string().describe('Name of the agent.'),
      conversation_id: z.string().nullable().describe('Id of the conversation; null: none.'),
      termination_reason: z.string().nullable().describe('Reason why the run ended.'),
      iterations: z.int().min(0).describe('Number of model turns.'),
      tool_calls: z.int().min(0).describe('Number of tool calls.'),
      usage: usageSchema.describe('Token usage of the run.'),
      cost: z.number().nullable().describe('Cost in USD; null: the price of a used model is unknown.'),
      started_at: instantSchema.nullable().describe('Instant (UTC) of the start; null: not started.'),
      resumed: z
        .int()
        .min(1)
        .optional()
        .describe('Number of resumes before this end. Absent: none, it is the first end.'),
    })
    .describe('Data of the event.'),
});

const askedFields = {
  timestamp: instantSchema.describe('Instant (UTC) of the event.'),
  data: openApprovalSchema
    .extend({
      tenant: z.string().describe('Tenant of the request.'),
      reminder: z
        .int()
        .min(0)
        .describe('Number of the reminder to this endpoint; 0: it is notified for the first time.'),
      url: z.string().describe('Path at the API of the service to which the decision or answer is posted.'),
      page: z
        .string()
        .describe(
          'Page of the request in the console: an address where `webhooks.public_url` is configured, else a path.',
        ),
      traceparent: z.string().describe('W3C trace context of the run or directive.'),
    })
    .describe('The open question as `GET /v1/approvals` lists it, and where it is answered.'),
};

/** Schema of the event for an open approval. */
export const approvalRequestedSchema = z.object({
  type: z
    .literal('approval.requested')
    .describe('Type of the event: a tool call or a budget waits for a decision.'),
  ...askedFields,
});

/** Schema of the event for an open question of a tool. */
export const questionAskedSchema = z.object({
  type: z.literal('question.asked').describe('Type of the event: a tool waits for an answer.'),
  ...askedFields,
});

/** The body of a delivery. Readers skip members and types they do not know. */
export const webhookEventSchema = z.discriminatedUnion('type', [
  directiveEndedSchema,
  runEndedSchema,
  approvalRequestedSchema,
  questionAskedSchema,
]);

/** Event that a webhook receives. */
export type WebhookEvent = z.infer<typeof webhookEventSchema>;
/** Event for the end of a directive. */
export type DirectiveEnded = z.infer<typeof directiveEndedSchema>;
/** Event for the end of a directive or a run. */
export type EndEvent = DirectiveEnded | RunEnded;
/** Event for an open question to a person. */
export type Asked = z.infer<typeof approvalRequestedSchema> | z.infer<typeof questionAskedSchema>;
/** Event for the end of a run. */
export type RunEnded = z.infer<typeof runEndedSchema>;

/** A directive that has ended, as the journal or a reader knows it. `signal`: the data of the signal that ended it. */
export interface EndedDirectiveFacts {
  requestId: string;
  tenant: string;
  directive: { type: string };
  id: string;
  succeeded: boolean;
  signal: unknown;
  lane: string | null;
  attempts: number;
  sequence: number;
  accepted_at: string;
  started_at: string | null;
  ended_at: string;
  traceparent: string;
}

/** Creates the event for the end of a directive. */
export function directiveEndedEvent(facts: EndedDirectiveFacts): DirectiveEnded {
  const { requestId, tenant, directive, id, succeeded, signal, ...known } = facts;
  const { result } = Object(signal) as { result?: unknown };
  const { payload = null, error = null } = Object(result) as { payload?: unknown; error?: unknown };
  return {
    type: 'directive.ended',
    timestamp: known.ended_at,
    data: {
      tenant,
      request_id: requestId,
      id,
      directive_type: directive.type,
      name: nameOf(directive, known.lane),
      status: statusOf(succeeded, (Object(error) as { type?: unknown }).type === 'cancelled'),
      result: payload,
      error,
      url: directivePath(requestId, id),
      ...known,
    },
  };
}

/** Name of the tool or model. */
function nameOf(directive: object, lane: string | null): string | null {
  const { tool_name, model, model_alias } = directive as Record<string, unknown>;
  if (typeof tool_name === 'string' && tool_name !== '') return toolNameIn(lane, tool_name);
  const name = [model, model_alias].find((each) => typeof each === 'string' && each !== '');
  return (name as string | undefined) ?? null;
}

function statusOf(succeeded: boolean, cancelled: boolean): EndStatusWord {
  if (succeeded) return 'succeeded';
  return cancelled ? 'cancelled' : 'failed';
}

/** `view`: of a run that has ended. */
export function runEndedEvent(
  view: RunView,
  { requestId, ...known }: { requestId: string; tenant: string; ended_at: string; traceparent: string },
): RunEnded {
  const { run_id, agent, conversation_id, termination_reason, iterations, tool_calls } = view;
  const { usage, cost, started_at, status, result = null, error = null, resumed } = view;
  return {
    type: 'run.ended',
    timestamp: known.ended_at,
    data: {
      ...known,
      request_id: requestId,
      run_id,
      agent,
      status: statusOf(status === 'completed', status === 'cancelled'),
      result,
      error,
      url: requestPath(requestId),
      conversation_id,
      termination_reason,
      iterations,
      tool_calls,
      usage,
      cost,
      started_at,
      ...(resumed === undefined ? {} : { resumed }),
    },
  };
}

/** Creates the event for an open question to a person. */
export function askedEvent(
  ask: OpenApproval,
  about: { tenant: string; reminder: number; timestamp: string; publicUrl: string; traceparent: string },
): Asked {
  const { tenant, reminder, timestamp, publicUrl, traceparent } = about;
  const { kind, request_id, call_id, input_id } = ask;
  const request = requestPath(request_id);
  const place =
    input_id === null ? `approvals/${encodeURIComponent(call_id)}` : `inputs/${encodeURIComponent(input_id)}`;
  const data = {
    ...ask,
    tenant,
    reminder,
    url: `${request}/${place}`,
    page: `${publicUrl}/console/requests/${encodeURIComponent(request_id)}`,
    traceparent,
  };
  return { type: kind === 'question' ? 'question.asked' : 'approval.requested', timestamp, data };
}

const SHOWN_MESSAGE = 1_024;

/** The event with at most about `mostBytes` of what was returned: beyond it, only where to read it. */
export function boundedEvent<E extends EndEvent>(event: E, mostBytes: number): E {
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
  const text = (value: unknown, most: number) => (typeof value === 'string' ? boundedText(value, most) : '');
  return { type: text(type, 64), message: text(message, SHOWN_MESSAGE) };
}
