// Runs that another program leads: the wire of their steps, their end and their view.
// Must never let the name of a run name what another caller began: the service finds a run by its name and its caller.
import * as z from 'zod';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { repeatPolicySchema } from '../directive/work-directive.ts';

/** Beginning of the id of each request that holds the calls of such a run. */
export const RUN_REQUEST_PREFIX = 'run.';

/** Type of the signal of a pass that left the record. */
export const DIVERGED_SIGNAL = 'run.diverged';
/** Id of the directive in each of them. */
export const RUN_DIRECTIVE_ID = 'call';

/** Header that names the run of a call, where the address does not. */
export const RUN_HEADER = 'adjutant-run';
/** Header that names a pass: another value than that of the call before begins a new pass. */
export const PASS_HEADER = 'adjutant-pass';
/** Header with the value `off`: a model call gets a fresh answer. */
export const REPLAY_HEADER = 'adjutant-replay';
/** Header of an answer that comes from the record. */
export const REPLAYED_HEADER = 'adjutant-replayed';
/** Header with the value `true`: a `once` call with equal arguments may happen again. */
export const REPEAT_HEADER = 'adjutant-allow-repeat';

/** Bounds of one run. */
export const RUN_BOUNDS = {
  turns: 10_000,
  calls: 10_000,
  steps: 1_000,
  /** Results of all steps, bytes of JSON. */
  stepBytes: 16 * 1_024 * 1_024,
  /** Result of one step, bytes of JSON. */
  resultBytes: 256 * 1_024,
  /** Turns that a view shows. */
  latestTurns: 20,
} as const;

/** Schema of the name of a run. */
export const runNameSchema = identifierSchema.describe(
  'Name of the run, chosen by its program. Runs of other callers with the same name are other runs.',
);

const MOST_LEASE_MS = 3_600_000;
const DEFAULT_LEASE_MS = 30_000;

const keySchema = z
  .string()
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]{1,255}$/u, '1 to 255 characters, no control characters')
  .describe('Key of the step in its run: the same key is the same step.');
const tokenSchema = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, '1 to 64 characters of A-Z a-z 0-9 _ -');

/** Schema of the begin of a step. */
export const beginStepBodySchema = z.strictObject({
  key: keySchema,
  effect: repeatPolicySchema
    .default('once')
    .describe(
      'Whether the step may run again when its process died: `read` and `idempotent` may, `once` has an unknown outcome then. Default: `once`.',
    ),
  lease_ms: z
    .int()
    .min(1_000)
    .max(MOST_LEASE_MS)
    .default(DEFAULT_LEASE_MS)
    .describe(
      'Time until the process counts as dead unless it renews the lease, in milliseconds, 1,000 to 3,600,000. Default: 30,000.',
    ),
  token: tokenSchema
    .optional()
    .describe('Token of an earlier answer, which renews its lease. Default: a begin.'),
});

/** Schema of the answer to the begin of a step. */
export const begunStepSchema = z.object({
  run: runNameSchema,
  key: keySchema,
  state: z
    .enum(['run', 'recorded', 'running', 'unknown'])
    .describe(
      '`run`: the caller runs the step now. `recorded`: it has ended, with `result` or `error`. `running`: another process holds its lease. ' +
        '`unknown`: the process of a `once` step died, and it may have acted.',
    ),
  token: tokenSchema.optional().describe('Token for the end and for renewals. Present with `run`.'),
  lease_ms: z
    .int()
    .min(0)
    .optional()
    .describe('Remaining time of the lease, in milliseconds. Present with `run` and `running`.'),
  result: z.unknown().optional().describe('Recorded result, any JSON value. Absent: none.'),
  error: z.string().optional().describe('Recorded error of a `once` step. Absent: it succeeded.'),
});

/** Schema of the end of a step. */
export const endStepBodySchema = z.strictObject({
  key: keySchema,
  token: tokenSchema
    .optional()
    .describe('Token of the begin. Absent: a decision about a step whose outcome is unknown.'),
  result: z
    .unknown()
    .optional()
    .describe(
      'Result of the step, any JSON value, at most 256 KiB. Default: null, unless another member is set.',
    ),
  error: z
    .string()
    .max(4_096)
    .optional()
    .describe(
      'Error of the step, at most 4,096 characters. It is recorded for `once`; another step runs again at its next begin.',
    ),
  again: z
    .literal(true)
    .optional()
    .describe('The step did not act, and runs again at its next begin. Default: it is recorded.'),
});

/** Schema of the answer to the end of a step. */
export const endedStepSchema = z.object({
  run: runNameSchema,
  key: keySchema,
  state: z
    .enum(['recorded', 'released'])
    .describe('`recorded`: the end is durable. `released`: the step runs again at its next begin.'),
});

