/** The questions of a call to a person, from its log: those of its tools, and approvals of an agent's calls. Bounded,
 *  and an answered question never counts as open. */
import type { Signal } from '../../../contract/signal/signal.ts';
import type { ToolQuestion } from '../../../contract/tool/tool-question.ts';

interface Asked {
  /** Names it among all that the call asks: `input:…` or `approval:…`. */
  readonly ref: string;
  /** The call of a tool that it is about. */
  readonly callId: string;
  readonly toolName: string;
  /** Sequence of its signal. */
  readonly sequence: number;
}

export interface InputQuestion extends Asked {
  readonly kind: 'input';
  /** The tool's own name of it; null: it has none. */
  readonly key: string | null;
  readonly question: ToolQuestion;
}

export interface ApprovalQuestion extends Asked {
  readonly kind: 'approval';
  readonly arguments: unknown;
  readonly reason: string;
  /** More budget for the run, instead of a tool call. */
  readonly isBudget: boolean;
}

export type CallQuestion = InputQuestion | ApprovalQuestion;

export interface CallQuestions {
  /** In the order of the log. null: nothing has changed. */
  hear(signal: Signal): 'asked' | 'ended' | null;
  /** Approvals first: no flood of questions of tools comes before them. */
  open(): readonly CallQuestion[];
  /** The sequence of the first that was beyond the limits; null: none. */
  skippedFrom(): number | null;
  /** How it ended, in words; null: it is open, or was not heard of. */
  endOf(ref: string): string | null;
}

/** Maximum number of open questions of each kind. Further ones are ignored: no person answers so many at once. */
const MOST_OPEN = 64;
const MOST_ENDED = 64;

function inputRef(inputId: string): string {
  return `input:${inputId}`;
}

function approvalRef(callId: string): string {
  return `approval:${callId}`;
}

/** null: it names nothing. */
export function parseRef(ref: string): { readonly kind: CallQuestion['kind']; readonly id: string } | null {
  const { kind, id } = /^(?<kind>input|approval):(?<id>.{1,300})$/s.exec(ref)?.groups ?? {};
  return id === undefined ? null : { kind: kind as CallQuestion['kind'], id };
}

export function callQuestions(): CallQuestions {
  const open = new Map<string, CallQuestion>();
  const ended = new Map<string, string>();

  let skippedFrom: number | null = null;
  const ofKind = (kind: CallQuestion['kind']) => [...open.values()].filter((each) => each.kind === kind);

  function ask(question: CallQuestion): boolean {
    if (ofKind(question.kind).length >= MOST_OPEN) {
      skippedFrom ??= question.sequence;
      return false;
    }
    open.set(question.ref, question);
    return true;
  }

  function end(ref: string, how: string): boolean {
    if (!open.delete(ref)) return false;
    const [oldest] = ended.keys();
    if (ended.size >= MOST_ENDED && oldest !== undefined) ended.delete(oldest);
    ended.set(ref, how);
    return true;
  }

  /** A call with a result needs no answer any more. */
  function endCall(callId: string): boolean {
    const its = [...open.values()].filter((question) => question.callId === callId);
    return its.map(({ ref }) => end(ref, 'is over: its call has ended')).includes(true);
  }

  function isEnd(signal: Signal): boolean {
    if (signal.type === 'ai.tool.result') return endCall(signal.data.call_id);
    const over = endIn(signal);
    return over !== null && end(...over);
  }

  return {
    hear(signal) {
      const question = questionIn(signal);
      if (question !== null) return ask(question) ? 'asked' : null;
      return isEnd(signal) ? 'ended' : null;
    },
    open: () => [...ofKind('approval'), ...ofKind('input')],
    skippedFrom: () => skippedFrom,
    endOf: (ref) => ended.get(ref) ?? null,
  };
}

function questionIn({ type, data, sequence }: Signal): CallQuestion | null {
  if (type === 'ai.tool.approval_requested') {
    const { call_id: callId, tool_name: toolName, arguments: args, reason = '', metadata } = data;
    const isBudget = metadata['budget'] !== undefined;
    const ref = approvalRef(callId);
    return { kind: 'approval', ref, callId, toolName, sequence, arguments: args, reason, isBudget };
  }
  if (type !== 'ai.tool.input_requested') return null;
  const { call_id: callId, tool_name: toolName, input_id: inputId, key = null } = data;
  const question = toolQuestion(data);
  return { kind: 'input', ref: inputRef(inputId), callId, toolName, sequence, key, question };
}

type Shown = Extract<Signal, { type: 'ai.tool.input_requested' }>['data'];

function toolQuestion({ mode, message, schema = {}, url = '' }: Shown): ToolQuestion {
  return mode === 'form' ? { mode, message, schema } : { mode, message, url };
}

const ACTIONS = { accept: 'accepted', decline: 'declined', cancel: 'cancelled' } as const;

/** The question that a signal ends, and how. */
function endIn({ type, data, time }: Signal): [ref: string, how: string] | null {
  if (type === 'ai.tool.approval_decided') {
    const decided = data.decision === 'approve' ? 'approved' : 'denied';
    return [approvalRef(data.call_id), `was ${decided} at ${time}${byWhom(data.by)}`];
  }
  if (type !== 'ai.tool.input_answered') return null;
  const { input_id: inputId, action, cause, by } = data;
  if (cause === 'withdrawn') return [inputRef(inputId), `was withdrawn at ${time}`];
  const how = `was ${ACTIONS[action]} at ${time}`;
  return [inputRef(inputId), cause === 'deadline' ? `${how}: its time was up` : `${how}${byWhom(by)}`];
}

function byWhom(by: string | undefined): string {
  return by === undefined ? '' : ` by ${by}`;
}
