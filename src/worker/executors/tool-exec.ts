// tool_exec: one call of one tool on an MCP server.
// Must never call a tool twice in one attempt, nor hide that a call may have happened.
import { ownId } from '../../contract/access/tenant.ts';
import { errorEnvelope, normalizeError } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';
import { startedTool } from '../../contract/tool/started-tool.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import { toolExecSchema, type RepeatPolicy, type ToolExec } from '../../contract/directive/work-directive.ts';
import type { McpPool } from '../../mcp/pool.ts';
import type {
  TaskUse,
  ToolCallOutcome,
  ToolCallRequest,
  ToolCallSession,
} from '../../mcp/tools/tool-call.ts';
import { ATTRIBUTE } from '../../platform/telemetry/traces/semantic-names.ts';
import type { Attributes } from '../../platform/telemetry/traces/span.ts';
import { keptDigits } from '../../mcp/transport/kept-digits.ts';
import { readToolResult, type DirectiveTrust } from '../../mcp/tools/tool-result.ts';
import {
  defineDirective,
  type DirectiveDefinition,
  type Execution,
  type ExecutionContext,
  type TaskKeeping,
} from './definition.ts';
import { type ContextSharing, sharedContext } from './tool-context.ts';
import { type Doubt, doubtIn, newDoubt, textOfDoubt } from '../../features/reconcile/doubt.ts';
import type { Reconcile } from '../../features/reconcile/reconcile.ts';
import { asking, withFix } from './tool-needs.ts';
import { type Asking, keepingDoubt, reconciled } from './tool-reconcile.ts';
import {
  type SamplingOptions,
  type SamplingReport,
  type SamplingSettings,
  type ToolSampling,
  toolSampling,
} from './tool-sampling.ts';

/** Where a tool_exec goes, and the operator's settings for it. */
export interface ToolPlace {
  server: string;
  tool: string;
  /** Default time limit of an attempt, milliseconds. */
  timeoutMs: number;
  /** The control directives that are trusted in this server's results. */
  trust: DirectiveTrust;
  /** How much of a call's context this server gets. */
  context: ContextSharing;
  /** Time that a question of the tool waits for an answer, milliseconds; null: no person answers. */
  questionMs: number | null;
  /** How long a call waits for the approval of a person, milliseconds; null: it needs none. */
  approvalMs: number | null;
  /** Which model answers the tools of the server; null: none. */
  sampling: SamplingSettings | null;
  /** A digest of where the server is. */
  endpoint: string;
  /** How the outcome of a call is found out whose answer was lost; null: it stays unknown. */
  reconcile: Reconcile | null;
}

/** Tools that this process executes itself; null: the server of this place is none of them. */
export type OwnTools = (
  place: ToolPlace,
) => ((directive: ToolExec, context: ExecutionContext) => Promise<Execution>) | null;

export interface ToolExecOptions {
  pool: McpPool;
  /** Default: none. */
  own?: OwnTools;
  /** Bound of the content that a model reads of a result, characters. Default: that of the contract. */
  contentCharacters?: number;
  /** null: this worker does not serve the lane. */
  placeOf(directive: ToolExec, lane: string): ToolPlace | null;
  /** As far as it is known now: a worker knows a tool's annotations from its first connection to the server on. */
  repeatPolicyOf(directive: ToolExec, place: ToolPlace): Promise<RepeatPolicy>;
}

