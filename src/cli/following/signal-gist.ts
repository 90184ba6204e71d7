/** A signal in a few words for a person: one entry for each type of signal.
 *  It must never let a control character through: tools and models choose these texts. */
import { encryptedAlone, encryptedNote } from '../../contract/encrypted/encrypted-form.ts';
import { type ErrorEnvelope, errorEnvelopeSchema } from '../../contract/error-envelope.ts';
import type { ModelTurn } from '../../contract/model/model-turn.ts';
import type { Result } from '../../contract/result.ts';
import type { DivergedData } from '../../contract/run/foreign-run.ts';
import type { Signal, SignalType } from '../../contract/signal/signal.ts';
import type { ListedLane } from '../../contract/request/lane-listing.ts';
import type { Wait } from '../../contract/request/waiting.ts';
import { payloadText } from '../commands/payload.ts';
import { instantText } from '../table.ts';
import { oneLine, type Paint, type Style } from '../terminal.ts';
import { tokensText, turnIn } from './turn-text.ts';
import { ownMember } from '../../contract/json/json-object.ts';

export type DataOf<T extends SignalType> = Extract<Signal, { type: T }>['data'];

/** Plain text, or text in a style. */
type Gist = string | readonly [Style, string];

type Gists = { readonly [T in SignalType]: (data: DataOf<T>) => Gist };

const GISTS: Gists = {
  'ai.tool.started': ({ tool_name: name }) => name,
  'ai.tool.progress': progressText,
  'ai.tool.result': resultGist,
  'ai.tool.approval_requested': (data) => ['yellow', approvalText(data)],
  'ai.tool.approval_decided': ({ decision, reason }) =>
    withReason(decision === 'approve' ? 'approved' : 'denied', reason),
  'ai.tool.input_requested': (data) => ['yellow', askedText(data)],
  'ai.tool.input_answered': ({ input_id: id, action, cause, by }) =>
    withReason(`${id} ${action}`, cause === 'answer' ? by : cause),
  'ai.llm.delta': ({ chunk_type: kind, delta }) => deltaText(kind, delta),
  'ai.llm.raw': ({ text }) => deltaText('content', text),
  'ai.llm.response': resultGist,
  'ai.usage': (data) => `${data.model} ${tokensText(data)}`,
  'ai.embed.result': resultGist,
  'ai.request.started': ({ query }) => query,
  'ai.request.input': ({ content }) => content,
  'ai.request.cancel_requested': ({ reason }) => reason ?? '',
  'ai.request.resumed': ({ resumed }) => (resumed === 1 ? 'run resumed' : `run resumed, ${resumed} times`),
  'ai.request.completed': completedGist,
  'ai.request.failed': (data) => ['red', `${anyErrorText(data.error)}${unreadText(data)}`],
  'ai.request.error': ({ reason, message }) => ['red', `${reason}: ${message}`],
  'directive.retry_scheduled': (data) => ['yellow', retryText(data)],
  'directive.waiting': (data) => ['yellow', waitText(data)],
  'directive.rejected': ({ directive_type: type, reason, message }) => [
    'yellow',
    withReason(`${type ?? 'a directive'} rejected: ${reason}`, message),
  ],
  'directive.ignored': ({ directive_type: type, reason }) => ['yellow', `${type} ignored: ${reason}`],
  'directive.policy_decided': ({ decision, rule, reason }) => [
    decision === 'allow' ? 'green' : 'yellow',
    withReason(`${decision} by ${rule === null ? 'the default' : `the rule ${rule}`}`, reason),
  ],
  'directive.reconciled': ({ outcome, tool, asked, reason }) => [
    outcome === 'happened' ? 'green' : 'yellow',
    withReason(`${outcome}: ${tool ?? 'no tool'} was asked ${asked}×`, reason),
  ],
  'directive.result': resultGist,
  'agent.scheduled': ({ timer_id: id, message }) => `${id} ${JSON.stringify(message)}`,
  'agent.child.started': ({ tag, agent, child_request_id: child }) => `${tag}: ${agent} in ${child}`,
  'agent.child.exit': ({ tag, status }) => `${tag}: ${status}`,
  'agent.parent.exit': ({ parent_request_id: parent, reason }) => `${parent}: ${reason}`,
  'agent.tier_changed': ({ tier, previous, reason }) =>
    withReason(`${previous ?? 'own model'} → ${tier}`, reason || undefined),
  'agent.phase_changed': ({ phase, previous }) => (previous === null ? phase : `${previous} → ${phase}`),
  'agent.error': ({ error }) => ['red', anyErrorText(error)],
};

const LONGEST = 160;
/** Errors may be longer. */
const LONGEST_ERROR = 600;

/** Notes, which are no signals of the contract's list. */
const NOTES: Readonly<Record<string, (data: never) => Gist>> = {
  'run.diverged': ({ run, pass, turn, place, recorded, sent }: DivergedData) => [
    'yellow',
    `pass ${pass} of the run ${run} leaves its record at turn ${turn}: ${place || 'the body'} was ${recorded}, is ${sent}`,
  ],
};

/** The gist in one line; the data itself for a type of a later contract. */
export function gistOf({ type, data }: Signal, paint: Paint): string {
  const read = (ownMember<unknown>(GISTS, type) ?? ownMember<unknown>(NOTES, type)) as
    | ((data: unknown) => Gist)
    | undefined;
  const gist = read === undefined ? JSON.stringify(data) : read(data);
  if (typeof gist === 'string') return oneLine(gist, LONGEST);
  const [style, text] = gist;
  return paint(style, oneLine(text, style === 'red' || style === 'yellow' ? LONGEST_ERROR : LONGEST));
}

