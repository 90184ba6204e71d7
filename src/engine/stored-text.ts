// Parses what the journal holds of a run as text: its spec, its document, its unread signals.
// Must never throw, nor pass on a document that no turn could begin from.
import { isObject } from '../contract/json-object.ts';
import type { Signal } from '../contract/signal.ts';
import { isLater } from '../journal/format.ts';
import type { RunDocument, RunSpec } from './transition.ts';

export type StoredSpec = Omit<RunSpec, 'started_at'>;

export interface RunTexts {
  requestId: string;
  agent: string;
  version: number;
  spec: string;
  document: string;
  /** null: it is no longer in the log. */
  signals: readonly (string | null)[];
}

/** `fault`: what cannot be read; then everything is empty, except for the readable part of the spec. */
export interface ReadTexts {
  spec: StoredSpec;
  document: RunDocument | null;
  signals: Signal[];
  fault: string | null;
  /** It is of a later version: nothing of it is judged, and `document` is null. */
  later: boolean;
}

export function readTexts(texts: RunTexts): ReadTexts {
  const spec = json(texts.spec);
  const document = texts.document === '' ? null : json(texts.document);
  const signals = texts.signals.map((text) => (text === null ? null : json(text)));
  const later = isLater(spec) || isLater(document);
  const fault = later ? null : faultOf(texts, spec, document, signals);
  if (later || fault !== null)
    return { spec: isSpec(spec) ? spec : identity(texts), document: null, signals: [], fault, later };
  const left = signals.filter((signal) => signal !== null) as Signal[];
  return { spec: spec as StoredSpec, document: document as RunDocument | null, signals: left, fault, later };
}

function faultOf(
  { version }: RunTexts,
  spec: unknown,
  document: unknown,
  signals: readonly unknown[],
): string | null {
  if (!isSpec(spec)) return 'what it was started with is lost or damaged';
  if (document === null && version > 0) return 'its document is lost';
  if (document !== null && !isDocument(document)) return 'its document is damaged';
  return signals.includes(undefined) ? 'a signal in its log is damaged' : null;
}

/** undefined: not JSON. */
function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isSpec(value: unknown): value is StoredSpec {
  if (!isObject(value)) return false;
  const { request_id, run_id, agent, query, messages, overrides, conversation_id, parent } = value;
  const texts = [request_id, run_id, agent, query].every((text) => typeof text === 'string');
  const conversation = conversation_id === null || typeof conversation_id === 'string';
  return texts && conversation && Array.isArray(messages) && isObject(overrides) && isParent(parent);
}

function isParent(value: unknown): boolean {
  return value === null || (isObject(value) && typeof value['request_id'] === 'string');
}

/** Checks only what the shell reads; faults beyond that end the run in the core, under its guard. */
function isDocument(value: unknown): value is RunDocument {
  if (!isObject(value)) return false;
  const { status, setup, wake_at, outbox, inner } = value;
  const agent = isObject(setup) && isObject(setup['agent']) ? setup['agent'] : {};
  const isTime = wake_at === null || typeof wake_at === 'number';
  return typeof status === 'string' && isTime && isOutbox(outbox) && isObject(inner) && isSet(agent);
}

function isSet({ limits, policies }: Record<string, unknown>): boolean {
  return isObject(limits) && isObject(policies);
}

function isOutbox(value: unknown): boolean {
  return Array.isArray(value) && value.every((entry) => isObject(entry) && typeof entry['kind'] === 'string');
}

/** What is known of a run whose spec is lost: no parent, no conversation. */
function identity({ requestId, agent }: RunTexts): StoredSpec {
  return {
    request_id: requestId,
    run_id: requestId,
    agent,
    query: '',
    messages: [],
    overrides: {},
    metadata: {},
    conversation_id: null,
    parent: null,
  };
}
