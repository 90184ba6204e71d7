// What is stored of an accepted directive: its content, the lane it was given, and the trace it belongs to.
// Must never be changed after acceptance.
import type { Directive } from '../contract/directive.ts';

export interface Envelope {
  directive: Directive;
  /** null for directives that ended when they were accepted. */
  lane: string | null;
  /** `provider:model` names that may serve it, first choice first; absent for directives without a model. */
  models?: readonly string[];
  traceparent: string;
}

export function encodeEnvelope(envelope: Envelope): string {
  return JSON.stringify(envelope);
}

/** Reads an envelope this service wrote; it was validated when it was accepted. */
export function decodeEnvelope(json: string): Envelope {
  return JSON.parse(json) as Envelope;
}
