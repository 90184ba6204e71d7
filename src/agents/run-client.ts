// The operations of programs on runs, directly on the journal: start, send input, decide, read. Never makes a turn: an
// engine does.
import { type LimitsOfTenant, NO_TENANT_LIMITS, requestBytesOf } from '../contract/access/tenant-limits.ts';
import { DEFAULT_TENANT, ownId, scopedId } from '../contract/access/tenant.ts';
import type { AgentListing } from '../contract/run/agent-listing.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { readBody } from '../contract/json/read-input.ts';
import type { StartOptions } from '../contract/directive/directive-client.ts';
import type { Spender } from '../contract/model/budget.ts';
import { onceOf } from '../contract/directive/once.ts';
import { encodedIn, ENCRYPTED, encryptedNote } from '../contract/encrypted/encrypted.ts';
import { isObject } from '../contract/json/json-object.ts';
import { crowdedList } from '../contract/directive/list-bounds.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../contract/problem.ts';
import {
  type AcceptedInput,
  approvalDecisionBodySchema,
  type ParsedRun,
  resumeRunBodySchema,
  runInputBodySchema,
  type RunView,
  type StartedRun,
  startRunBodySchema,
} from '../contract/run/run.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import type { RunJournal, SendVerdict } from '../store/run/run-journal.ts';
import type { SignalLog } from '../store/log/signal-log.ts';
import type { ClientRuns } from '../directives/queue-client.ts';
import type { Capacity } from '../directives/capacity.ts';
import { keyedIds } from '../directives/identify.ts';
import { archivedRun, type FindArchived } from '../directives/read/archived-reads.ts';
import { onceRunId } from '../directives/once-request.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { newIdentifier, newShortId } from '../platform/telemetry/identifier.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { isTraceparent, newTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import type { Agents } from '../store/catalog/known-agents.ts';
import { createDecide } from './run-decisions.ts';
import { createResume, type ResumeParts } from './run-resume.ts';
import { requireSealing } from './encryption/run-sealing.ts';
import { createRunRepeats } from './run-repeats.ts';
import type { RunStarter } from './run-start.ts';
import { NO_SIGNALS, type RunStore, type StoredRun } from './turn/run-store.ts';
import { CANCEL, type RunNotifier } from './run-notifier.ts';
import type { EngineCore } from './turn/transition.ts';
import { requestFull } from '../directives/read/not-found.ts';

export interface RunClientParts {
  runs: RunJournal;
  journal: ResumeParts['journal'];
  entrance: ResumeParts['entrance'];
  /** Says who decided what was decided. */
  log: Pick<SignalLog, 'at'>;
  store: RunStore;
  starter: RunStarter;
  notifier: RunNotifier;
  agents: Agents;
  /** Makes the view of a document. */
  view: EngineCore['view'];
  /** Throws `DirectiveRefused` (`service_full`): called before an input, which makes a run continue. */
  requireMemory: Capacity['requireMemory'];
  /** The limit of `RunJournalOptions`. */
  requestBytes: number;
  /** Parts of `ResumeParts`. */
  dead: ResumeParts['dead'];
  found?: ResumeParts['found'];
  /** Part of `RunRepeatParts`. */
  archived?: FindArchived | undefined;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
  /** The caller, if it is known. Default: it is not. */
  caller?: (() => Spender | undefined) | undefined;
  /** Default: nothing is traced. */
  spans?: Spans;
}

const MOST_INPUTS = 64;

export function createRunClient(parts: RunClientParts): ClientRuns {
  const { runs, store, starter, notifier, agents, spans = NO_SPANS } = parts;
  const decide = createDecide(parts);
  const { again, fork } = createRunRepeats(parts);
  const mostBytes = (requestId: string): number =>
    requestBytesOf(parts.limitsOf ?? NO_TENANT_LIMITS, requestId, parts.requestBytes);
  const resume = createResume({ ...parts, mostBytes });

  async function start(
    body: unknown,
    { traceparent, idempotencyKey }: StartOptions = {},
    tenant: string = DEFAULT_TENANT,
  ): Promise<StartedRun> {
    const parsed = readStart(body);
    const name = idempotencyKey === undefined ? undefined : keyedIds(`run ${idempotencyKey}`).request;
    const run = { ...parsed, request_id: scopedId(tenant, requestOf(parsed, name)) };
    const trace = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
    const started = await whileAvailable(() => starter.start(run, trace, undefined, name));
    if (!started.ok) throw new DirectiveRefused(started.refusal);
    return started.run;
  }

  async function steered(requestId: string): Promise<void> {
    const by = parts.caller?.();
    if (by !== undefined) await whileAvailable(() => runs.noteSteering(requestId, by));
  }

  async function input(requestId: string, body: unknown): Promise<AcceptedInput> {
    const { input_id = newIdentifier(), content, source } = readBody(runInputBodySchema, body);
    const encoded = encodedIn(content);
    if (encoded === null && content.trim() === '')
      throw refusedAt('invalid_body', [{ path: 'content', message: 'must not be empty' }]);
    await requireSealing(runs, requestId, { path: 'content', isEncrypted: encoded !== null });
    const input_source = source === undefined ? {} : { input_source: source };
    const shown = encoded === null ? content : encryptedNote(encoded.key_id);
    const data = { request_id: ownId(requestId), input_id, content: shown, ...input_source };
    const form = encoded === null ? {} : { [ENCRYPTED]: encoded };
    const notification = {
      name: `input:${input_id}`,
      digest: contentDigest(encoded === null ? data : { ...data, digest: encoded.digest }),
      limit: MOST_INPUTS,
      signal: { type: 'ai.request.input', data: { ...data, ...form } },
    };
    await parts.requireMemory(requestId);
    await steered(requestId);
    const verdict = await whileAvailable(() => notifier.notify(requestId, notification, { cause: input_id }));
    return {
      request_id: ownId(requestId),
      input_id,
      queued: queuedInputs(verdict, {
        requestId,
        inputId: input_id,
        requestBytes: mostBytes(requestId),
      }),
    };
  }

  return {
    start,
    input,
    again,
    fork,
    async resume(requestId, body, options) {
      const read = readBody(resumeRunBodySchema, body ?? {});
      await steered(requestId);
      return resume(requestId, read, options).catch(async (error: unknown) => {
        const isUnknown = error instanceof DirectiveRefused && error.problem.code === 'not_found';
        const isArchived = isUnknown && ((await parts.archived?.(requestId)) ?? null) !== null;
        throw isArchived ? archivedRun(requestId) : error;
      });
    },
    async decide(requestId, callId, body) {
      const decision = readBody(approvalDecisionBodySchema, body);
      const { decision: made, reason } = decision;
      // The model reads the reason of a denial.
      const isRead = decision.arguments !== undefined || (made === 'deny' && reason !== undefined);
      if (isRead) await steered(requestId);
      return decide(requestId, callId, decision);
    },
    async view(requestId) {
      const run = await store.read(requestId, NO_SIGNALS);
      if (!run) return null;
      const asked = run.endedAt === null && (await runs.sentSequence(requestId, CANCEL)) !== null;
      const view = { ...viewOf(parts.view, run), ...(asked ? { cancel_requested: true as const } : {}) };
      return { view, noticed: isNoticed(run) };
    },
    async family(requestId) {
      const run = await store.read(requestId, NO_SIGNALS);
      const parent = run?.spec.parent?.request_id ?? null;
      return run && { view: viewOf(parts.view, run), noticed: isNoticed(run), parent };
    },
    traceparent: runs.traceparent,
    async cancel(requestId, reason) {
      await notifier.cancel(requestId, reason);
    },
    async agents(tenant) {
      return agentListing(await whileAvailable(() => agents.list(tenant)));
    },
  };
}

function agentListing(listed: Awaited<ReturnType<Agents['list']>>): AgentListing {
  return {
    agents: listed.map(({ name, description, strategy, model, model_alias, tools, version }) => ({
      name,
      description,
      strategy,
      model: model ?? model_alias,
      tools,
      ...(version === undefined ? {} : { version }),
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
      throw refusal('request_closed', `the run of request "${ownId(requestId)}" has ended`);
    case 'unknown':
      throw noRun(requestId);
  }
}

function isNoticed({ spec }: StoredRun): boolean {
  return spec.on_end !== undefined;
}

/** `name`: of the submission, where its caller gave one. */
function requestOf(run: ParsedRun, name: string | undefined): string {
  const once = onceOf(run);
  if (once !== null) return onceRunId(once, newIdentifier());
  return run.request_id ?? name ?? newShortId();
}

/** Also of a run that has no document yet. */
export function viewOf(view: EngineCore['view'], run: StoredRun): RunView {
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
    waiting_for: [waitOf(run)],
    messages: spec.messages as RunView['messages'],
    children: [],
    started_at: null,
    ended_at,
    deadline_at: null,
    ...(run.behind === null && run.begin !== null && run.begin.at > run.now
      ? { begins_at: new Date(run.begin.at).toISOString() }
      : {}),
  };
}

/** The wait before the first turn: for the end of the run that it replaces, or for its place in its conversation. */
function waitOf({ behind, spec }: StoredRun): RunView['waiting_for'][number] {
  if (behind !== null) return { kind: 'turn', id: ownId(behind), name: 'singleton' };
  return { kind: 'turn', id: spec.conversation_id ?? spec.run_id };
}

function readStart(body: unknown): ParsedRun {
  const crowded = isObject(body) ? crowdedList(body) : null;
  if (crowded) throw refusedAt('invalid_body', [crowded]);
  return readBody(startRunBodySchema, body);
}

function refusal(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

function noRun(requestId: string): DirectiveRefused {
  return refusal('not_found', `there is no run in a request "${ownId(requestId)}"`);
}
