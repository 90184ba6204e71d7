// Why something that was accepted does not go on: the reasons, and each in words.
// Must never be a list that readers rely on: a later version may name other reasons.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';
import { plainText } from '../json/plain-text.ts';

/**
 * Reasons why a directive makes no progress. `no_worker`: no process serves the lane. `no_program`: its type is remote, and no program has
 * asked for its work in the last 30 s. `server_down`: its MCP server or
 * model provider is unreachable. `rate_limited`: that server or provider asked to slow down. `limit_reached`: a
 * configured limit is used up. `concurrency`: the lane has its maximum in flight. `input_required`: its tool asks a
 * person. `worker_lost`: its worker died, and no other one has claimed it yet. `later`: its earliest start lies ahead.
 * `turn`: other directives of its lane are ahead. `limit`: a limit by key, of its caller or of a rule, is used up.
 * `singleton`: the directive that it replaces has not ended. `retry`: its last attempt failed, and the next one follows.
 */
export const WAIT_REASONS = [
  'no_worker',
  'no_program',
  'server_down',
  'rate_limited',
  'limit_reached',
  'concurrency',
  'input_required',
  'worker_lost',
  'later',
  'turn',
  'limit',
  'singleton',
  'retry',
] as const;

/** Reason why a directive makes no progress. */
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Shortest pause after a call that was refused as `rate_limited`, whatever the server asks for; milliseconds. */
export const SHORTEST_PAUSE_MS = 1_000;

/** Schema of a wait. */
export const waitSchema = z.object({
  reason: z
    .string()
    .regex(/^[a-z0-9_]{1,64}$/)
    .describe('Reason of the wait. A later version may add others.'),
  since: instantSchema
    .optional()
    .describe(
      'Instant (UTC) from which the directive has waited for its first success: its acceptance or earliest start, else the start of its first attempt; for `worker_lost` the end of the lease. Absent: unknown.',
    ),
  until: instantSchema.nullable().describe('Instant (UTC) of the next attempt; null: unknown.'),
  message: z.string().max(512).describe('Explanation of the wait, at most 512 characters.'),
});

/** Wait of a directive. */
export type Wait = z.infer<typeof waitSchema>;

/** Why a directive waits. */
export interface WaitFacts {
  reason: string;
  /** When it is tried again, milliseconds since the epoch; null: unknown. */
  untilAt: number | null;
  /** Since when it has waited, milliseconds since the epoch. Default: unknown. */
  sinceAt?: number | undefined;
  /** Detail of the reason: a cause, or the limit. Default: none. */
  detail?: string | undefined;
}

/** A detail comes from outside: the exit of a server, the text of a provider. */
const LONGEST_DETAIL = 360;

/** As it appears on the wire. */
export function waitOf(lane: string, { reason, untilAt, sinceAt, detail }: WaitFacts): Wait {
  const until = untilAt === null ? null : new Date(untilAt).toISOString();
  const since = sinceAt === undefined ? {} : { since: new Date(sinceAt).toISOString() };
  const more = detail === undefined ? null : plainText(detail).slice(0, LONGEST_DETAIL);
  // Which limit, or how many are before it, says the whole.
  if (more !== null && (reason === 'turn' || reason === 'limit'))
    return { reason, ...since, until, message: more };
  return {
    reason,
    ...since,
    until,
    message: `${waitMessage(lane, reason)}${more === null ? '' : `: ${more}`}`,
  };
}

/** `leaseUntil`: until when the worker that is lost had it. `present`: why its lane waits now; null: a worker may take it. */
export function lostWait(
  lane: string,
  leaseUntil: number,
  present: WaitFacts | null,
): WaitFacts & { reason: WaitReason } {
  const since = `since ${new Date(leaseUntil).toISOString()}`;
  const why = present === null ? '' : `, ${waitOf(lane, present).message}`;
  return { reason: 'worker_lost', untilAt: null, detail: `${since}${why}` };
}

const KINDS: Readonly<Record<string, string>> = { tool: 'MCP server', llm: 'model provider' };

function waitMessage(lane: string, reason: string): string {
  switch (reason as WaitReason) {
    case 'no_worker':
      return lane === 'run' ? 'no engine works' : `no worker serves the lane ${lane}`;
    case 'no_program':
      return `no program asks for the directives of the lane ${lane}`;
    case 'server_down':
      return `${peerOf(lane)} is down`;
    case 'rate_limited':
      return `${peerOf(lane)} asks to slow down`;
    case 'limit_reached':
      return `a configured limit of the lane ${lane} is used up`;
    case 'concurrency':
      return `as many directives of the lane ${lane} run as may`;
    case 'input_required':
      return 'a person is asked';
    case 'worker_lost':
      return 'worker lost; waits for a worker';
    case 'later':
      return 'begins later';
    case 'turn':
      return 'its turn';
    case 'limit':
      return 'a limit';
    case 'retry':
      return `waits to call ${peerOf(lane)} again`;
    case 'singleton':
      return 'waits for the end of what it replaces';
    default:
      return `the lane ${lane} waits (${reason})`;
  }
}

function peerOf(lane: string): string {
  const dot = lane.indexOf('.');
  const kind = KINDS[lane.slice(0, Math.max(dot, 0))];
  return kind === undefined ? `what the lane ${lane} needs` : `the ${kind} '${lane.slice(dot + 1)}'`;
}
