// Starts runs: writes a durable record, then wakes the run. The agent begins in its first turn.
// Must never answer before the run is durable.
import { type LimitsOfTenant, NO_TENANT_LIMITS, requestBytesOf } from '../contract/tenant-limits.ts';
import { type EndNotices, RUN_TYPE, UNKNOWN_END_NOTICES } from '../contract/end-notices.ts';
import { ownId, tenantOf } from '../contract/tenant.ts';
import type { Spender } from '../contract/budget.ts';
import { requestLinks } from '../contract/api-path.ts';
import { fieldSentence } from '../contract/field-sentence.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import { flowFieldsOf } from '../contract/flow.ts';
import { isTooFar, type Later, laterOf } from '../contract/later.ts';
import type { ParsedRun, StartedRun } from '../contract/run.ts';
import { contentDigest } from '../journal/content-digest.ts';
import type { RunJournal, StartVerdict } from '../journal/run-journal.ts';
import type { Announcement } from '../journal/journal.ts';
import type { Capacity } from '../queue/capacity.ts';
import { type Entrance, type Entry, FIRST_LOOK_MS, type LaneJob } from '../queue/entrance.ts';
import { noticeAnnouncement, onEndErrors } from '../queue/notice.ts';
import { passingRunRefusal } from '../queue/passing-request.ts';
import { requestFullProblem } from '../queue/request-full.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../queue/run-wake.ts';
import { NO_NOTES, type PendingNote, type SpanNotes } from '../queue/span-note.ts';
import type { Agents } from '../catalog/known-agents.ts';
import { looserLimits } from './overrides.ts';
import type { JsonObject, RunSpec } from './transition.ts';

export interface RunStarterParts {
  runs: RunJournal;
  agents: Agents;
  entrance: Entrance;
  /** null: children of runs are never refused for lack of memory. */
  capacity: Capacity | null;
  /** As in `RunJournalOptions`. */
  requestBytes: number;
  /** Default: all tenants have the same. */
  limitsOf?: LimitsOfTenant;
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

export function createRunStarter(parts: RunStarterParts) {
  const { runs, agents, entrance, capacity, notes = NO_NOTES, limitsOf = NO_TENANT_LIMITS } = parts;
  const { caller = () => undefined, endNotices = UNKNOWN_END_NOTICES } = parts;

  /** `traceparent`: the trace of the run. Throws `DirectiveRefused` (`lane_full`, `service_full`) when there is no room. */
  async function start(
    run: NamedRun,
    traceparent: string,
    { parent, spender }: Pick<RunSpec, 'parent' | 'spender'> = { parent: null, spender: caller() },
  ): Promise<Start> {
    const passing = passingRunRefusal(run.request_id);
    if (passing !== null) return { ok: false, refusal: passing };
    const agent = await agents.find(run.agent);
    if (agent === null) return { ok: false, refusal: await unknownAgent(run.agent) };
    // A child is not refused: it gets its agent's limits, even if its parent asked for more.
    const errors = parent === null ? looserLimits(agent, run.overrides) : [];
    if (isTooFar(run, Date.now()))
      errors.push({ path: 'run_at', message: 'must be within 365 days from now' });
    const { on_end: onEnd, request_id } = run;
    errors.push(...onEndErrors(endNotices, onEnd, { tenant: tenantOf(request_id), path: 'on_end' }));
    if (errors.length > 0) return { ok: false, refusal: tooLoose(errors) };
    const when = laterOf(run)?.when ?? null;
    const begins = new Map(when === null ? [] : [[RUN_ENTRY, when]]);
    const entries = { requestId: run.request_id, ids: [RUN_ENTRY], begins };
    const leave = await capacity?.reserve(new Map([[when === null ? RUN_LANE : '', 1]]), entries);
    const note = notes.noteOf(run.request_id, { under: traceparent, prepared: [] });
    const verdict = await entrance
      .enter(entryOf(run, traceparent, { parent, spender }, note))
      .finally(note.release);
    if (verdict.kind !== 'started') await leave?.(entries.ids);
    if (verdict.kind === 'no_room') {
      const limit = requestBytesOf(limitsOf, run.request_id, parts.requestBytes);
      return { ok: false, refusal: requestFullProblem(run.request_id, verdict.bytes, limit) };
    }
    if (verdict.kind === 'conflict') return { ok: false, refusal: conflict(run.request_id) };
    return { ok: true, run: startedRun(run, verdict) };
  }

  function entryOf(
    run: NamedRun,
    traceparent: string,
    { parent, spender }: Pick<RunSpec, 'parent' | 'spender'>,
    note: PendingNote,
  ): Entry<StartVerdict> {
    const { request_id: requestId, agent } = run;
    const noticed = onEndOf(run);
    const spec = JSON.stringify({ ...specOf(run, parent), spender, on_end: noticed });
    const notice = noticed === undefined ? [] : [noticeAnnouncement(RUN_ENTRY)];
    const digest = digestOf(run, parent);
    const later = laterOf(run);
    return {
      requestId,
      announcements: [ownAnnouncement(later), ...notice, ...note.announcements],
      accept: (together) => runs.start({ requestId, digest, agent, spec, traceparent, later }, together),
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

function ownAnnouncement(later: Later | null): Announcement {
  const announcement = { id: RUN_ENTRY, afterMs: Math.min(FIRST_LOOK_MS, later?.startByMs ?? Infinity) };
  return later?.when ? { ...announcement, later: { when: later.when, lane: RUN_LANE } } : announcement;
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

function digestOf(run: NamedRun, parent: RunSpec['parent']): string {
  return contentDigest({ ...run, request_id: ownId(run.request_id), parent });
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