/** `sampling`: how models are asked for the tools. Default: no model answers. */
export function toolExec(
  { pool, own, contentCharacters, placeOf, repeatPolicyOf }: ToolExecOptions,
  sampling: SamplingOptions | null = null,
): DirectiveDefinition {
  async function make(directive: ToolExec, place: ToolPlace, context: ExecutionContext): Promise<Execution> {
    const execute = own?.(place) ?? null;
    if (execute === null) return callTool({ pool, sampling, contentCharacters }, directive, place, context);
    const { server, tool } = shownPlace(place);
    const execution = await execute(directive, context);
    const { content = toolContent(execution.result, contentCharacters) } = execution;
    return { ...execution, content, metadata: { ...execution.metadata, server, tool } };
  }

  /** Asks what happened, and does not make the call. */
  async function settle(
    doubt: Doubt,
    directive: ToolExec,
    place: ToolPlace | null,
    context: ExecutionContext & { readonly tasks: TaskKeeping },
  ): Promise<Execution> {
    const reconcile = place?.reconcile ?? null;
    const lost = { args: directive.arguments, requestId: directive.request_id, id: directive.id };
    const asking =
      place === null || reconcile === null
        ? null
        : {
            reconcile,
            server: place.server,
            contentCharacters,
            ask: asked(directive, place.server, context),
          };
    const execution = await reconciled(
      asking,
      doubt,
      { ...lost, idempotencyKey: context.idempotencyKey },
      context,
    );
    const named = place === null ? {} : shownPlace(place);
    return { ...execution, metadata: { ...execution.metadata, ...named } };
  }

  /** Calls the other tool: without what belongs to the lost call, and for a bounded time. */
  function asked(directive: ToolExec, server: string, context: ExecutionContext): Asking['ask'] {
    return async (tool, args) => {
      const { effect: _effect, ...others } = directive;
      const question: ToolExec = {
        ...others,
        tool_name: `${server}.${tool}`,
        arguments: { ...args },
        context: {},
      };
      const place = placeOf(question, context.lane);
      if (place === null || (await repeatPolicyOf(question, place)) !== 'read')
        return { kind: 'none', reason: 'its repeat policy is not `read`, so that it was not asked' };
      const { tasks: _tasks, ask: _ask, answered: _answered, mayBegin: _mayBegin, ...rest } = context;
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(ASKED_MS)]);
      const idempotencyKey = `reconcile-${context.idempotencyKey}`;
      const limited = { ...rest, signal, idempotencyKey, report: () => {}, remainingMs: ASKED_MS };
      const execute = own?.(place) ?? null;
      const { result } =
        execute === null
          ? read(
              { outcome: await pool.call(questionOf(question, place, limited)), afresh: false },
              place,
              limited,
              undefined,
            )
          : await execute(question, limited).catch(brokenExecution);
      if (result.ok) return { kind: 'answer', payload: result.payload };
      return { kind: 'none', reason: `it failed as ${result.error.type}` };
    };
  }

  return defineDirective<ToolExec>({
    mode: 'queued',
    type: 'tool_exec',
    schema: toolExecSchema,
    async repeatPolicy(directive, lane) {
      const place = placeOf(directive, lane);
      return place ? repeatPolicyOf(directive, place) : (directive.effect ?? 'once');
    },
    approvalMs: (directive, lane) => placeOf(directive, lane)?.approvalMs ?? null,
    started: startedTool,
    doubtOf: (directive, lane, now) =>
      (placeOf(directive, lane)?.reconcile ?? null) === null
        ? null
        : textOfDoubt(newDoubt('worker_lost', now)),
    async execute(directive, context) {
      const place = placeOf(directive, context.lane);
      const { tasks } = context;
      const doubt = doubtIn(tasks?.task);
      // @guard ask-before-call
      if (doubt !== null && tasks !== undefined)
        return settle(doubt, directive, place, { ...context, tasks });
      if (!place) return notServedHere(directive);
      if (place.reconcile === null) return make(directive, place, context);
      // A tool of a module that breaks may have had its effect.
      const execution = await make(directive, place, context).catch(brokenExecution);
      const isOnce = async (): Promise<boolean> => (await repeatPolicyOf(directive, place)) === 'once';
      return keepingDoubt(place.reconcile, execution, context, isOnce);
    },
    async withdraw(directive, lane, task, account) {
      if (doubtIn(task) !== null) return { kind: 'moot', reason: 'its call is no task' };
      const place = placeOf(directive, lane);
      if (place === null) return { kind: 'moot', reason: 'no server of this worker has its tool any more' };
      return pool.withdraw(place.server, task, place.endpoint, account);
    },
  });
}

/** Names as the tenant knows them: the key of a server that it has added begins with the tenant. */
function shownPlace({ server, tool }: ToolPlace): Pick<ToolPlace, 'server' | 'tool'> {
  return { server: ownId(server), tool };
}

function notServedHere(directive: ToolExec): Execution {
  const message = `no MCP server of this worker has the tool "${directive.tool_name}"`;
  return { result: errorResult(errorEnvelope('unknown_tool', message, { field: 'tool_name' })) };
}

/** The deadline ends a call by its signal, and reports it; the connection's limit must not end it first as a "timeout". */
export const DEADLINE_GRACE_MS = 1_000;

/** A tool of a module that breaks. */
function brokenExecution(error: unknown): Execution {
  return { result: errorResult(normalizeError(error, 'exception', 'the executor broke')), ambiguous: true };
}

/** Longest call of the tool that is asked about a lost answer. */
const ASKED_MS = 15_000;

interface Callers {
  readonly pool: McpPool;
  readonly sampling: SamplingOptions | null;
  readonly contentCharacters: number | undefined;
}

