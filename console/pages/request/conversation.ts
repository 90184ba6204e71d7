/** The signals of a request as a conversation: what was asked, each step of a model, each call of a tool, children, the end.
 *  It must never join the output of two attempts: what a retry has voided is kept apart. */
import {
  type FoldedCall,
  type FoldedCalls,
  NO_CALLS,
  readDelta,
} from '../../../src/contract/model/delta-fold.ts';
import { isObject, ownMember } from '../../../src/contract/json/json-object.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';

export interface StepError {
  readonly type: string;
  readonly message: string;
}

interface Placed {
  /** Unique, and the same as long as the entry exists. */
  readonly key: string;
  readonly at: string;
}

export interface Said extends Placed {
  readonly kind: 'said';
  readonly who: string;
  readonly text: string;
}

export interface ModelStep extends Placed {
  readonly kind: 'step';
  readonly callId: string;
  readonly call: FoldedCall;
  /** Output of attempts that were given up, oldest first. */
  readonly voids: readonly FoldedCall[];
  readonly model: string | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  /** US dollars; null: unknown. */
  readonly cost: number | null;
  readonly error: StepError | null;
  readonly endedAt: string | null;
}

export interface ToolCall extends Placed {
  readonly kind: 'tool';
  readonly callId: string;
  readonly name: string;
  readonly arguments: unknown;
  readonly progress: string | null;
  /** Who decided what about it. */
  readonly decision: string | null;
  readonly isAsked: boolean;
  /** It waits for a decision. */
  readonly isHeld: boolean;
  readonly result: { readonly payload: unknown } | null;
  /** Call whose recorded result answered it, in a fork; null: it was called. */
  readonly recorded: { readonly request_id: string; readonly call_id: string } | null;
  readonly error: StepError | null;
  readonly endedAt: string | null;
}

export interface Note extends Placed {
  readonly kind: 'note';
  readonly tone: 'plain' | 'wait' | 'bad' | 'ok';
  readonly text: string;
  /** The child request that it is about. */
  readonly child?: string;
}

export type Entry = Said | ModelStep | ToolCall | Note;

export interface Conversation {
  /** In the order of their beginning. Entries are replaced, never changed. */
  readonly entries: readonly Entry[];
  /** Takes the signals that follow; each once. */
  take(signals: readonly Signal[], from: number): void;
}

interface State {
  entries: Entry[];
  places: Map<string, number>;
  folded: Map<string, FoldedCalls>;
}

export function createConversation(): Conversation {
  const state: State = { entries: [], places: new Map(), folded: new Map() };
  return {
    entries: state.entries,
    take(signals, from) {
      for (let index = from; index < signals.length; index += 1) {
        const signal = signals[index];
        if (signal !== undefined) takeOne(state, signal);
      }
    },
  };
}

function takeOne(state: State, signal: Signal): void {
  if (signal.type === 'ai.llm.delta' || signal.type === 'ai.llm.response') takeModel(state, signal);
  else if (isOfTool(signal)) takeTool(state, signal);
  else takeOther(state, signal);
}

type Model = Extract<Signal, { type: 'ai.llm.delta' | 'ai.llm.response' }>;

function takeModel(state: State, signal: Model): void {
  const callId = signal.data.call_id;
  // A map of one: the fold copies its map for each signal.
  const { calls, events } = readDelta(state.folded.get(callId) ?? NO_CALLS, signal);
  state.folded.set(callId, calls);
  const call = calls.get(callId);
  if (call === undefined) return;
  const old = entryOf(state, `step ${callId}`) as ModelStep | undefined;
  const voids = events.flatMap((event) => (event.kind === 'restart' ? [event.void] : []));
  const before = old ?? newStep(signal);
  const ended = signal.type === 'ai.llm.response' ? endOf(signal) : {};
  put(state, {
    ...before,
    ...ended,
    call,
    voids: voids.length === 0 ? before.voids : [...before.voids, ...voids],
  });
}

function newStep({ time: at, data }: Model): Omit<ModelStep, 'call'> {
  return {
    kind: 'step',
    key: `step ${data.call_id}`,
    at,
    callId: data.call_id,
    voids: [],
    model: null,
    inputTokens: null,
    outputTokens: null,
    cost: null,
    error: null,
    endedAt: null,
  };
}

function endOf({ time: endedAt, data }: Extract<Model, { type: 'ai.llm.response' }>) {
  const { usage, result, metadata } = data;
  const cost = metadata['cost'];
  const model = data.model ?? metadata['model'];
  return {
    endedAt,
    inputTokens: usage?.input_tokens ?? null,
    outputTokens: usage?.output_tokens ?? null,
    cost: typeof cost === 'number' ? cost : null,
    model: typeof model === 'string' ? model : null,
    error: result.ok ? null : { type: result.error.type, message: result.error.message },
  };
}

type Tool = Extract<Signal, { type: `ai.tool.${string}` }>;

function isOfTool(signal: Signal): signal is Tool {
  return TOOL_TYPES.has(signal.type);
}

const TOOL_TYPES: ReadonlySet<string> = new Set<Tool['type']>([
  'ai.tool.started',
  'ai.tool.progress',
  'ai.tool.approval_requested',
  'ai.tool.approval_decided',
  'ai.tool.input_requested',
  'ai.tool.input_answered',
  'ai.tool.result',
]);

function takeTool(state: State, signal: Tool): void {
  const key = `tool ${signal.data.call_id}`;
  const before = (entryOf(state, key) as ToolCall | undefined) ?? newCall(key, signal);
  put(state, { ...before, ...changeOf(signal) });
}

