// Starts runs: writes a durable record, then wakes the run. The agent begins in its first turn.
// Must never answer before the run is durable.
import { type EndNotices, RUN_TYPE, UNKNOWN_END_NOTICES } from '../contract/signal/end-notices.ts';
import { ownId, tenantOf } from '../contract/access/tenant.ts';
import type { Spender } from '../contract/model/budget.ts';
import { requestLinks } from '../contract/api-path.ts';
import { fieldSentence } from '../contract/json/field-error.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import { flowFieldsOf } from '../contract/directive/flow.ts';
import { isTooFar, laterOf } from '../contract/directive/later.ts';
import { type Once, onceOf } from '../contract/directive/once.ts';
import type { AgentDefinition } from '../contract/run/agent-definition.ts';
import type { ParsedRun, StartedRun } from '../contract/run/run.ts';
import { encodedIn, encryptedNote } from '../contract/encrypted/encrypted.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import { SEALED_DIGEST, type StartVerdict } from '../store/run/run-journal.ts';
import type { Entry, LaneJob } from '../queue/entrance.ts';
import { onEndErrors } from '../directives/sweep/notice.ts';
import { keyConflict } from '../directives/under-key.ts';
import { uniqueOf } from '../directives/once-request.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../queue/run-wake.ts';
import type { PendingNote } from '../directives/read/span-note.ts';
import type { Agents } from '../store/catalog/known-agents.ts';
import { limitsOf as limitsOfRun, looserLimits } from './overrides.ts';
import {
  additionOf,
  announcementsOf,
  type ComingRun,
  createOnceStarter,
  fullProblem,
  noteOfStart,
  type OnceStarterParts,
} from './run-start-once.ts';
import type { JsonObject, RunSpec } from './turn/transition.ts';
import { passingRunRefusal } from '../directives/reserved-ids.ts';

export interface RunStarterParts extends OnceStarterParts {
  agents: Agents;
  /** The budgets that the calls count against. Default: none. */
  caller?: (() => Spender | undefined) | undefined;
  /** The notices of `SubmitterOptions`. */
  endNotices?: EndNotices;
}

/** `request_id` is scoped; every other id is as its tenant knows it. */
export type NamedRun = ParsedRun & { request_id: string };

export type Start = { ok: true; run: StartedRun } | { ok: false; refusal: Problem };

export type RunStarter = ReturnType<typeof createRunStarter>;

const NAMED_AGENTS = 100;

/** Who starts it, and from what. Default: a caller, on its own budget, from nothing. */
type StartedBy = Pick<RunSpec, 'spender' | 'origin'> & {
  readonly parent?: RunSpec['parent'];
  /** The content by which a repeat is recognized. Default: the run itself. */
  readonly content?: object | undefined;
};

type Origin = StartedBy & Pick<RunSpec, 'parent'>;

export function createRunStarter(parts: RunStarterParts) {
  const { agents, entrance, capacity, caller = () => undefined } = parts;
  const startUnderKey = createOnceStarter(parts);

  /**
   * `traceparent`: the trace of the run. `name`: that of a submission under a key, the same for each repeat. Throws
   * `DirectiveRefused` (`lane_full`, `service_full`) when capacity is exhausted.
   */
  async function start(
    run: NamedRun,
    traceparent: string,
    by: StartedBy = {},
    name?: string,
  ): Promise<Start> {
    const passing = passingRunRefusal(run.request_id);
    if (passing !== null) return { ok: false, refusal: passing };
    const agent = await agents.find(run.agent, tenantOf(run.request_id));
    if (agent === null) return { ok: false, refusal: await unknownAgent(agents, run) };
    const { parent = null, spender = parent === null ? caller() : undefined } = by;
    const errors = faultsOf(parts, run, agent, parent);
    if (errors.length > 0) return { ok: false, refusal: tooLoose(errors) };
    const once = onceOf(run);
    const coming = comingOf(parts, run, traceparent, { ...by, parent, spender });
    if (once === null) return startNow(coming, name);
    const lastsMs = limitsOfRun(agent, run.overrides).deadline_ms;
    return startUnderKey({ ...underKey(coming, once, name), once, lastsMs });
  }

  async function startNow(coming: ComingRun, name: string | undefined): Promise<Start> {
    const { run, started } = coming;
    const when = started.later?.when ?? null;
    const entries = additionOf(coming);
    const leave = await capacity?.reserve(new Map([[when === null ? RUN_LANE : '', 1]]), entries);
    const note = noteOfStart(parts, coming);
    const verdict = await entrance.enter(entryOf(parts, coming, note)).finally(note.release);
    if (verdict.kind !== 'started') await leave?.(entries.ids);
    if (verdict.kind === 'no_room') return { ok: false, refusal: fullProblem(parts, coming, verdict.bytes) };
    if (verdict.kind === 'conflict') return { ok: false, refusal: conflict(started.requestId, name) };
    return { ok: true, run: startedRun(run, verdict) };
  }

  return { start };
}