function completedGist(data: DataOf<'ai.request.completed'>): Gist {
  const cutOff = data.termination_reason === 'length';
  const text = `${payloadText(data.result)}${cutOff ? ' (cut off)' : ''}${unreadText(data)}`;
  return [cutOff ? 'yellow' : 'green', text];
}

function unreadText({ unread_inputs: unread = [] }: { unread_inputs?: string[] | undefined }): string {
  return unread.length === 0 ? '' : ` (unread inputs: ${unread.join(', ')})`;
}

function resultGist({ result, metadata }: { result: Result; metadata?: unknown }): Gist {
  if (!result.ok) return ['red', errorText(result.error)];
  const turn = turnIn(result.payload);
  const text = turn === null ? payloadText(result.payload) : turnGist(turn);
  return ['green', `${redeliveryText(metadata)}${text}`];
}

/** Before the payload, which may be long: the call was made again because its worker had died. */
function redeliveryText(metadata: unknown): string {
  const { redeliveries } = Object(metadata) as { redeliveries?: unknown };
  return typeof redeliveries === 'number' ? `(redelivered ${redeliveries}×) ` : '';
}

/** A model's turn as its text, or the tools that it calls. */
function turnGist({ text, tool_calls: calls }: ModelTurn): string {
  return calls.length > 0 ? `calls ${calls.map(({ name }) => name).join(', ')}` : text;
}

export function deltaText(kind: DataOf<'ai.llm.delta'>['chunk_type'], delta: unknown): string {
  const text = typeof delta === 'string' ? delta : toolCallText(delta);
  return kind === 'content' ? text : `${kind} ${text}`;
}

function toolCallText(delta: unknown): string {
  const { name, arguments: text } = Object(delta) as Record<string, unknown>;
  return typeof name === 'string' && typeof text === 'string' ? `${name} ${text}` : JSON.stringify(delta);
}

function withReason(text: string, reason: string | undefined): string {
  return reason === undefined ? text : `${text} (${reason})`;
}

/** A run's error may be an envelope, or any value of its agent. */
export function anyErrorText(error: unknown): string {
  const envelope = errorEnvelopeSchema.safeParse(error);
  return envelope.success ? errorText(envelope.data) : payloadText(error);
}

export function errorText({ type, message, details }: ErrorEnvelope): string {
  const { reason } = details;
  const why = typeof reason === 'string' && !message.includes(reason) ? reason : undefined;
  return withReason(`${type}: ${oneLine(message, 500)}`, why === undefined ? why : oneLine(why, 200));
}

export function progressText({ progress, total, message }: DataOf<'ai.tool.progress'>): string {
  const count = total === undefined ? String(progress) : `${progress}/${total}`;
  if (message === undefined) return count;
  // Nothing has been done yet: the message says why.
  const before = progress === 0 && total === undefined ? '' : `${count} `;
  return `${before}${oneLine(message, 80)}`;
}

export function retryText({
  failures,
  max_retries: most,
  delay_ms: delayMs,
  error,
  metadata,
}: DataOf<'directive.retry_scheduled'>): string {
  const { from, to } = Object(Object(metadata)['fallback']) as { from?: unknown; to?: unknown };
  if (typeof to === 'string')
    return `continues with ${to} instead of ${String(from)} after ${errorText(error)}`;
  return `retry ${failures}/${most} in ${delayMs} ms after ${errorText(error)}`;
}

/** Reasons whose message names the instant already, or whose wait begins with the acceptance. */
const SAYS_SINCE: ReadonlySet<string> = new Set(['retry', 'worker_lost', 'later']);

/** Reason of a wait, and when it is tried again. */
export function whyText({ message, reason, since, until }: Wait, now = Date.now()): string {
  // It may be tomorrow, or next year.
  if (reason === 'later') return `begins at ${until ?? 'an instant'}`;
  // A question is over then: nothing is tried again.
  const word = reason === 'input_required' ? 'until' : reason === 'limit' ? 'next at' : 'tried again at';
  const again = until === null ? '' : `, ${word} ${clockText(until, now)}`;
  const from = since === undefined || SAYS_SINCE.has(reason) ? '' : `, since ${clockText(since, now)}`;
  return `${oneLine(message, 200)}${from}${again}`;
}

/** The time of an instant of today, else the date too, by UTC. */
export function clockText(at: string, now = Date.now()): string {
  return at.startsWith(new Date(now).toISOString().slice(0, 10)) ? at.slice(11, 19) : instantText(at);
}

/** When programs of a remote type last asked for work, and how much waits for one. */
export function programsText({ asked_at: asked, waiting }: NonNullable<ListedLane['programs']>): string {
  const last =
    asked === null
      ? 'none has asked for work in the last day'
      : `work was last asked for at ${instantText(asked)}`;
  return `${last}, ${waiting} waiting`;
}

export function waitText(wait: Wait): string {
  const text = whyText(wait);
  return wait.reason === 'worker_lost' || text.startsWith('waits ') ? text : `waits: ${text}`;
}

/** A question is read whole in `get`. */
function askedText({
  tool_name: tool,
  input_id: id,
  message,
  url,
}: DataOf<'ai.tool.input_requested'>): string {
  return withReason(`${tool} asks (${id}): ${message}`, url);
}

/** The waiting call, its arguments, and the reason for approval. */
export function approvalText(data: DataOf<'ai.tool.approval_requested'>, limit = LONGEST): string {
  const keyId = encryptedAlone(data.arguments);
  const asked = keyId === null ? JSON.stringify(data.arguments ?? {}) : `(${encryptedNote(keyId)})`;
  return oneLine(withReason(`${data.tool_name} ${asked}`, data.reason), limit);
}
