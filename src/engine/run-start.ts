// Starts runs: writes a durable record, then wakes the run. The agent begins in its first turn.
// Must never answer before the run is durable.
import { NO_TENANT_LIMITS, requestBytesOf } from '../contract/tenant-limits.ts';
import { type EndNotices, RUN_TYPE, UNKNOWN_END_NOTICES } from '../contract/end-notices.ts';
import { ownId, tenantOf } from '../contract/tenant.ts';
import type { Spender } from '../contract/budget.ts';
import { requestLinks } from '../contract/api-path.ts';
import { fieldSentence } from '../contract/field-sentence.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import { flowFieldsOf } from '../contract/flow.ts';
import { isTooFar, laterOf } from '../contract/later.ts';
import { type Once, onceOf } from '../contract/once.ts';
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { ParsedRun, StartedRun } from '../contract/run.ts';
import { contentDigest } from '../journal/content-digest.ts';
import type { StartVerdict } from '../journal/run-journal.ts';
import type { Entry, LaneJob } from '../queue/entrance.ts';
import { onEndErrors } from '../queue/notice.ts';
import { uniqueOf } from '../queue/once-request.ts';
import { passingRunRefusal } from '../queue/passing-request.ts';
import { requestFullProblem } from '../queue/request-full.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../queue/run-wake.ts';
import { NO_NOTES, type SpanNotes } from '../queue/span-note.ts';
import type { Agents } from '../catalog/known-agents.ts';
import { limitsOf as limitsOfRun, looserLimits } from './overrides.ts';
import {
  additionOf,
  announcementsOf,
  type ComingRun,
  createOnceStarter,
  type OnceStarterParts,
} from './run-start-once.ts';
import type { JsonObject, RunSpec } from './transition.ts';

export interface RunStarterParts extends OnceStarterParts {
  agents: Agents;
  /** On whose budget those who call spend. Default: on nobody's. */
  caller?: (() => Spender | undefined) | undefined;
  /** Default: the span of a POST whose process dies is lost. */
  notes?: SpanNotes;
  /** As in `SubmitterOptions`. */
  endNotices?: EndNotices;
}

/** `request_id` is scoped; every other id is as its tenant knows it. */
export type NamedRun = ParsedRun & { request_id: string };

export type Start = { ok: true; run: StartedRun } | { ok: false; refusal: Problem };

export type RunStarter = ReturnType<typeof createRunStarter>;

const NAMED_AGENTS = 100;

/** Who starts it. */
type Origin = Pick<RunSpec, 'parent' | 'spender'>;

