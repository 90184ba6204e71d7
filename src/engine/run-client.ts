// What programs do with runs, directly on the journal: start, send input, decide, read.
// Must never take a turn: an engine does.
import type * as z from 'zod';
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { AgentListing } from '../contract/agent-listing.ts';
import { fieldErrors } from '../contract/field-error.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { findJsonHazard } from '../contract/json-guard.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../contract/problem.ts';
import {
  type AcceptedInput,
  approvalDecisionBodySchema,
  runInputBodySchema,
  type RunView,
  type StartedRun,
  startRunBodySchema,
} from '../contract/run.ts';
import { contentDigest } from '../journal/content-digest.ts';
import type { RunJournal, SendVerdict } from '../journal/run-journal.ts';
import type { ClientRuns } from '../queue/queue-client.ts';
import type { Capacity } from '../queue/capacity.ts';
import { requestFull } from '../queue/request-full.ts';
import { whileAvailable } from '../redis/unavailable.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { NO_SPANS, type Spans } from '../telemetry/spans.ts';
import { isTraceparent, newTraceparent } from '../telemetry/trace-context.ts';
import type { Agents } from '../catalog/known-agents.ts';
import type { RunStarter } from './run-start.ts';
import { NO_SIGNALS, type RunStore, type StoredRun } from './run-store.ts';
import type { RunNotifier } from './run-notifier.ts';
import type { EngineCore } from './transition.ts';

export interface RunClientParts {
  runs: RunJournal;
  store: RunStore;
  starter: RunStarter;
  notifier: RunNotifier;
  agents: Agents;
  /** Makes the view of a document. */
  view: EngineCore['view'];
  /** Throws `DirectiveRefused` (`service_full`): called before an input, which makes a run continue. */
  requireMemory: Capacity['requireMemory'];
  /** As in `RunJournalOptions`. */
  requestBytes: number;
  /** Default: nothing is traced. */
  spans?: Spans;
}

const MOST_INPUTS = 64;

export function createRunClient(parts: RunClientParts): ClientRuns {
  const { runs, store, starter, notifier, agents, spans = NO_SPANS } = parts;

  async function start(body: unknown, { traceparent }: { traceparent?: string } = {}): Promise<StartedRun> {
    const parsed = read(startRunBodySchema, body);
    const run = { ...parsed, request_id: parsed.request_id ?? newIdentifier() };
    const trace = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
    const started = await whileAvailable(() => starter.start(run, trace));
    if (!started.ok) throw new DirectiveRefused(started.refusal);
    return started.run;
  }

  async function input(requestId: string, body: unknown): Promise<AcceptedInput> {
    const { input_id = newIdentifier(), content, source } = read(runInputBodySchema, body);
    if (content.trim() === '')
      throw refusedAt('invalid_body', [{ path: 'content', message: 'must not be empty' }]);
    const input_source = source === undefined ? {} : { input_source: source };
    const data = { request_id: requestId, input_id, content, ...input_source };
    const signal = { type: 'ai.request.input', data };
    const notification = {
      name: `input:${input_id}`,
      digest: contentDigest(data),
      limit: MOST_INPUTS,
      signal,
    };
    await parts.requireMemory();
    const verdict = await whileAvailable(() => notifier.notify(requestId, notification, { cause: input_id }));
    return {
      request_id: requestId,
      input_id,
      queued: queuedInputs(verdict, { requestId, inputId: input_id, requestBytes: parts.requestBytes }),
    };
  }

  async function decide(requestId: string, callId: string, body: unknown) {
    const { decision, by, ...rest } = read(approvalDecisionBodySchema, body);
    await whileAvailable(() => requireWaiting(requestId, callId));
    const data = { call_id: callId, decision, ...rest };
    const signal = {
      type: 'ai.tool.approval_decided',
      data: { ...data, ...(by === undefined ? {} : { by }) },
    };
    // The same decision of two people is one.
    const notification = { name: decisionName(callId), digest: contentDigest(data), limit: null, signal };
    const verdict = await whileAvailable(() => notifier.notify(requestId, notification, { cause: callId }));
    if (verdict.kind === 'conflict')
      throw refusal('already_decided', `the call "${callId}" has another decision already`);
    if (verdict.kind === 'ended')
      throw refusal('request_closed', `the run of request "${requestId}" has ended`);
    if (verdict.kind !== 'sent' && verdict.kind !== 'existing') throw noRun(requestId);
    return { request_id: requestId, call_id: callId, decision };
  }

  /** A decision is accepted only for a call that waits for one, or already has one. */
  async function requireWaiting(requestId: string, callId: string): Promise<void> {
    const run = await store.read(requestId, NO_SIGNALS);
    if (!run) throw noRun(requestId);
    const waits = run.document ? parts.view(run.spec, run.document).waiting_for : [];
    const asked = waits.some(({ kind, id }) => (kind === 'approval' || kind === 'budget') && id === callId);
    if (asked || (await runs.isSent(requestId, decisionName(callId)))) return;
    throw refusal('not_found', `nothing named "${callId}" waits for a decision in request "${requestId}"`);
  }

  return {
    start,
    input,
    decide,
    async view(requestId) {
      const run = await store.read(requestId, NO_SIGNALS);
      return run && viewOf(parts.view, run);
    },
    async family(requestId) {
      const run = await store.read(requestId, NO_SIGNALS);
      return run && { view: viewOf(parts.view, run), parent: run.spec.parent?.request_id ?? null };
    },
    traceparent: runs.traceparent,
    async cancel(requestId, reason) {
      await notifier.cancel(requestId, reason);
    },
    async agents() {
      return agentListing(await whileAvailable(() => agents.list()));
    },
  };
}

