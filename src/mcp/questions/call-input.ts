/** Requests of a server before it goes on with a call, and the answers to it: of people and of models, its own state.
 *  It must never answer for a person: who is asked, and when, is decided by the caller. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { pause } from '../../platform/lifecycle.ts';
import type { CallDeadline } from '../call-deadline.ts';
import { elicitResult, type InputRequired, readInputRequired, readPagesRequired } from './questions.ts';
import { sampledResponses } from './sampled-responses.ts';
import type { CallParams } from '../session.ts';
import type { ToolCallOutcome, ToolCallRequest, ToolCallResume } from '../tools/tool-call.ts';

type Failed = Extract<ToolCallOutcome, { kind: 'failed' }>;

export interface AskingCall {
  readonly request: ToolCallRequest;
  readonly deadline: CallDeadline;
  params: CallParams;
  /** The server has answered that it wants to be asked again: it may be at work. */
  begun: boolean;
}

/** Parameters of the next call of the same tool. */
export function resumed({ state, answers, given = {} }: ToolCallResume): Partial<CallParams> {
  const answered = Object.entries(answers).map(([key, answer]) => [key, elicitResult(answer)] as const);
  const responses = [...answered, ...Object.entries(given)];
  return {
    ...(responses.length === 0 ? {} : { inputResponses: Object.fromEntries(responses) }),
    ...(state === null ? {} : { requestState: state }),
  };
}

/** Between two calls of a server that wants only its own state back. Milliseconds. */
const STATE_ONLY_MS = 250;

/** Handles an answer of the type `input_required`. null: the call is made again, with what models have answered. */
export async function goOn(
  call: AskingCall,
  answer: Readonly<Record<string, unknown>>,
): Promise<ToolCallOutcome | null> {
  const { deadline, request } = call;
  const required = inputRequired(request.server, answer);
  if ('kind' in required) return required;
  const { questions, samplings, state } = required;
  // Nobody answers these, so that no model needs to.
  if (questions.length > 0 && request.onQuestion === undefined) return { kind: 'asks', questions, state };
  const sampled = await sampledResponses(call, samplings);
  if (!sampled.ok) return sampled.failed;
  const answered = samplings.length > 0 ? { given: sampled.given } : {};
  // People are asked outside of the call.
  if (questions.length > 0) return { kind: 'asks', questions, state, ...answered };
  // The server only wants to be asked again: a call that takes long, or a server that sheds load.
  if (samplings.length === 0) await pause(STATE_ONLY_MS, deadline.signal);
  // Another session goes on with it too.
  call.params = { ...call.params, ...resumed({ state, answers: {}, ...answered }) };
  call.begun = true;
  deadline.touch();
  return null;
}

function inputRequired(server: string, answer: Readonly<Record<string, unknown>>): InputRequired | Failed {
  const read = readInputRequired(answer);
  if (read.ok) return read.value;
  const type = read.unsupported ? 'executor' : 'invalid_result';
  const message = read.unsupported
    ? 'The tool asks for something this client does not support'
    : `The MCP server ${read.reason}`;
  return { kind: 'failed', error: errorEnvelope(type, message, { server, reason: read.reason }), sent: true };
}

/** A legacy server answers a call with this error before a person has opened its pages: the tool has not run. null: another error. */
export function pagesRequired({ server }: ToolCallRequest, error: unknown): ToolCallOutcome | null {
  if (!(error instanceof ProtocolError) || error.code !== ProtocolErrorCode.UrlElicitationRequired)
    return null;
  const read = readPagesRequired(error.data);
  if (read.ok) return { kind: 'asks', questions: read.value.questions, state: null };
  const details = { server, reason: read.reason };
  const message = `The MCP server ${read.reason}`;
  return { kind: 'failed', error: errorEnvelope('invalid_result', message, details), sent: true };
}

/** The server cannot be told that a page was declined, and would only ask for it again. null: none was. */
export function declinedPage({ server, tool, resume }: ToolCallRequest): Failed | null {
  if (Object.values(resume?.answers ?? {}).every(({ action }) => action === 'accept')) return null;
  const message = 'The tool needs a page to be opened first, and that was declined';
  return { kind: 'failed', error: errorEnvelope('tool_error', message, { server, tool }), sent: false };
}
