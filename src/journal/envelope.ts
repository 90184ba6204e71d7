// What is stored of an accepted directive: its content, and the trace it belongs to.
// Must never hold anything that two submissions of the same directive may differ in, beside the trace.
import type { Directive } from '../contract/directive.ts';

export interface Envelope {
  directive: Directive;
  traceparent: string;
}

export function encodeEnvelope(envelope: Envelope): string {
  return JSON.stringify(envelope);
}

/** Reads an envelope this service wrote; it was validated when it was accepted. */
export function decodeEnvelope(json: string): Envelope {
  return JSON.parse(json) as Envelope;
}
