// The notices of an installation: its endpoints, and those that its rules notify of ends and of questions to people.
// Never holds an address or a secret of the operator.
import type { OpenApproval } from '../run/approval-listing.ts';
import type { WebhookTarget } from './webhook.ts';
import type { EndStatusWord } from './webhook-event.ts';

/** Name of runs among the types of directives in rules. */
export const RUN_TYPE = 'run';

/** Facts of an end that rules match. */
export interface EndFacts {
  tenant: string;
  /** The type of the directive; of a run `RUN_TYPE`. */
  type: string;
  status: EndStatusWord;
  /** Agent of a run; null: it is a directive. */
  agent: string | null;
  lane: string | null;
}

/** When an endpoint is notified of an open question to a person. */
export interface AskRule {
  endpoint: string;
  /** Time from the question to the first notice, milliseconds. */
  afterMs: number;
  /** Time from one notice to the next one, milliseconds; null: there is only one. */
  repeatMs: number | null;
}

/** How one receiver gets its deliveries. */
export interface Sending {
  max_retries: number;
  retry_backoff_ms: number;
  max_backoff_ms: number;
  /** The whole time from the end to the last attempt. */
  deadline_ms: number;
  /** The most bytes of a result in an event. */
  payloadBytes: number;
}

/** Notifications of ends that an installation sends. */
export interface EndNotices {
  /** Fault of a target that a caller of the tenant names; null: none. */
  fault(target: WebhookTarget, tenant: string): string | null;
  /** Whether some rule may notify of such an end, whatever its status. */
  concerns(facts: Pick<EndFacts, 'tenant' | 'type' | 'agent'>): boolean;
  /** The endpoints that the rules name. */
  matching(facts: EndFacts): readonly string[];
  sendingTo(target: WebhookTarget): Sending;
  /** Whether some rule may notify of questions to people in a tenant. */
  asks(tenant: string): boolean;
  /** The rules that an open question fits. */
  asked(tenant: string, ask: Pick<OpenApproval, 'kind' | 'agent' | 'tool'>): readonly AskRule[];
  /** Address of the service in events, without a slash at its end; empty: events hold paths alone. */
  publicUrl: string;
}

/** Default settings of deliveries. */
export const DEFAULT_SENDING: Sending = {
  max_retries: 12,
  retry_backoff_ms: 5_000,
  max_backoff_ms: 3_600_000,
  deadline_ms: 86_400_000,
  payloadBytes: 32_768,
};

/** Settings of a program without a configuration: the service validates endpoints and addresses. */
export const UNKNOWN_END_NOTICES: EndNotices = {
  fault: (target) =>
    typeof target === 'string' ? null : 'addresses are not accepted here: name an endpoint',
  concerns: () => false,
  matching: () => [],
  sendingTo: () => DEFAULT_SENDING,
  asks: () => false,
  asked: () => [],
  publicUrl: '',
};
