// All signals as one union, and which of them end a directive.
// Must never list a type that no family file defines.
import * as z from 'zod';
import { customSignalSchema } from './signal-envelope.ts';
import { directiveIgnored, directiveRejected, directiveWaiting, retryScheduled } from './signal-directive.ts';
import { embedResult, llmDelta, llmResponse, usageReported } from './signal-llm.ts';
import {
  agentChildExit,
  agentChildStarted,
  agentError,
  agentParentExit,
  agentScheduled,
  agentPhaseChanged,
  agentTierChanged,
  directiveResult,
  requestCancelRequested,
  requestInput,
  toolApprovalDecided,
} from './signal-run.ts';
import { requestCompleted, requestError, requestFailed, requestStarted } from './signal-request.ts';
import {
  toolApprovalRequested,
  toolInputAnswered,
  toolInputRequested,
  toolProgress,
  toolResult,
  toolStarted,
} from './signal-tool.ts';

/** Schema of a signal of a known type, for readers. */
export const signalSchema = z.discriminatedUnion('type', [
  llmDelta.wire,
  llmResponse.wire,
  usageReported.wire,
  embedResult.wire,
  toolStarted.wire,
  toolProgress.wire,
  toolApprovalRequested.wire,
  toolInputRequested.wire,
  toolInputAnswered.wire,
  toolResult.wire,
  requestError.wire,
  requestStarted.wire,
  requestCompleted.wire,
  requestFailed.wire,
  retryScheduled.wire,
  directiveWaiting.wire,
  directiveRejected.wire,
  directiveIgnored.wire,
  requestInput.wire,
  requestCancelRequested.wire,
  toolApprovalDecided.wire,
  agentScheduled.wire,
  agentChildStarted.wire,
  agentChildExit.wire,
  agentParentExit.wire,
  agentError.wire,
  agentTierChanged.wire,
  agentPhaseChanged.wire,
  directiveResult.wire,
]);

/** Schema of a signal before it has a sequence number, for writers. */
export const signalDraftSchema = z.discriminatedUnion('type', [
  llmDelta.draft,
  llmResponse.draft,
  usageReported.draft,
  embedResult.draft,
  toolStarted.draft,
  toolProgress.draft,
  toolApprovalRequested.draft,
  toolInputRequested.draft,
  toolInputAnswered.draft,
  toolResult.draft,
  requestError.draft,
  requestStarted.draft,
  requestCompleted.draft,
  requestFailed.draft,
  retryScheduled.draft,
  directiveWaiting.draft,
  directiveRejected.draft,
  directiveIgnored.draft,
  requestInput.draft,
  requestCancelRequested.draft,
  toolApprovalDecided.draft,
  agentScheduled.draft,
  agentChildStarted.draft,
  agentChildExit.draft,
  agentParentExit.draft,
  agentError.draft,
  agentTierChanged.draft,
  agentPhaseChanged.draft,
  directiveResult.draft,
]);

/** Any signal of a log. Typed as the known ones, so that a switch over their types narrows. */
export const anySignalSchema = z.union([signalSchema, customSignalSchema]) as unknown as typeof signalSchema;

/** Signal of a known type. */
export type Signal = z.infer<typeof signalSchema>;
/** Type of a known signal. */
export type SignalType = Signal['type'];

/** A signal before the journal gives it a sequence number. */
export type SignalDraft = z.infer<typeof signalDraftSchema>;

/** CloudEvents sources of signals, by type. */
export const SIGNAL_SOURCES = {
  'ai.llm.delta': llmDelta.source,
  'ai.llm.response': llmResponse.source,
  'ai.usage': usageReported.source,
  'ai.embed.result': embedResult.source,
  'ai.tool.started': toolStarted.source,
  'ai.tool.progress': toolProgress.source,
  'ai.tool.approval_requested': toolApprovalRequested.source,
  'ai.tool.input_requested': toolInputRequested.source,
  'ai.tool.input_answered': toolInputAnswered.source,
  'ai.tool.result': toolResult.source,
  'ai.request.error': requestError.source,
  'ai.request.started': requestStarted.source,
  'ai.request.completed': requestCompleted.source,
  'ai.request.failed': requestFailed.source,
  'directive.retry_scheduled': retryScheduled.source,
  'directive.waiting': directiveWaiting.source,
  'directive.rejected': directiveRejected.source,
  'directive.ignored': directiveIgnored.source,
  'ai.request.input': requestInput.source,
  'ai.request.cancel_requested': requestCancelRequested.source,
  'ai.tool.approval_decided': toolApprovalDecided.source,
  'agent.scheduled': agentScheduled.source,
  'agent.child.started': agentChildStarted.source,
  'agent.child.exit': agentChildExit.source,
  'agent.parent.exit': agentParentExit.source,
  'agent.error': agentError.source,
  'agent.tier_changed': agentTierChanged.source,
  'agent.phase_changed': agentPhaseChanged.source,
  'directive.result': directiveResult.source,
} as const satisfies Record<SignalType, string>;

/** The signals that answer a directive; `ai.request.error` is the answer to `emit_request_error` alone. */
export const TERMINAL_SIGNAL_TYPES = [
  'ai.tool.result',
  'ai.llm.response',
  'ai.embed.result',
  'ai.request.error',
  'directive.result',
] as const satisfies readonly SignalType[];

/** Type of a signal that ends a directive. */
export type TerminalSignalType = (typeof TERMINAL_SIGNAL_TYPES)[number];
/** Signal that ends a directive. */
export type TerminalSignal = Extract<Signal, { type: TerminalSignalType }>;

const terminalTypes: ReadonlySet<string> = new Set(TERMINAL_SIGNAL_TYPES);

/** Whether a signal ends a directive. */
export function isTerminalSignal(signal: Signal): signal is TerminalSignal {
  return terminalTypes.has(signal.type);
}