function faultsOf(
  { endNotices = UNKNOWN_END_NOTICES }: RunStarterParts,
  run: NamedRun,
  agent: AgentDefinition,
  parent: RunSpec['parent'],
): FieldError[] {
  const { on_end: onEnd, request_id, overrides } = run;
  // A child is not refused: it gets its agent's limits, even if its parent asked for more.
  const errors = parent === null ? looserLimits(agent, overrides) : [];
  if (isTooFar(run, Date.now())) errors.push({ path: 'run_at', message: 'must be within 365 days from now' });
  errors.push(...onEndErrors(endNotices, onEnd, { tenant: tenantOf(request_id), path: 'on_end' }));
  return errors;
}

function comingOf(
  parts: RunStarterParts,
  run: NamedRun,
  traceparent: string,
  { parent, spender, origin, content }: Origin,
): ComingRun {
  const { request_id: requestId, agent } = run;
  const noticed = onEndOf(parts, run);
  const spec = JSON.stringify({ ...specOf(run, parent), spender, origin, on_end: noticed });
  const digest = content === undefined ? digestOf(run, parent) : contentDigest(content);
  const started = { requestId, digest, agent, spec, traceparent, later: laterOf(run) };
  return { run, started, noticed: noticed !== undefined };
}

function entryOf(
  { runs }: RunStarterParts,
  coming: ComingRun,
  { announcements }: PendingNote,
): Entry<StartVerdict> {
  const { started } = coming;
  const { requestId, later = null } = started;
  return {
    requestId,
    announcements: [...announcementsOf(coming), ...announcements],
    accept: (together) => runs.start(started, together),
    jobsOf: (verdict) => (later?.when ? noneOf : firstTurn)(requestId, verdict),
    wereThere: ({ kind }) => (kind === 'started' ? [] : [RUN_ENTRY]),
    onlyLane: RUN_LANE,
  };
}

/** [] where only a rule may fit it. */
function onEndOf(
  { endNotices = UNKNOWN_END_NOTICES }: RunStarterParts,
  { request_id, agent, on_end: onEnd }: NamedRun,
): RunSpec['on_end'] {
  const facts = { tenant: tenantOf(request_id), type: RUN_TYPE, agent };
  return onEnd ?? (endNotices.concerns(facts) ? [] : undefined);
}

async function unknownAgent(agents: Agents, { agent: name, request_id: id }: NamedRun): Promise<Problem> {
  const known = (await agents.names(tenantOf(id))).slice(0, NAMED_AGENTS);
  const list = known.length === 0 ? 'none is configured' : `known agents: ${known.join(', ')}`;
  const message = `there is no agent "${name}"; ${list}`;
  return problem('not_found', { detail: message, errors: [{ path: 'agent', message }], agents: known });
}

/** A run that begins later has no job before. */
function noneOf(_requestId: string, { kind }: StartVerdict): LaneJob[] | null {
  return kind === 'started' || kind === 'existing' ? [] : null;
}