/** Schema of the close of a run. */
export const closeRunBodySchema = z
  .strictObject({
    result: z.unknown().optional().describe('Result of the run, any JSON value. Default: null.'),
    error: z
      .string()
      .max(4_096)
      .optional()
      .describe('Failure of the run, at most 4,096 characters. Default: none.'),
  })
  .refine(({ result, error }) => result === undefined || error === undefined, {
    message: 'has either `result` or `error`',
  });

/** Schema of the view of a run. */
export const foreignRunViewSchema = z.object({
  run: runNameSchema,
  status: z
    .enum(['open', 'idle', 'completed', 'failed'])
    .describe(
      '`open`, `idle` after 10 minutes without a call, or how its program closed it. An idle run goes on with its next call.',
    ),
  begun_at: instantSchema.describe('Instant (UTC) of its first call.'),
  passes: z.int().min(1).describe('Number of passes: starts of its program that were recognised.'),
  branched: z.boolean().describe('Whether the current pass has left the record.'),
  turns: z.int().min(0).describe('Number of recorded model calls.'),
  tool_calls: z.int().min(0).describe('Number of recorded tool calls.'),
  steps: z.int().min(0).describe('Number of steps.'),
  replays: z.int().min(0).optional().describe('Number of answers that were given from the record.'),
  diverged: z
    .object({
      pass: z.int().min(1).describe('Number of the pass.'),
      turn: z.int().min(1).describe('Number of the recorded turn that it did not repeat.'),
      request_id: identifierSchema.describe(
        'Request of that turn, whose log has the first difference (`run.diverged`).',
      ),
    })
    .optional()
    .describe('The last pass that left the record. Absent: none has.'),
  latest_turns: z
    .array(
      z.object({
        turn: z.int().min(1).describe('Number of the turn.'),
        request_id: identifierSchema.describe('Request of its model call.'),
        tool_calls: z.int().min(0).describe('Number of tool calls that its answer asks for.'),
        replays: z.int().min(0).describe('Number of times that its answer was given from the record.'),
      }),
    )
    .max(RUN_BOUNDS.latestTurns)
    .optional()
    .describe('At most 20 turns, the newest first, or those up to the `turn` of the query.'),
  request_prefix: identifierSchema.describe(
    'Beginning of the ids of its requests, one for each call: `.t3` follows for the third turn, `.t3.c0` for the first tool call that it asked for.',
  ),
  trace_id: z.string().describe('Trace of the calls whose program names none.'),
  idle_ms: z.int().min(0).optional().describe('Time since its last call, in milliseconds.'),
  kept_ms: z
    .int()
    .min(0)
    .optional()
    .describe('Time until the run is forgotten unless a call comes, in milliseconds.'),
  result: z.unknown().optional().describe('Result with which it was closed. Absent: none.'),
  error: z.string().optional().describe('Failure with which it was closed. Absent: none.'),
});

const shownSchema = z
  .string()
  .describe('JSON of the value, at most 200 characters; `absent` where there is none.');

/** Schema of the data of `run.diverged`. */
export const divergedDataSchema = z.object({
  run: runNameSchema,
  pass: z.int().min(1).describe('Number of the pass that goes on as a branch.'),
  turn: z.int().min(1).describe('Number of the recorded turn that the pass did not repeat.'),
  place: z.string().describe('First place in the body that differs, such as `messages[2].content`.'),
  recorded: shownSchema,
  sent: shownSchema,
});

/** Body of the begin of a step. */
export type BeginStepBody = z.input<typeof beginStepBodySchema>;
/** Answer to the begin of a step. */
export type BegunStep = z.infer<typeof begunStepSchema>;
/** Body of the end of a step. */
export type EndStepBody = z.input<typeof endStepBodySchema>;
/** Answer to the end of a step. */
export type EndedStep = z.infer<typeof endedStepSchema>;
/** Body of the close of a run. */
export type CloseRunBody = z.input<typeof closeRunBodySchema>;
/** View of a run that another program leads. */
export type ForeignRunView = z.infer<typeof foreignRunViewSchema>;
/** Data of `run.diverged`. */
export type DivergedData = z.infer<typeof divergedDataSchema>;

/** A tool call of a run, as its host sent it. */
export interface AskedToolCall {
  readonly run: string;
  /** Whole name of the tool. */
  readonly tool: string;
  /** Names under which hosts may know it. */
  readonly names: readonly string[];
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly isOnce: boolean;
  /** Value of the header `adjutant-pass`; null: none. */
  readonly pass: string | null;
  readonly allowsRepeat: boolean;
  /** Trace context of its host; anything other than a W3C trace context counts as none. */
  readonly traceparent?: unknown;
}

/** The request of a call, which holds nothing else. */
export interface ToolTarget {
  readonly requestId: string;
  readonly traceparent: string;
  /** Whether its record would be gone by now if it had ended. */
  readonly isOld: boolean;
  /** Another request, for a call that was cancelled and may be made again. */
  again(): Promise<string>;
}
