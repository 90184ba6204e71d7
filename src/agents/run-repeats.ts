// Starts runs from other runs: again, from what the original began with; or forked, from one of its turns.
// Must never copy a turn: the messages of a fork are those that the original's model call of that turn has in the journal.
import { ownId, scopedId, tenantOf } from '../contract/access/tenant.ts';
import type { StartOptions } from '../contract/directive/directive-client.ts';
import { keyedIds } from '../directives/identify.ts';
import type { Directive } from '../contract/directive/directive.ts';
import { isObject } from '../contract/json/json-object.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { readBody } from '../contract/json/read-input.ts';
import type { Message } from '../contract/model/message.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { DirectiveView } from '../contract/request/request-view.ts';
import type { Result } from '../contract/result.ts';
import type { againBodySchema, forkBodySchema, RepeatedRequest } from '../contract/run/again.ts';
import { type RunOverrides, startRunBodySchema } from '../contract/run/run.ts';
import { toolContent } from '../contract/tool/tool-content.ts';
import type * as z from 'zod';
import { contentDigest } from '../store/request/content-digest.ts';
import { encrypted, requireUnredacted } from '../directives/change/again.ts';
import type { ForkOptions } from '../directives/queue-client.ts';
import type { ArchivedRequest, FindArchived } from '../directives/read/archived-reads.ts';
import { unknownRequest } from '../directives/read/not-found.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { newShortId } from '../platform/telemetry/identifier.ts';
import { NO_SPANS, type Spans } from '../platform/telemetry/traces/spans.ts';
import { isTraceparent, newTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import type { RunStarter } from './run-start.ts';
import { NO_SIGNALS, type RunStore } from './turn/run-store.ts';
import type { JsonObject, RecordedCall, RunOrigin, RunSpec } from './turn/transition.ts';

export interface RunRepeatParts {
  readonly store: RunStore;
  readonly starter: RunStarter;
  /** Default: nothing is archived. */
  readonly archived?: FindArchived | undefined;
  /** Default: nothing is traced. */
  readonly spans?: Spans;
}

/** Settings of a start by which a run is started again. */
type Repeatable = Pick<RunSpec, 'agent' | 'messages' | 'overrides' | 'metadata' | 'flow' | 'origin'>;

/** null: they are encrypted. */
export function repeatable(spec: RunSpec): Repeatable | null {
  if (spec.encrypted !== undefined || spec.sealed !== undefined) return null;
  const { agent, messages, overrides, metadata, flow, origin } = spec;
  return { agent, messages, overrides, metadata, flow, origin };
}

type ReadAgain = z.output<typeof againBodySchema>;
type ReadFork = z.output<typeof forkBodySchema>;

/** How the new run differs from the original. */
interface Changes {
  readonly agent?: string | undefined;
  readonly messages: readonly JsonObject[];
  readonly overrides: RunOverrides;
  readonly origin: RunOrigin;
  /** The content by which a repeat is recognized. */
  readonly body: object & { readonly request_id?: string | undefined };
}

/** Bounds of the record of a fork: it is part of the fork's spec, which each turn reads. */
const MOST_RECORDED = 1_000;
const MOST_RECORD_CHARACTERS = 1_048_576;
const READ_AT_ONCE = 20;

export function createRunRepeats({ store, starter, archived, spans = NO_SPANS }: RunRepeatParts) {
  async function specOf(requestId: string): Promise<Repeatable> {
    const run = await whileAvailable(() => store.read(requestId, NO_SIGNALS));
    if (run === null) return archivedStart(requestId, (await archived?.(requestId)) ?? null);
    const { spec, fault, later } = run;
    const settings = repeatable(spec);
    if (settings === null) throw encrypted(requestId);
    if (fault === null && !later) return settings;
    const why = later ? 'an engine of a later version has written it' : fault;
    const detail = `the run of request "${ownId(requestId)}" cannot be read here: ${why}`;
    throw new DirectiveRefused(problem('unavailable', { detail }));
  }

  async function start(
    requestId: string,
    spec: Repeatable,
    { agent = spec.agent, messages, overrides, origin, body }: Changes,
    { idempotencyKey, traceparent }: StartOptions,
  ): Promise<RepeatedRequest> {
    const name = idempotencyKey === undefined ? undefined : keyedIds(`run ${idempotencyKey}`).request;
    const own = body.request_id ?? name ?? newShortId();
    const { metadata, flow } = spec;
    const run = readBody(startRunBodySchema, { agent, messages, overrides, metadata, ...flow });
    const trace = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
    const content = { repeats: ownId(requestId), kind: origin.kind, body: { ...body, request_id: own } };
    const scoped = { ...run, request_id: scopedId(tenantOf(requestId), own) };
    const started = await whileAvailable(() => starter.start(scoped, trace, { origin, content }, name));
    if (!started.ok) throw new DirectiveRefused(started.refusal);
    const { request_id, links } = started.run;
    const { tools: _tools, ...shown } = origin;
    return { request_id, agent: started.run.agent, origin: shown, links };
  }

  return {
    async again(requestId: string, body: ReadAgain, options: StartOptions): Promise<RepeatedRequest> {
      const spec = await specOf(requestId);
      const { query, agent, model, overrides } = body;
      const tools = spec.origin?.tools;
      const origin: RunOrigin = {
        request_id: ownId(requestId),
        kind: 'again',
        // The repeat of a fork keeps the rules of its tools.
        ...(tools === undefined ? {} : { tools }),
      };
      const changes = {
        agent,
        messages: query === undefined ? spec.messages : withQuery(spec.messages, query),
        overrides: overridden(spec.overrides, overrides, model),
        origin,
        body,
      };
      return start(requestId, spec, changes, options);
    },

    async fork(requestId: string, body: ReadFork, options: ForkOptions): Promise<RepeatedRequest> {
      const spec = await specOf(requestId);
      const { at, say, model, system_prompt, act, dry } = body;
      const turn = await turnOf(options, at);
      if (options.view.archived === true) requireUnredacted(requestId, turn.context.messages);
      const asked = await withResults(options, turn.context.messages, body.results ?? {});
      const record = [...(await recordOf(options, { at, dry })), ...(spec.origin?.tools?.record ?? [])];
      requireRecordable(record);
      const tools = { act, dry, record };
      const prompt = system_prompt === undefined ? {} : { system_prompt };
      const changes = {
        messages: say === undefined ? asked : [...asked, { role: 'user', content: say }],
        overrides: overridden({ ...spec.overrides, ...prompt }, {}, model ?? turn),
        origin: { request_id: ownId(requestId), kind: 'fork', turn: at, tools } as const,
        body,
      };
      return start(requestId, spec, changes, options);
    },
  };
}

function archivedStart(requestId: string, found: ArchivedRequest | null): Repeatable {
  if (found === null) throw unknownRequest(requestId);
  if (found.start === null) {
    const why =
      'its archive does not hold the start of its run, which was encrypted or archived by an earlier version';
    const detail = `request "${ownId(requestId)}" cannot be repeated: ${why}`;
    throw new DirectiveRefused(problem('not_found', { detail }));
  }
  requireUnredacted(requestId, found.start);
  return found.start as unknown as Repeatable;
}

/** In place of the last message of the user, with what came after it left away. */
function withQuery(messages: readonly JsonObject[], query: string): readonly JsonObject[] {
  const last = messages.findLastIndex(({ role }) => role === 'user');
  return [...messages.slice(0, Math.max(last, 0)), { role: 'user', content: query }];
}

type AskedModel = string | { readonly model?: string | undefined; readonly model_alias?: string | undefined };

/** A model by its name or its alias: never both. */
function overridden(before: RunOverrides, more: RunOverrides = {}, model?: AskedModel): RunOverrides {
  const { limits, approvals, tool_context, ...others } = more;
  const merged = {
    ...before,
    ...others,
    ...(limits && { limits: { ...before.limits, ...limits } }),
    ...(approvals && { approvals: { ...before.approvals, ...approvals } }),
    ...(tool_context && { tool_context: { ...before.tool_context, ...tool_context } }),
  };
  const named = typeof model === 'string' ? { model } : model;
  const chosen = named ?? (more.model_alias === undefined ? {} : { model_alias: more.model_alias });
  if (chosen.model === undefined && chosen.model_alias === undefined) return merged;
  const { model: _model, model_alias: _alias, ...rest } = merged;
  return {
    ...rest,
    ...(chosen.model === undefined ? { model_alias: chosen.model_alias } : { model: chosen.model }),
  } as RunOverrides;
}

type ModelCall = Extract<Directive, { type: 'llm_stream' | 'llm_generate' }>;
type Turn = Omit<ModelCall, 'context'> & { readonly context: { readonly messages: readonly JsonObject[] } };

/** The model call of the turn as the journal has it. */
async function turnOf({ reads, view }: ForkOptions, at: number): Promise<Turn> {
  const { run, request_id } = view;
  if (run?.strategy !== 'react' && run?.strategy !== '')
    throw refusedAt('invalid_body', [
      {
        path: '',
        message: `only runs of the strategy "react" can be forked; this one has "${run?.strategy}"`,
      },
    ]);
  const directive = (await reads.directive(request_id, `model-${at}`))?.directive;
  if (directive?.type !== 'llm_stream' && directive?.type !== 'llm_generate') {
    const calls = run.iterations === 1 ? 'once' : `${run.iterations} times`;
    const detail = `the run of request "${request_id}" has no turn ${at}: its model was called ${calls}`;
    const errors = [{ path: 'at', message: `must be a turn of the run, 1 to ${run.iterations}` }];
    throw new DirectiveRefused(problem('not_found', { detail, errors }));
  }
  return directive as unknown as Turn;
}

async function withResults(
  options: ForkOptions,
  messages: readonly JsonObject[],
  results: Readonly<Record<string, unknown>>,
): Promise<readonly JsonObject[]> {
  let changed = messages;
  for (const [call, value] of Object.entries(results)) {
    const id = await callIdOf(options, messages, call);
    const at = changed.findIndex(({ role, tool_call_id }) => role === 'tool' && tool_call_id === id);
    const { is_error: _error, ...message } = changed[at] ?? {};
    if (at < 0) {
      const fault =
        'names no tool call before the turn; its id is that of its directive, or that of the model';
      throw refusedAt('invalid_body', [{ path: `results.${call}`, message: fault }]);
    }
    const content = typeof value === 'string' ? value : JSON.stringify(value ?? null);
    changed = changed.with(at, { ...message, content });
  }
  return changed;
}

const TOOL_DIRECTIVE = /^tool-(?<turn>\d{1,7})-(?<index>\d{1,4})$/;

/** The model's id of a call that is named by its directive: the next turn was asked with both. */
async function callIdOf(
  { reads, view }: ForkOptions,
  messages: readonly JsonObject[],
  call: string,
): Promise<string> {
  if (messages.some(({ tool_call_id }) => tool_call_id === call)) return call;
  const { turn, index } = TOOL_DIRECTIVE.exec(call)?.groups ?? {};
  if (turn === undefined) return call;
  const next = (await reads.directive(view.request_id, `model-${Number(turn) + 1}`))?.directive;
  const { messages: asked = [] } =
    (next as { context?: { messages?: Message[] } } | undefined)?.context ?? {};
  const answer = asked.findLast((message) => message.role === 'assistant' && message.tool_calls?.length);
  const calls = answer?.role === 'assistant' ? answer.tool_calls : undefined;
  return calls?.[Number(index)]?.id ?? call;
}

/**
 * The calls of the original that a call of the fork may be answered from: those from the turn on first, in their order. Those of
 * `read` and `idempotent` tools only for a dry fork.
 */
async function recordOf(
  { reads, view }: ForkOptions,
  { at, dry }: Pick<ReadFork, 'at' | 'dry'>,
): Promise<RecordedCall[]> {
  const { request_id, directives } = view;
  const ids = directives.filter(({ type }) => type === 'tool_exec').map(({ id }) => id);
  if (ids.length > MOST_RECORDED)
    throw tooMuch(`has ${ids.length} tool calls; a fork records at most ${MOST_RECORDED}`);
  const after: RecordedCall[] = [];
  const before: RecordedCall[] = [];
  let characters = 0;
  for (let first = 0; first < ids.length; first += READ_AT_ONCE) {
    const some = ids.slice(first, first + READ_AT_ONCE);
    for (const seen of await Promise.all(some.map(async (id) => reads.directive(request_id, id)))) {
      const made = seen && recordedCall(seen, request_id, dry);
      if (!made) continue;
      characters += JSON.stringify(made.call).length;
      if (characters > MOST_RECORD_CHARACTERS) throw tooLarge();
      (made.turn >= at ? after : before).push(made.call);
    }
  }
  return [...after, ...before];
}

function recordedCall(
  { id, directive, attempts, result: signal }: DirectiveView,
  request_id: string,
  dry: boolean,
): { turn: number; call: RecordedCall } | null {
  if (directive.type !== 'tool_exec') return null;
  const { tool_name, iteration = 0 } = directive;
  const named = { tool_name, digest: contentDigest(directive.arguments as object), request_id, call_id: id };
  const unknown = { turn: iteration, call: { ...named, result: null, content: '' } };
  if (signal?.type !== 'ai.tool.result') return unknown;
  const { result, content = toolContent(result), metadata } = signal.data;
  const effect = isObject(metadata) ? metadata['effect'] : undefined;
  if (!dry && (effect === 'read' || effect === 'idempotent')) return null;
  if (dry || hasActed(result)) return { turn: iteration, call: { ...named, result, content } };
  // A call that no worker has begun did not act.
  return attempts === 0 ? null : unknown;
}

/** The tool itself has answered. */
function hasActed(result: Result): boolean {
  return result.ok || result.error.type === 'tool_error';
}

function requireRecordable(record: readonly RecordedCall[]): void {
  if (JSON.stringify(record).length > MOST_RECORD_CHARACTERS * 2) throw tooLarge();
}

function tooLarge(): DirectiveRefused {
  return tooMuch(
    `has more than ${MOST_RECORD_CHARACTERS} characters of tool results, the most that a fork records`,
  );
}

function tooMuch(why: string): DirectiveRefused {
  return new DirectiveRefused(problem('request_full', { detail: `nothing was forked: the original ${why}` }));
}