function agentListing(listed: readonly AgentDefinition[]): AgentListing {
  return {
    agents: listed.map(({ name, description, strategy, model, model_alias, tools }) => ({
      name,
      description,
      strategy,
      model: model ?? model_alias,
      tools,
    })),
  };
}

/** The inputs that wait, this one included. Throws where it was not accepted. */
function queuedInputs(
  verdict: SendVerdict,
  { requestId, inputId, requestBytes }: { requestId: string; inputId: string; requestBytes: number },
): number {
  switch (verdict.kind) {
    case 'sent':
    case 'existing':
      return verdict.waiting;
    case 'conflict':
      throw refusal('id_conflict', `the input "${inputId}" was given with other content`);
    case 'no_room':
      throw requestFull(requestId, verdict.bytes, requestBytes);
    case 'full':
      throw refusal('input_queue_full', `${MOST_INPUTS} inputs are waiting already`);
    case 'ended':
      throw refusal('request_closed', `the run of request "${requestId}" has ended`);
    case 'unknown':
      throw noRun(requestId);
  }
}

function decisionName(callId: string): string {
  return `decision:${callId}`;
}

function viewOf(view: EngineCore['view'], run: StoredRun): RunView {
  const ended_at = run.endedAt === null ? null : new Date(run.endedAt).toISOString();
  if (run.document) return { ...view(run.spec, run.document), ended_at };
  const { spec, agent, status } = run;
  return {
    run_id: spec.run_id,
    agent,
    strategy: '',
    status,
    conversation_id: spec.conversation_id,
    query: spec.query,
    iterations: 0,
    tool_calls: 0,
    usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0 },
    cost: null,
    result: null,
    error: null,
    termination_reason: null,
    waiting_for: [{ kind: 'turn', id: spec.conversation_id ?? spec.run_id }],
    messages: spec.messages as RunView['messages'],
    children: [],
    started_at: null,
    ended_at,
    deadline_at: null,
  };
}

function read<S extends z.ZodType>(schema: S, body: unknown): z.output<S> {
  const hazard = findJsonHazard(body);
  if (hazard) throw refusedAt('invalid_body', [hazard]);
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw refusedAt('invalid_body', fieldErrors(parsed.error));
}

function refusal(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

function noRun(requestId: string): DirectiveRefused {
  return refusal('not_found', `there is no run in a request "${requestId}"`);
}