async function callTool(
  { pool, sampling, contentCharacters }: Callers,
  directive: ToolExec,
  place: ToolPlace,
  context: ExecutionContext,
): Promise<Execution> {
  const { server, tool } = shownPlace(place);
  const shared = sharedContext(directive.context, place.context);
  if (!shared.ok) return { result: errorResult(shared.error), metadata: { server, tool } };
  let session: ToolCallSession | undefined;
  const sampled = samplingOf(sampling, directive, place, context);
  const outcome = await resumedCall(pool, directive, place, {
    ...context,
    shared: shared.context,
    onSent: (on) => void (session = on),
    ...(sampled === null ? {} : { onSampling: sampled.onSampling }),
  });
  const execution = read(outcome, place, context, contentCharacters);
  const isResumed = isTaskResumed(context.tasks);
  const span = { ...spanOf(place, session, isResumed), ...taskSpan(outcome.outcome, isResumed) };
  const asked = sampled?.report() ?? null;
  const metadata = { ...execution.metadata, server, tool };
  if (asked === null) return { ...execution, metadata, span };
  const usage = usageOf(asked, directive, server);
  return { ...execution, usage, metadata: { ...metadata, sampling: asked }, span };
}

/** The tokens of all that the tool asked models for in this attempt. */
function usageOf(asked: SamplingReport, { id }: ToolExec, server: string): NonNullable<Execution['usage']> {
  const { model, requests, input_tokens, output_tokens, total_tokens, estimated, cost } = asked;
  const perhaps = { ...(estimated ? { estimated } : {}), ...(cost === undefined ? {} : { cost }) };
  const metadata = { operation: 'generate_text', origin: 'action', server, requests, ...perhaps };
  return { call_id: id, model, input_tokens, output_tokens, total_tokens, metadata };
}

/** null: no model answers the tools of this server. */
function samplingOf(
  options: SamplingOptions | null,
  directive: ToolExec,
  { server, sampling: settings }: ToolPlace,
  context: ExecutionContext,
): ToolSampling | null {
  if (options === null || settings === null) return null;
  return toolSampling(options, { server, settings, directive, context });
}

interface CallContext extends ExecutionContext, Pick<ToolCallRequest, 'onSampling'> {
  shared: ToolCallRequest['context'];
  onSent: NonNullable<ToolCallRequest['onSent']>;
}

interface AnsweredOutcome {
  outcome: ToolCallOutcome;
  /** The server had lost the state of its questions. */
  afresh: boolean;
}

/**
 * With the answers to what the tool asked before. A server that has lost its state has not run the tool with them: it is called
 * afresh, and asks again; once for each directive.
 */
async function resumedCall(
  pool: McpPool,
  directive: ToolExec,
  place: ToolPlace,
  context: CallContext,
): Promise<AnsweredOutcome> {
  const { answered } = context;
  const request = requestOf(directive, place, context);
  const known = answered?.endpoint === place.endpoint ? answered : undefined;
  const afresh = answered?.afresh === true || answered !== known;
  // The task of a call that was made with the answers is only asked for.
  if (known === undefined || isTaskResumed(context.tasks))
    return { outcome: await pool.call(request), afresh };
  const { state, answers, given = {} } = known;
  const outcome = await pool.call({ ...request, resume: { state, answers, given } });
  if (afresh || !isStateLost(outcome)) return { outcome, afresh };
  return { outcome: await pool.call(request), afresh: true };
}

/** As the modern protocol's servers say it. */
function isStateLost(outcome: ToolCallOutcome): boolean {
  if (outcome.kind !== 'failed') return false;
  const { code, data } = outcome.error.details;
  return code === -32_602 && Object(data).reason === 'invalid_request_state';
}

function requestOf(
  directive: ToolExec,
  { server, tool, timeoutMs, questionMs: patienceMs, endpoint }: ToolPlace,
  { shared, onSent, onSampling, ask, ...context }: CallContext,
): ToolCallRequest {
  const request: ToolCallRequest = {
    server,
    tool,
    tenant: context.tenant,
    account: context.account,
    login: context.login,
    arguments: directive.arguments,
    context: shared ?? null,
    signal: context.signal,
    mayBegin: context.mayBegin,
    timeoutMs: directive.timeout_ms ?? timeoutMs,
    // It waits in its lane instead, where it is seen to wait.
    waitsForServer: false,
    maxTotalMs: context.remainingMs + DEADLINE_GRACE_MS,
    traceparent: context.traceparent,
    idempotencyKey: context.idempotencyKey,
    endpoint,
    ...taskOptions(context.tasks),
    ...(onSampling === undefined ? {} : { onSampling }),
    onSent,
    onProgress: (progress) =>
      context.report('ai.tool.progress', {
        call_id: directive.id,
        tool_name: directive.tool_name,
        ...progress,
        metadata: {},
      }),
  };
  if (ask === undefined || patienceMs === null) return request;
  return {
    ...request,
    onQuestion: async (question, withdrawn) => ask({ question, endpoint, patienceMs }, withdrawn),
  };
}