export function createRunStarter(parts: RunStarterParts) {
  const { runs, agents, entrance, capacity, notes = NO_NOTES, limitsOf = NO_TENANT_LIMITS } = parts;
  const { caller = () => undefined, endNotices = UNKNOWN_END_NOTICES } = parts;
  const startUnderKey = createOnceStarter(parts);

  /**
   * `traceparent`: the trace of the run. `name`: of a submission under a key, the same for each repeat. Throws `DirectiveRefused`
   * (`lane_full`, `service_full`) when there is no room.
   */
  async function start(
    run: NamedRun,
    traceparent: string,
    { parent, spender }: Origin = { parent: null, spender: caller() },
    name?: string,
  ): Promise<Start> {
    const agent = await agents.find(run.agent);
    const refusal = await refusalOf(run, agent, parent);
    if (agent === null || refusal !== null)
      return { ok: false, refusal: refusal ?? (await unknownAgent(run.agent)) };
    const once = onceOf(run);
    const coming = comingOf(run, traceparent, { parent, spender });
    if (once === null) return startNow(run, coming);
    const lastsMs = limitsOfRun(agent, run.overrides).deadline_ms;
    return startUnderKey({ ...underKey(coming, once, name), once, lastsMs });
  }

  /** null: nothing of it is refused. */
  async function refusalOf(
    run: NamedRun,
    agent: AgentDefinition | null,
    parent: RunSpec['parent'],
  ): Promise<Problem | null> {
    const passing = passingRunRefusal(run.request_id);
    if (passing !== null) return passing;
    if (agent === null) return unknownAgent(run.agent);
    // A child is not refused: it gets its agent's limits, even if its parent asked for more.
    const errors = parent === null ? looserLimits(agent, run.overrides) : [];
    if (isTooFar(run, Date.now()))
      errors.push({ path: 'run_at', message: 'must be within 365 days from now' });
    const { on_end: onEnd, request_id } = run;
    errors.push(...onEndErrors(endNotices, onEnd, { tenant: tenantOf(request_id), path: 'on_end' }));
    return errors.length > 0 ? tooLoose(errors) : null;
  }

  async function startNow(run: NamedRun, coming: ComingRun): Promise<Start> {
    const { requestId } = coming.started;
    const when = coming.started.later?.when ?? null;
    const entries = additionOf(coming);
    const leave = await capacity?.reserve(new Map([[when === null ? RUN_LANE : '', 1]]), entries);
    const verdict = await entrance.enter(entryOf(coming)).finally(coming.note.release);
    if (verdict.kind !== 'started') await leave?.(entries.ids);
    if (verdict.kind === 'no_room') {
      const limit = requestBytesOf(limitsOf, requestId, parts.requestBytes);
      return { ok: false, refusal: requestFullProblem(requestId, verdict.bytes, limit) };
    }
    if (verdict.kind === 'conflict') return { ok: false, refusal: conflict(requestId) };
    return { ok: true, run: startedRun(run, verdict) };
  }

  function comingOf(run: NamedRun, traceparent: string, { parent, spender }: Origin): ComingRun {
    const { request_id: requestId, agent } = run;
    const noticed = onEndOf(run);
    const spec = JSON.stringify({ ...specOf(run, parent), spender, on_end: noticed });
    const started = {
      requestId,
      digest: digestOf(run, parent),
      agent,
      spec,
      traceparent,
      later: laterOf(run),
    };
    const note = notes.noteOf(requestId, { under: traceparent, prepared: [] });
    return { run, started, noticed: noticed !== undefined, note };
  }

  function entryOf({ started, noticed, note }: ComingRun): Entry<StartVerdict> {
    const { requestId, later = null } = started;
    return {
      requestId,
      announcements: announcementsOf({ started, noticed, note }),
      accept: (together) => runs.start(started, together),
      jobsOf: (verdict) => (later?.when ? noneOf : firstTurn)(requestId, verdict),
      wereThere: ({ kind }) => (kind === 'started' ? [] : [RUN_ENTRY]),
      onlyLane: RUN_LANE,
    };
  }

  /** [] where only a rule may fit it. */
  function onEndOf({ request_id, agent, on_end: onEnd }: NamedRun): RunSpec['on_end'] {
    const facts = { tenant: tenantOf(request_id), type: RUN_TYPE, agent };
    return onEnd ?? (endNotices.concerns(facts) ? [] : undefined);
  }

  async function unknownAgent(name: string): Promise<Problem> {
    const known = (await agents.names()).slice(0, NAMED_AGENTS);
    const list = known.length === 0 ? 'none is configured' : `known agents: ${known.join(', ')}`;
    const message = `there is no agent "${name}"; ${list}`;
    return problem('not_found', { detail: message, errors: [{ path: 'agent', message }], agents: known });
  }

  return { start };
}

/** What begins later has no job before. */
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

function conflict(requestId: string): Problem {
  const message = 'this id was accepted with other content';
  return problem('id_conflict', {
    detail: `request "${ownId(requestId)}" holds another run; nothing was started`,
    errors: [{ path: 'request_id', message }],
  });
}

function digestOf(run: NamedRun, parent: RunSpec['parent'], requestId = ownId(run.request_id)): string {
  return contentDigest({ ...run, request_id: requestId, parent });
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
  const messages: readonly JsonObject[] = run.messages ?? [{ role: 'user', content: run.query ?? '' }];
  const flow = flowFieldsOf(run);
  const query = run.query ?? lastQuestion(messages);
  return {
    request_id,
    run_id: request_id,
    agent,
    query,
    messages,
    overrides,
    metadata,
    conversation_id,
    parent,
    ...(flow === null ? {} : { flow }),
  };
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
