// Parses what the journal holds of a run as text: its spec, its document, its unread signals.
// Must never throw, nor pass on a document that no turn could begin from.
import { ownId } from '../../contract/access/tenant.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import { isLater } from '../../store/format.ts';
import type { RunDocument, RunSetup, RunSpec } from './transition.ts';
import { readSignal } from '../../store/log/stored-signal.ts';

export type StoredSpec = Omit<RunSpec, 'started_at'>;

/** As the first turn writes it: what no later turn changes is written once. */
type WrittenSpec = StoredSpec & { setup?: RunSetup };

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
  /** The spec has the setup. */
  hasSetup: boolean;
}

export function readTexts(texts: RunTexts): ReadTexts {
  const { spec, setup } = partsOf(json(texts.spec));
  const document = withSetup(texts.document === '' ? null : json(texts.document), setup);
  const hasSetup = setup !== undefined;
  const signals = texts.signals.map((text) => (text === null ? null : signal(texts.requestId, text)));
  const later = isLater(spec) || isLater(document);
  const fault = later ? null : faultOf(texts, spec, document, signals);
  if (later || fault !== null)
    return {
      spec: isSpec(spec) ? spec : identity(texts),
      document: null,
      signals: [],
      fault,
      later,
      hasSetup,
    };
  const left = signals.filter((signal) => signal !== null) as Signal[];
  // The content of another submission may have taken the place of its own.
  const own = { request_id: ownId(texts.requestId), run_id: ownId(texts.requestId) };
  const read = {
    // @guard once-run-ids
    spec: { ...(spec as StoredSpec), ...own },
    document: document as RunDocument | null,
    hasSetup,
  };
  return { ...read, signals: left, fault, later };
}

function partsOf(written: unknown): { spec: unknown; setup?: RunSetup | undefined } {
  if (!isObject(written)) return { spec: written };
  const { setup, ...spec } = written as unknown as WrittenSpec;
  return { spec, setup };
}

function withSetup(document: unknown, setup: RunSetup | undefined): unknown {
  return isObject(document) && setup !== undefined ? { ...document, setup } : document;
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

/** undefined: it is damaged. */
function signal(requestId: string, text: string): unknown {
  try {
    return readSignal(requestId, text);
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

/** The known identity of a run whose spec is lost: no parent, no conversation. */
function identity({ requestId, agent }: RunTexts): StoredSpec {
  return {
    request_id: ownId(requestId),
    run_id: ownId(requestId),
    agent,
    query: '',
    messages: [],
    overrides: {},
    metadata: {},
    conversation_id: null,
    parent: null,
  };
}
