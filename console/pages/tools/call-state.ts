/** One call as its signals tell it: waiting, running, how far, and how it ended.
 *  It must never take a signal of another directive for one of the call. */
import { isObject } from '../../../src/contract/json/json-object.ts';

export interface SeenSignal {
  readonly type: string;
  readonly time: string;
  readonly data: unknown;
}

export interface CallState {
  readonly status: 'queued' | 'waiting' | 'running' | 'succeeded' | 'failed' | 'cancelled';
  /** Why it waits, or what the tool last said of its progress; '' = nothing. */
  readonly message: string;
  /** null: the tool has said nothing. */
  readonly progress: { readonly done: number; readonly total: number | null } | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** Duration of the last attempt, milliseconds, by the clock of its worker; null: it says none. */
  readonly durationMs: number | null;
  /** Open questions of the tool. */
  readonly questions: number;
  /** undefined: it has not ended in a success. */
  readonly payload: unknown;
  readonly error: CallError | null;
}

export interface CallError {
  readonly type: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

const FIRST: CallState = {
  status: 'queued',
  message: '',
  progress: null,
  startedAt: null,
  endedAt: null,
  durationMs: null,
  questions: 0,
  payload: undefined,
  error: null,
};

export function callState(signals: readonly SeenSignal[], callId: string): CallState {
  let state = FIRST;
  for (const signal of signals) {
    const { data } = signal;
    if (isObject(data) && data['call_id'] === callId) state = after(state, signal, data);
  }
  return state;
}

function after(state: CallState, { type, time }: SeenSignal, data: Record<string, unknown>): CallState {
  switch (type) {
    case 'ai.tool.started':
      return { ...state, status: 'running', message: '', startedAt: state.startedAt ?? time };
    case 'ai.tool.progress':
      return { ...state, status: 'running', message: textOf(data['message']), progress: progressOf(data) };
    case 'directive.waiting':
      return { ...state, status: 'waiting', message: textOf(data['message']) };
    case 'directive.retry_scheduled':
      return { ...state, status: 'waiting', message: 'it failed and is tried again', progress: null };
    case 'ai.tool.input_requested':
      return { ...state, status: 'waiting', questions: state.questions + 1 };
    case 'ai.tool.input_answered':
      return { ...state, status: 'running', message: '', questions: Math.max(0, state.questions - 1) };
    case 'ai.tool.result':
      return { ...ended(state, time, data['result']), durationMs: durationOf(data['metadata']) };
    default:
      return state;
  }
}

function ended(state: CallState, time: string, result: unknown): CallState {
  const over = { ...state, message: '', progress: null, endedAt: time, questions: 0 };
  if (!isObject(result)) return { ...over, status: 'failed', error: errorOf(null) };
  if (result['ok'] === true) return { ...over, status: 'succeeded', payload: result['payload'] ?? null };
  const error = errorOf(result['error']);
  return { ...over, status: error.type === 'cancelled' ? 'cancelled' : 'failed', error };
}

function durationOf(metadata: unknown): number | null {
  const ms = isObject(metadata) ? metadata['duration_ms'] : null;
  return typeof ms === 'number' ? ms : null;
}

function errorOf(error: unknown): CallError {
  const { type, message, details } = isObject(error) ? error : {};
  return {
    type: textOf(type) || 'unknown',
    message: textOf(message),
    details: isObject(details) ? details : {},
  };
}

function progressOf({ progress, total }: Record<string, unknown>): CallState['progress'] {
  if (typeof progress !== 'number') return null;
  return { done: progress, total: typeof total === 'number' && total > 0 ? total : null };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