/** Known secrets of the configuration are redacted in its answer, which may be shown in an error. */
function questionOf(directive: ToolExec, place: ToolPlace, context: ExecutionContext): ToolCallRequest {
  const request = requestOf(directive, place, { ...context, shared: null, onSent: () => {} });
  return { ...request, hidesResult: true };
}

function isTaskResumed(tasks: TaskKeeping | undefined): boolean {
  return typeof tasks?.task === 'string';
}

function taskOptions(tasks: TaskKeeping | undefined): Pick<ToolCallRequest, 'task' | 'keepTask' | 'goesOn'> {
  if (tasks === undefined) return {};
  return { task: tasks.task, keepTask: (task) => tasks.keep(task), goesOn: () => tasks.goesOn() };
}

/** Who knows its id may ask the server for the result, so that the trace does not have it. */
function taskSpan(outcome: ToolCallOutcome, isResumed: boolean): Attributes {
  if (outcome.kind === 'asks' || outcome.task === undefined) return {};
  const { task } = outcome;
  return {
    [ATTRIBUTE.mcpTask]: isResumed ? 'resumed' : 'created',
    [ATTRIBUTE.mcpTaskEnd]: task.end,
    [ATTRIBUTE.mcpTaskPolls]: task.polls,
  };
}

function spanOf({ server }: ToolPlace, session: ToolCallSession | undefined, isResumed: boolean): Attributes {
  return {
    [ATTRIBUTE.mcpMethod]: isResumed ? 'tasks/get' : 'tools/call',
    [ATTRIBUTE.mcpServer]: server,
    [ATTRIBUTE.mcpProtocol]: session?.protocolVersion ?? undefined,
    [ATTRIBUTE.mcpSession]: session?.sessionId ?? undefined,
    [ATTRIBUTE.networkTransport]: session && (session.transport === 'stdio' ? 'pipe' : 'tcp'),
  };
}

/** A failed call without an answer of the tool is ambiguous: it may have run. An HTTP 5xx may come from a gateway. */
const UNANSWERED: ReadonlySet<string> = new Set(['timeout', 'network', 'cancelled', 'provider_error']);

/** The outcome of a task whose end is unknown. */
function after(
  task: TaskUse | undefined,
  isResumed: boolean,
): Pick<Execution, 'resumable' | 'unwithdrawn' | 'forgotten'> {
  if (task === undefined) return {};
  switch (task.end) {
    case 'kept':
      return { resumable: true };
    case 'left':
      return { unwithdrawn: true };
    case 'forgotten':
      return { forgotten: isResumed ? 'earlier' : 'own' };
    case 'ended':
    case 'lost':
      return {};
  }
}

function read(
  { outcome, afresh }: AnsweredOutcome,
  place: ToolPlace,
  { answered, tasks }: ExecutionContext,
  characters: number | undefined,
): Execution {
  if (outcome.kind === 'asks') return asking(outcome, place, { afresh, rounds: answered?.round ?? 0 });
  const isResumed = isTaskResumed(tasks);
  if (outcome.kind === 'failed') {
    const { error, sent, task } = outcome;
    const ambiguous = task === undefined ? sent && UNANSWERED.has(error.type) : task.end !== 'ended';
    const unreached = !sent && error.type === 'network';
    // An HTTP server that refuses the request with 429 has not called the tool.
    const untaken = sent ? {} : { untaken: true as const };
    const result = errorResult(withFix(error, place));
    return { result, ambiguous, unreached, ...untaken, ...after(task, isResumed) };
  }
  const { result, content, rejected } = readToolResult(outcome.result, {
    trust: place.trust,
    ...(characters === undefined ? {} : { characters }),
  });
  const kept = keptDigits(outcome.result._meta);
  const execution = { result, content, ...(kept.length === 0 ? {} : { metadata: { kept_digits: kept } }) };
  if (rejected.length === 0) return execution;
  return { ...execution, rejected, metadata: { ...execution.metadata, rejected_directives: rejected } };
}
