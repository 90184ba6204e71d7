/** What the chaos test reads over HTTP, by its own reading of the published contract.
 *  It must never import a type of the service: a change there must be noticed here. */

export interface WireError {
  readonly type: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly retryable: boolean;
}

export type WireResult =
  | { readonly ok: true; readonly payload: unknown }
  | { readonly ok: false; readonly error: WireError };

export interface WireSignal {
  readonly specversion: string;
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly subject: string;
  readonly time: string;
  readonly traceparent?: string;
  readonly causationid?: string;
  readonly sequence: number;
  readonly attempt?: number;
  readonly data: Readonly<Record<string, unknown>> & {
    readonly call_id?: string;
    readonly result?: WireResult;
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
}

export interface WireDirective {
  readonly id: string;
  readonly type: string;
  readonly status: string;
  readonly attempts: number;
  readonly failures: number;
  readonly redeliveries: number;
  readonly accepted_at: string;
  readonly ended_at: string | null;
  readonly deadline_at: string;
  /** What its tool asks now. */
  readonly inputs?: readonly { readonly input_id: string }[];
}

export interface WireRequest {
  readonly request_id: string;
  readonly status: 'open' | 'closed';
  readonly sequence: number;
  readonly open: number;
  readonly closed_at: string | null;
  readonly directives: readonly WireDirective[];
  readonly run?: WireRun;
}

export interface WireSubmission {
  readonly request_id: string;
  readonly directives: readonly {
    readonly id: string;
    readonly status: 'accepted' | 'existing';
    readonly result?: WireSignal;
  }[];
}

export interface WireCancellation {
  readonly directives: readonly {
    readonly id: string;
    readonly status: 'cancelled' | 'requested' | 'ended';
    readonly result?: WireSignal;
  }[];
}

export interface WireSignalPage {
  readonly signals: readonly WireSignal[];
  readonly last_sequence: number;
  readonly closed: boolean;
}

export interface WireListedRequest {
  readonly archived?: boolean;
  readonly request_id: string;
  readonly status: string;
  readonly closed_at: string | null;
  readonly directives: number;
  readonly open: number;
  readonly types: readonly string[];
  readonly error_types: readonly string[];
  readonly waiting_for: readonly string[];
}

export interface WireListing {
  readonly requests: readonly WireListedRequest[];
  readonly next: string | null;
}

export interface WireLanes {
  readonly lanes: readonly {
    readonly name: string;
    readonly waiting: number;
    readonly active: number;
    readonly delayed: number;
  }[];
}

export interface WireBudgets {
  readonly budgets: readonly { readonly name: string; readonly tokens: { readonly used: number } }[];
}

export interface WireFiring {
  readonly scheduled_at: string;
  readonly at: string;
  readonly outcome: string;
  readonly reason: string | null;
  readonly request_id: string | null;
  /** Of `missed`: how many, and the last one. */
  readonly instants: number;
  readonly until: string | null;
}

export interface WireSchedule {
  readonly id: string;
  readonly status: string;
  readonly created_at: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly history: readonly WireFiring[];
}

/** The signals that finally answer a directive. */
export const TERMINAL_TYPES: ReadonlySet<string> = new Set([
  'ai.tool.result',
  'ai.llm.response',
  'ai.embed.result',
  'ai.request.error',
]);

export interface WireMessage {
  readonly role: string;
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly name: string;
    readonly arguments: unknown;
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
  readonly is_error?: boolean;
}

export interface WireRun {
  readonly status: string;
  readonly iterations: number;
  readonly tool_calls: number;
  readonly usage: Readonly<Record<string, number>>;
  readonly result: unknown;
  readonly error: { readonly type?: string; readonly details?: Readonly<Record<string, unknown>> } | null;
  readonly termination_reason: string | null;
  readonly unread_inputs?: readonly string[];
  readonly waiting_for: readonly unknown[];
  readonly messages: readonly WireMessage[];
  readonly started_at: string | null;
  readonly ended_at: string | null;
}
