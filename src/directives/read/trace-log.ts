// The part of a request's log that its trace needs: names, errors, waits, approvals. Never reads more of a long log
// than its limits, nor hides that it did.
import { ownMember } from '../../contract/json/json-object.ts';
import { isTerminalSignal, type Signal } from '../../contract/signal/signal.ts';
import type { LogPiece, SignalLog } from '../../store/log/signal-log.ts';

/** How a directive ended, as its terminal signal says. */
export interface LoggedEnd {
  /** The type of its error; null: it succeeded. */
  error: string | null;
  /** The model that answered or failed last; null: none. */
  model: string | null;
}

/** Why an attempt was followed by another one. */
export interface LoggedRetry extends LoggedEnd {
  error: string;
}

export interface LoggedEvent {
  sequence: number;
  /** RFC 3339, by the clock of who wrote it. */
  at: string;
  type: string;
  /** The directive or the approval that it is about; null: the request. */
  callId: string | null;
  message: string;
  until: string | null;
  /** Why it waits; null: it does not. */
  reason: string | null;
}

export interface LogFacts {
  /** Directive → its tool. */
  tools: Map<string, string>;
  ends: Map<string, LoggedEnd>;
  /** Retries by `retryKey`. */
  retries: Map<string, LoggedRetry>;
  events: LoggedEvent[];
  /** Beyond the most that are kept. */
  eventsLeftOut: number;
  /** Child request → the sequence of the signal that says it was started. */
  children: Map<string, number>;
  /** The last sequence that was looked at. */
  read: number;
}

const PIECE = { limit: 2_000, bytes: 1_048_576 };
const MOST_PIECES = 16;
const MOST_EVENTS = 2_000;
const LONGEST_MESSAGE = 512;

export function retryKey(id: string, attempt: number): string {
  return `${id}/${attempt}`;
}

/** Most of a log is text as it comes; it is passed over. */
export async function readLogFacts(log: Pick<SignalLog, 'read'>, requestId: string): Promise<LogFacts> {
  const facts = noFacts();
  for (let pieces = 0; pieces < MOST_PIECES; pieces += 1) {
    const { signals, more }: LogPiece = await log.read(requestId, facts.read, PIECE);
    for (const signal of signals) noteSignal(facts, signal);
    facts.read = signals.at(-1)?.sequence ?? facts.read;
    if (!more) break;
  }
  return facts;
}

export function noFacts(): LogFacts {
  return {
    tools: new Map(),
    ends: new Map(),
    retries: new Map(),
    events: [],
    eventsLeftOut: 0,
    children: new Map(),
    read: 0,
  };
}

export function noteSignal(facts: LogFacts, signal: Signal): void {
  if (isTerminalSignal(signal)) return noteEnd(facts, signal);
  const { type, data, sequence } = signal;
  if (type === 'directive.retry_scheduled') return noteRetry(facts, signal);
  if (type === 'ai.tool.started') facts.tools.set(data.call_id, data.tool_name);
  else if (type === 'agent.child.started') facts.children.set(data.child_request_id, sequence);
  else noteEvent(facts, signal);
}

function noteEnd(facts: LogFacts, { data }: Extract<Signal, { data: { metadata?: unknown } }>): void {
  const { call_id: id, tool_name: tool, result, metadata } = data as EndData;
  if (id === undefined) return;
  if (tool !== undefined) facts.tools.set(id, tool);
  const error = result?.ok === false ? textOr(result.error?.type, 'unknown') : null;
  facts.ends.set(id, { error, model: textOr(metadata?.['model'], null) });
}

/** As far as the terminal signals have it in common. */
interface EndData {
  call_id?: string;
  tool_name?: string;
  result?: { ok: boolean; error?: { type?: unknown } };
  metadata?: Record<string, unknown>;
}

type RetrySignal = Extract<Signal, { type: 'directive.retry_scheduled' }>;

function noteRetry({ retries }: LogFacts, { attempt = 1, data }: RetrySignal): void {
  const { call_id: id, error, metadata } = data;
  retries.set(retryKey(id, attempt), { error: error.type, model: textOr(metadata['model'], null) });
}

/** Message of an event by type; other types are no events of a trace. Texts of users and models are content. */
const MESSAGES: Readonly<Record<string, (data: Record<string, unknown>) => unknown>> = {
  'directive.waiting': ({ message }) => message,
  'directive.rejected': ({ reason }) => reason,
  'directive.ignored': ({ directive_type: type }) => type,
  'ai.tool.approval_requested': ({ tool_name: tool }) => tool,
  'ai.tool.approval_decided': ({ decision }) => decision,
  'ai.tool.input_requested': ({ tool_name: tool }) => tool,
  'ai.tool.input_answered': ({ action }) => action,
  'ai.request.input': ({ input_id: id }) => id,
  'ai.request.cancel_requested': ({ reason }) => reason,
  'agent.scheduled': ({ timer_id: id }) => id,
  'agent.child.exit': ({ tag, status }) => `${String(tag)} ${String(status)}`,
  'agent.parent.exit': ({ reason }) => reason,
  'agent.tier_changed': ({ tier }) => tier,
  'agent.phase_changed': ({ phase }) => phase,
  'agent.error': () => '',
};

function noteEvent(facts: LogFacts, { type, time: at, sequence, data }: Signal): void {
  const messageOf = ownMember(MESSAGES, type);
  if (messageOf === undefined) return;
  if (facts.events.length >= MOST_EVENTS) {
    facts.eventsLeftOut += 1;
    return;
  }
  const fields = data as Record<string, unknown>;
  const message = (textOr(messageOf(fields), null) ?? '').slice(0, LONGEST_MESSAGE);
  const until = textOr(fields['until'], null) ?? textOr(fields['deadline_at'], null);
  const reason = type === 'directive.waiting' ? textOr(fields['reason'], null) : null;
  facts.events.push({ sequence, at, type, callId: textOr(fields['call_id'], null), message, until, reason });
}

function textOr<F>(value: unknown, otherwise: F): string | F {
  return typeof value === 'string' ? value : otherwise;
}