/** A run that has begun before is woken by what it waits for. */
function firstTurn(requestId: string, verdict: StartVerdict): LaneJob[] | null {
  if (verdict.kind === 'started') return [{ lane: RUN_LANE, data: wakeJob(requestId, 0) }];
  if (verdict.kind !== 'existing') return null;
  if (verdict.status !== 'pending') return [];
  return [{ lane: RUN_LANE, data: wakeJob(requestId, verdict.version) }];
}

function tooLoose(errors: FieldError[]): Problem {
  const detail = errors.slice(0, 1).map((fault) => fieldSentence(fault));
  return problem('invalid_body', { detail: detail.join(''), errors });
}

/** `name`: the id that was made of the idempotency key, which the caller knows instead. */
function conflict(requestId: string, name: string | undefined): Problem {
  if (ownId(requestId) === name) return keyConflict();
  const message = 'this id was accepted with other content';
  return problem('id_conflict', {
    detail: `request "${ownId(requestId)}" holds another run; nothing was started`,
    errors: [{ path: 'request_id', message }],
  });
}

function digestOf(run: NamedRun, parent: RunSpec['parent'], requestId = ownId(run.request_id)): string {
  const digest = contentDigest(withoutNonce({ ...run, request_id: requestId, parent }));
  return run.encrypted === undefined ? digest : `${SEALED_DIGEST}${digest}`;
}

/** As of directives: a repeat is encrypted with another nonce. */
function withoutNonce<R extends { encrypted?: unknown }>({ encrypted, ...run }: R): object {
  const encoded = encodedIn(encrypted);
  if (encoded === null) return run;
  const { codec, key_id, digest } = encoded;
  return { ...run, encrypted: { codec, key_id, digest } };
}

/** The digest is that of one submission. What is debounced begins after its quiet. */
function underKey(coming: ComingRun, once: Once, name: string | undefined) {
  const { run, started } = coming;
  const token = name ?? uniqueOf(started.requestId);
  const startByMs = started.later?.startByMs ?? null;
  const quiet =
    once.kind === 'debounce'
      ? { later: { when: `d${Math.min(once.quietMs, once.atMostMs)}`, startByMs } }
      : {};
  return { ...coming, started: { ...started, digest: digestOf(run, null, token), ...quiet }, token };
}

/** The journal adds the time of the start. */
function specOf(run: NamedRun, parent: RunSpec['parent']): Omit<RunSpec, 'started_at'> {
  const { agent, overrides, metadata, conversation_id = null } = run;
  const request_id = ownId(run.request_id);
  const flow = flowFieldsOf(run);
  const { encrypted } = run;
  const asked = encrypted === undefined ? askedOf(run) : sealedAs(encrypted);
  return {
    request_id,
    run_id: request_id,
    agent,
    ...asked,
    overrides,
    metadata,
    conversation_id,
    parent,
    ...(flow === null ? {} : { flow }),
  };
}

/** The input as readers see it until an engine with the key makes the first turn. */
function sealedAs(encrypted: unknown): Pick<RunSpec, 'query' | 'messages' | 'encrypted'> {
  const query = encryptedNote(encodedIn(encrypted)?.key_id ?? '');
  return { query, messages: [], encrypted };
}

/** The question to the run, from the form in which it was given. */
export function askedOf(given: {
  readonly query?: string | undefined;
  readonly messages?: readonly object[] | undefined;
}): Pick<RunSpec, 'query' | 'messages'> {
  const { query } = given;
  const messages = (given.messages as readonly JsonObject[] | undefined) ?? [
    { role: 'user', content: query ?? '' },
  ];
  return { query: query ?? lastQuestion(messages), messages };
}

/** The text of the last message of a user; '' when there is none. */
function lastQuestion(messages: readonly JsonObject[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.['content'];
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const texts = (content as JsonObject[]).filter(({ type }) => type === 'text');
  return texts.map(({ text }) => String(text)).join('\n');
}

function startedRun({ request_id: requestId, agent }: NamedRun, verdict: StartVerdict): StartedRun {
  const request_id = ownId(requestId);
  const status = verdict.kind === 'existing' ? verdict.status : 'pending';
  return {
    request_id,
    run_id: request_id,
    agent,
    status,
    links: requestLinks(request_id),
  };
}
