// Flow control: whose turn it is, how urgent, and how many at once or within a time, under a key that the caller or a rule names.
// Must never say who goes next: that is decided by the gate of a lane.
import * as z from 'zod';
import { identifierSchema } from '../identifiers.ts';

/** Priority of a directive without one. */
export const DEFAULT_PRIORITY = 4;
/** A priority is a head start, not a rank: each step is worth as much as having arrived so much earlier. */
export const PRIORITY_STEP_MS = 30_000;

/** Any characters: it is data, and never part of a name in Redis. */
const keySchema = z.string().min(1).max(256);

/** Schema of a priority. */
export const prioritySchema = z.int().min(0).max(9);
/** Schema of a concurrency limit. */
export const concurrencyLimitSchema = z.int().min(1).max(10_000);
/** Schema of the number of starts of a rate limit. */
export const rateMaxSchema = z.int().min(1).max(1_000_000);
/** Schema of the interval of a rate limit, in milliseconds. */
export const ratePerMsSchema = z.int().min(1).max(86_400_000);

/** Schema of the body that changes a priority. */
export const priorityBodySchema = z.strictObject({
  priority: prioritySchema.describe(
    'Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds.',
  ),
});

/** Schema of the answer to a change of priority. */
export const prioritizedSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  id: identifierSchema.describe('Id of the directive.'),
  priority: prioritySchema.describe('Priority of the directive from now on, 0 to 9.'),
});

/** Answer to a change of priority. */
export type Prioritized = z.infer<typeof prioritizedSchema>;

/** Schemas of the flow control fields of a directive. */
export const flowFields = {
  priority: prioritySchema
    .optional()
    .describe(
      'Priority, 0 to 9; higher values are dequeued first, and each step is a head start of 30 seconds. Default: 4.',
    ),
  fairness_key: keySchema
    .optional()
    .describe(
      'Key of fair sharing: a lane dequeues alternately from each key, 1 to 256 characters. Default: the tenant.',
    ),
  concurrency: z
    .strictObject({
      key: keySchema.describe('Key that the limit counts by, 1 to 256 characters.'),
      limit: concurrencyLimitSchema.describe('Maximum number of directives in flight, 1 to 10,000.'),
    })
    .optional()
    .describe('Limit of directives in flight in the lane that share a key. Default: none.'),
  rate: z
    .strictObject({
      key: keySchema.describe('Key that the limit counts by, 1 to 256 characters.'),
      max: rateMaxSchema.describe('Maximum number of starts per interval, 1 to 1,000,000.'),
      per_ms: ratePerMsSchema.describe('Length of the interval in milliseconds, 1 to 86,400,000 (one day).'),
    })
    .optional()
    .describe('Limit of directives started per interval in the lane that share a key. Default: none.'),
};

/** Flow control fields of a directive. */
export type FlowFields = z.output<z.ZodObject<typeof flowFields>>;

/** Those that are there; null: none. */
export function flowFieldsOf({ priority, fairness_key, concurrency, rate }: FlowFields): FlowFields | null {
  const given = {
    ...(priority === undefined ? {} : { priority }),
    ...(fairness_key === undefined ? {} : { fairness_key }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(rate === undefined ? {} : { rate }),
  };
  return Object.keys(given).length === 0 ? null : given;
}

/** Conditions of a flow control rule; null: every directive. */
export interface FlowMatch {
  readonly tenant: string | null;
  readonly type: string | null;
  /** Pattern with the wildcard `*`. */
  readonly lane: string | null;
  readonly tool: string | null;
  readonly tag: string | null;
}

/** `by`: paths into the directive; those with the same values there share the limit. Empty: all share it. */
export interface RuleConcurrency {
  readonly by: readonly string[];
  readonly limit: number;
}

/** Rate limit of a rule. */
export interface RuleRate {
  readonly by: readonly string[];
  readonly max: number;
  readonly perMs: number;
}

/** Rule of flow control. */
export interface FlowRule {
  readonly name: string;
  readonly match: FlowMatch;
  readonly concurrency: RuleConcurrency | null;
  readonly rate: RuleRate | null;
  /** null: as its caller says. */
  readonly priority: number | null;
}

/** Flow control of the configuration. */
export interface FlowSettings {
  /** Patterns of lanes whose directives all take turns. */
  readonly lanes: readonly string[];
  /** Weights of tenants; those that are not named have 1. */
  readonly weights: ReadonlyMap<string, number>;
  readonly rules: readonly FlowRule[];
}

/** Settings without flow control. */
export const NO_FLOW: FlowSettings = { lanes: [], weights: new Map(), rules: [] };

/** Maximum number of limits of one directive; a caller names at most two of them. */
export const MOST_TICKET_LIMITS = 8;
/** Maximum number of limits of all rules that apply to a directive. */
export const MOST_RULE_LIMITS = 6;

/** Limit by key that applies to a directive. */
export interface TicketLimit {
  /** Name in Redis: 22 characters of base64url. */
  readonly name: string;
  /** For people, without control characters. */
  readonly label: string;
  readonly concurrency?: number;
  readonly rate?: { readonly max: number; readonly per_ms: number };
  /** Other tenants may share it: how full it is, is not for the eyes of one. */
  readonly shared?: true;
}

/** With what a directive enters the gate of its lane. Decided when it is accepted, and kept with it. */
export interface Ticket {
  /** Fairness group: `<tenant>`, or `<tenant>~<hash of the key>`. */
  readonly turn: string;
  /** The share of `turn` among those that wait, 1 to 1000. */
  readonly weight: number;
  readonly priority: number;
  /** The rule that fixes the priority; absent: it may be changed while it waits. */
  readonly fixed_by?: string;
  readonly limits: readonly TicketLimit[];
}

/** As kept with what was accepted. */
export interface Tickets {
  /** In its lane; absent: it is enqueued at once. */
  readonly ticket?: Ticket;
  /** In the lanes of its other models, where it differs from `ticket`. */
  readonly tickets?: Readonly<Record<string, Ticket | null>>;
}

/**
 * Wait of a directive in the gate of its lane. `before`: number of directives ahead in its own line. `name`: the limit
 * in its ticket.
 */
export type GateWait =
  | { readonly kind: 'none' | 'passed' | 'running' }
  | { readonly kind: 'later'; readonly untilAt: number }
  | { readonly kind: 'turn'; readonly before: number }
  | {
      readonly kind: 'limit';
      readonly name: string;
      readonly running: number;
      readonly limit: number;
      readonly before: number;
    }
  | { readonly kind: 'rate'; readonly name: string; readonly untilAt: number; readonly before: number };