function newCall(key: string, { time: at, data }: Tool): ToolCall {
  return {
    kind: 'tool',
    key,
    at,
    callId: data.call_id,
    name: 'tool_name' in data ? data.tool_name : data.call_id,
    arguments: undefined,
    progress: null,
    decision: null,
    isAsked: false,
    isHeld: false,
    result: null,
    recorded: null,
    error: null,
    endedAt: null,
  };
}

function changeOf(signal: Tool): Partial<ToolCall> {
  switch (signal.type) {
    case 'ai.tool.started':
      return { isHeld: false, ...argumentsOf(signal.data) };
    case 'ai.tool.approval_requested':
      return { isHeld: true, ...argumentsOf(signal.data) };
    case 'ai.tool.progress': {
      const { progress, total, message } = signal.data;
      return {
        progress: `${progress}${total === undefined ? '' : ` of ${total}`}${message ? ` · ${message}` : ''}`,
      };
    }
    case 'ai.tool.approval_decided':
      return decided(signal.data);
    case 'ai.tool.input_requested':
      return { isAsked: true };
    case 'ai.tool.input_answered':
      return { isAsked: false };
    case 'ai.tool.result':
      return resultOf(signal);
  }
}

function argumentsOf({ arguments: args }: { arguments?: unknown }): Partial<ToolCall> {
  return args === undefined ? {} : { arguments: args };
}

function decided(data: Extract<Tool, { type: 'ai.tool.approval_decided' }>['data']): Partial<ToolCall> {
  const { decision, by, reason, arguments: changed } = data;
  const what =
    decision === 'approve'
      ? changed === undefined
        ? 'approved'
        : 'approved with other arguments'
      : 'denied';
  const text = `${what}${by === undefined ? '' : ` by ${by}`}${reason === undefined ? '' : `: ${reason}`}`;
  return { isHeld: false, decision: text, ...(changed === undefined ? {} : { arguments: changed }) };
}

function resultOf({ time: endedAt, data }: Extract<Tool, { type: 'ai.tool.result' }>): Partial<ToolCall> {
  const { result } = data;
  const recorded = recordedIn(data.metadata);
  if (!result.ok)
    return { endedAt, recorded, error: { type: result.error.type, message: result.error.message } };
  return { endedAt, recorded, result: { payload: result.payload } };
}

function recordedIn(metadata: Readonly<Record<string, unknown>>): ToolCall['recorded'] {
  const from = metadata['from_record'];
  if (!isObject(from)) return null;
  const { request_id: request, call_id: call } = from;
  return typeof request === 'string' && typeof call === 'string'
    ? { request_id: request, call_id: call }
    : null;
}

function takeOther(state: State, signal: Signal): void {
  const { time: at, sequence } = signal;
  const key = `${sequence}`;
  const said = saidOf(signal);
  if (said !== null) return put(state, { kind: 'said', key, at, ...said });
  const note = noteOf(signal);
  if (note !== null) put(state, { kind: 'note', key, at, ...note });
}

function saidOf(signal: Signal): Pick<Said, 'who' | 'text'> | null {
  if (signal.type === 'ai.request.started') return { who: 'asked', text: signal.data.query };
  if (signal.type === 'ai.request.input')
    return { who: signal.data.input_source ?? 'said', text: signal.data.content };
  return null;
}

type NoteText = Pick<Note, 'tone' | 'text' | 'child'>;
type DataOf<Type extends Signal['type']> = Extract<Signal, { type: Type }>['data'];

const NOTES: { readonly [Type in Signal['type']]?: (data: DataOf<Type>) => NoteText } = {
  'directive.retry_scheduled': ({ call_id: id, error, delay_ms: delayMs }) => {
    return { tone: 'wait', text: `${id}: ${error.type}, tried again in ${delayMs} ms` };
  },
  'directive.waiting': ({ call_id: id, message }) => ({ tone: 'wait', text: `${id}: ${message}` }),
  'agent.child.started': ({ tag, agent, child_request_id: child }) => {
    return { tone: 'plain', text: `child run ${tag} of ${agent}`, child };
  },
  'agent.child.exit': ({ tag, status, child_request_id: child }) => {
    return { tone: 'plain', text: `child run ${tag}: ${status}`, child };
  },
  'ai.request.cancel_requested': ({ reason }) => {
    return { tone: 'wait', text: `cancellation asked${reason === null ? '' : `: ${reason}`}` };
  },
  'ai.request.completed': ({ termination_reason: why }) => {
    return { tone: 'ok', text: `completed${why === 'length' ? ' (the answer was cut off)' : ''}` };
  },
  'ai.request.failed': ({ error }) => ({ tone: 'bad', text: `failed: ${anyError(error)}` }),
  'ai.request.error': ({ reason, message }) => ({ tone: 'bad', text: `${reason}: ${message}` }),
};

function noteOf({ type, data }: Signal): NoteText | null {
  const read = ownMember<unknown>(NOTES, type) as ((data: unknown) => NoteText) | undefined;
  return read === undefined ? null : read(data);
}

function anyError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { type, message } = error as { type?: unknown; message?: unknown };
  return [type, message].filter((part) => typeof part === 'string').join(': ') || JSON.stringify(error);
}

function entryOf({ entries, places }: State, key: string): Entry | undefined {
  const place = places.get(key);
  return place === undefined ? undefined : entries[place];
}

function put({ entries, places }: State, entry: Entry): void {
  const place = places.get(entry.key);
  if (place !== undefined) {
    entries[place] = entry;
    return;
  }
  places.set(entry.key, entries.length);
  entries.push(entry);
}
