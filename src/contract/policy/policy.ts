// Decisions about calls by the rules of an operator: the rules, what their expressions read, and what is decided.

/** The variable of counters. */
export const COUNTERS = 'counters';

/** Variables of the expressions of rules, with their types. */
export const POLICY_VARIABLES = {
  kind: 'string',
  tool: 'string',
  server: 'string',
  model: 'string',
  models: 'list<string>',
  args: 'dyn',
  args_readable: 'bool',
  tenant: 'string',
  caller: 'string',
  agent: 'string',
  request: 'string',
  time: 'google.protobuf.Timestamp',
  [COUNTERS]: 'map<string, double>',
} as const;

/** Scopes of a counter. */
export const SCOPES = ['all', 'tenant', 'caller', 'agent', 'request'] as const;

/** Scope of a counter. */
export type CounterScope = (typeof SCOPES)[number];

/** Decision about a call. */
export type PolicyDecision = 'allow' | 'deny' | 'ask';

/** `other`: another caller than the one that has submitted the call. */
export type Approver = 'any' | 'other';

/** Rule of the configuration; expressions are texts. */
export interface PolicyRule {
  readonly name: string;
  readonly when: string;
  readonly decision: PolicyDecision | 'limit';
  readonly reason: string | null;
  /** null: it is no limit. */
  readonly limit: {
    readonly counter: string;
    readonly atMost: number;
    readonly exceeded: 'deny' | 'ask';
  } | null;
  readonly onError: 'deny' | 'ask';
  /** Who may approve a call about which it asks. */
  readonly approver: Approver;
  /** How long a call waits for a person, milliseconds. */
  readonly askMs: number;
}

/** Counter of the configuration; expressions are texts. */
export interface PolicyCounter {
  readonly name: string;
  readonly of: string;
  /** null: 1 for each call. */
  readonly sum: string | null;
  readonly per: CounterScope;
}

/** Rules and counters of the configuration. */
export interface PolicySettings {
  readonly rules: readonly PolicyRule[];
  readonly counters: readonly PolicyCounter[];
  readonly default: PolicyDecision;
}

/** Call to decide about. */
export interface RuledCall {
  /** Type of the directive, such as `tool_exec`. */
  readonly kind: string;
  /** `server.tool`; empty for what is no tool call. */
  readonly tool: string;
  readonly server: string;
  /** Names of models that may answer, `provider:model`, first choice first; empty for what is no model call. */
  readonly models: readonly string[];
  /** null: encrypted, or too large to be read. */
  readonly args: Readonly<Record<string, unknown>> | null;
  readonly tenant: string;
  /** Id of the API key, or subject of the token; empty: none. */
  readonly caller: string;
  /** Name of the agent whose run makes the call; empty: none. */
  readonly agent: string;
  readonly request: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly at: number;
}

/** Decision with its rule. */
export interface Ruling {
  readonly decision: PolicyDecision;
  /** Name of the rule; null: the default. */
  readonly rule: string | null;
  readonly reason: string | null;
  /** Why the rule could not be evaluated; absent: it was. */
  readonly failed?: string;
  readonly askMs: number;
  /** Who may approve the call. Absent: any caller that may decide. */
  readonly approver?: Approver;
}
