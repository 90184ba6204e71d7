// Resumes a run that has ended: checks that it can go on, asks about calls of unknown outcome, and reopens its request.
// Never takes a turn, nor repeats a call that may have acted without a decision about it.
import { ownId } from '../contract/access/tenant.ts';
import type { StartOptions } from '../contract/directive/directive-client.ts';
import { requestLinks } from '../contract/api-path.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../contract/problem.ts';
import type * as z from 'zod';
import type { ResumedRun, resumeRunBodySchema, RunStatus } from '../contract/run/run.ts';
import { isTerminalSignal, type Signal } from '../contract/signal/signal.ts';
import { keyedIds } from '../directives/identify.ts';
import { noticeAnnouncement } from '../directives/sweep/notice.ts';
import { type Entrance, FIRST_LOOK_MS } from '../queue/entrance.ts';
import { RUN_ENTRY, RUN_LANE, wakeJob } from '../queue/run-wake.ts';
import { contentDigest } from '../store/request/content-digest.ts';
import type { DeadLetterIndex } from '../store/index/dead-letter-index.ts';
import type { Journal } from '../store/request/journal.ts';
import type { ResumeVerdict, RunJournal } from '../store/run/run-journal.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import { newIdentifier } from '../platform/telemetry/identifier.ts';
import type { FoundOutcome } from '../contract/tool/reconcile.ts';
import { interruptionOf, isUnknown } from './core/interruption.ts';
import { looserLimits } from './overrides.ts';
import { runSignal } from './run-signal.ts';
import { NO_SIGNALS, type RunStore, type StoredRun } from './turn/run-store.ts';
import type { InterruptedRun } from './turn/transition.ts';
import { requestFull } from '../directives/read/not-found.ts';

export interface ResumeParts {
  runs: Pick<RunJournal, 'resume' | 'isSealed'>;
  store: Pick<RunStore, 'read'>;
  journal: Pick<Journal, 'directive' | 'log'>;
  entrance: Entrance;
  /** Finding of a person about a call of unknown outcome; null: none. Default: none. */
  found?: ((requestId: string, id: string) => Promise<FoundOutcome | null>) | undefined;
  /** The list of failed directives: a call about which the resume has a decision leaves it, so that no redrive makes it besides. */
  dead: Pick<DeadLetterIndex, 'add' | 'remove'>;
  /** Throws `DirectiveRefused` (`service_full`). */
  requireMemory(requestId?: string): Promise<void>;
  /** The most bytes of a request, for the refusal that names them. */
  mostBytes(requestId: string): number;
}

/** The API and its callers see neither the open calls nor the limits of such a run. */
const SEALED =
  'is encrypted: its state can be read by engines alone, so it is unknown here which of its calls may have acted. Start it again with the client that has its key';

export type ResumeBody = z.output<typeof resumeRunBodySchema>;

type Resume = (requestId: string, body: ResumeBody, options?: StartOptions) => Promise<ResumedRun>;

export function createResume(parts: ResumeParts): Resume {
  async function resume(
    requestId: string,
    body: ResumeBody,
    { idempotencyKey }: StartOptions = {},
  ): Promise<ResumedRun> {
    const name = `resume:${idempotencyKey === undefined ? newIdentifier() : keyedIds(idempotencyKey).request}`;
    const run = await parts.store.read(requestId, NO_SIGNALS);
    if (run === null) throw noRun(requestId);
    if ((await parts.runs.isSealed(requestId)) === true) throw notResumable(requestId, SEALED);
    await parts.requireMemory(requestId);
    const interrupted = run.document === null ? null : interruptionOf(run.document);
    const { found, calls } =
      interrupted === null ? NOTHING_OPEN : await check(parts, requestId, body, interrupted);
    const verdict = await delisted(parts.dead, calls, async () =>
      reopen(parts, { run, body, found, name, interrupted }),
    );
    return answerTo(parts, run, verdict);
  }

  return (requestId, body, options) => whileAvailable(() => resume(requestId, body, options));
}

/**
 * Takes the calls off the list before the run is reopened: where the process dies, or the answer of Redis is lost, no redrive repeats a call
 * that the resume repeats. A refused resume lists them again.
 */
async function delisted(
  dead: ResumeParts['dead'],
  calls: readonly UnknownCall[],
  work: () => Promise<ResumeVerdict>,
): Promise<ResumeVerdict> {
  const listed: DeadCall[] = [];
  for (const { entry } of calls) if (await dead.remove(entry)) listed.push(entry);
  const verdict = await work();
  const isResumed = verdict.kind === 'resumed' || verdict.kind === 'existing';
  if (!isResumed) for (const entry of listed) await dead.add(entry);
  return verdict;
}

/** The calls of unknown outcome, and the decisions that follow from what was found out about them. */
interface Checked {
  found: Decisions;
  calls: readonly UnknownCall[];
}

const NOTHING_OPEN: Checked = { found: {}, calls: [] };

/** Throws `DirectiveRefused`. */
async function check(
  parts: ResumeParts,
  requestId: string,
  { overrides, decisions }: ResumeBody,
  { agent, calls }: InterruptedRun,
): Promise<Checked> {
  const errors = looserLimits(agent, overrides);
  if (errors.length > 0) throw new DirectiveRefused(problem('invalid_body', { errors }));
  const ends = await Promise.all(calls.map(async (id) => endOf(parts, requestId, id)));
  const unknown = ends.filter((end) => end !== null);
  const open = unknown.filter(({ id }) => !Object.hasOwn(decisions, id));
  const found = new Map(
    await Promise.all(open.map(async ({ id }) => [id, await parts.found?.(requestId, id)] as const)),
  );
  const decided = open.flatMap(({ id }) => decisionOf(id, found.get(id)));
  if (decided.length === open.length) return { found: Object.fromEntries(decided), calls: unknown };
  const undecided = open.filter(({ id }) => found.get(id)?.kind !== 'happened');
  const named = undecided
    .map(({ id }) => (found.get(id)?.kind === 'not_happened' ? `${id} (found not to have happened)` : id))
    .join(', ');
  const detail = `it is unknown whether these calls of request "${ownId(requestId)}" have acted: ${named}; decide for each: repeat, done or skip`;
  const shown = undecided.map(({ entry: _entry, ...call }) => call);
  throw new DirectiveRefused(problem('outcome_unknown', { detail, calls: shown }));
}

type Decisions = ResumeBody['decisions'];

/** None: a person decides, also about a call that did not happen, whose dead letter may be redriven besides. */
function decisionOf(id: string, found: FoundOutcome | null | undefined): [string, Decisions[string]][] {
  return found?.kind === 'happened' ? [[id, { action: 'done', result: found.result }]] : [];
}

type DeadCall = Parameters<DeadLetterIndex['remove']>[0];

interface UnknownCall {
  id: string;
  tool_name: string | null;
  message: string;
  /** As the list of failed directives has it. */
  entry: DeadCall;
}

/** A call of unknown outcome; null: its outcome is known. One that is still being cancelled has none yet. */
async function endOf({ journal }: ResumeParts, requestId: string, id: string): Promise<UnknownCall | null> {
  const record = await journal.directive(requestId, id);
  if (record === null) return null;
  if (record.terminal === null)
    throw notResumable(requestId, `still ends its call "${id}"; try again in a moment`);
  const signal = (await journal.log.at(requestId, record.terminal)) as Signal | null;
  if (signal === null || !isTerminalSignal(signal) || !('result' in signal.data)) return null;
  const { data } = signal;
  if (data.result.ok || !isUnknown(data.result)) return null;
  const tool_name = 'tool_name' in data ? data.tool_name : null;
  const { type: errorType, message } = data.result.error;
  return { id, tool_name, message, entry: { requestId, id, lane: record.lane, errorType } };
}

interface Reopening {
  run: StoredRun;
  body: ResumeBody;
  found: Decisions;
  name: string;
  /** null: it goes on, has its final answer, or never began; the script knows a repeat. */
  interrupted: InterruptedRun | null;
}

async function reopen(
  { runs, entrance }: ResumeParts,
  { run, body, found, name, interrupted }: Reopening,
): Promise<ResumeVerdict> {
  const { requestId, version, traceparent, now, spec } = run;
  const data = signalData(run, { ...body, decisions: { ...found, ...body.decisions } });
  const drafted = { type: 'ai.request.resumed', data };
  const signal = runSignal(drafted, { requestId, cause: ownId(requestId), traceparent, now });
  const resumed = {
    requestId,
    name,
    digest: contentDigest(body),
    // No run has this version: only a repeat is found.
    version: interrupted === null ? -1 : version,
    calls: interrupted?.calls ?? [],
    further: interrupted?.signal ?? null,
    signal,
  };
  const notice = spec.on_end === undefined ? [] : [noticeAnnouncement(RUN_ENTRY)];
  return entrance.enter<ResumeVerdict>({
    requestId,
    announcements: [{ id: RUN_ENTRY, afterMs: FIRST_LOOK_MS }, ...notice],
    accept: (together) => runs.resume(resumed, together),
    jobsOf: (verdict) =>
      verdict.kind === 'resumed' ? [{ lane: RUN_LANE, data: wakeJob(requestId, verdict.version) }] : null,
    onlyLane: RUN_LANE,
    // In steps it is announced once more after it: the entries of the first end may have been forgotten meanwhile.
    wereThere: () => [RUN_ENTRY],
  });
}

function signalData({ requestId, document }: StoredRun, { overrides, input, decisions }: ResumeBody) {
  return {
    request_id: ownId(requestId),
    resumed: timesOf(document) + 1,
    ...(Object.keys(overrides).length === 0 ? {} : { overrides }),
    ...(input === undefined ? {} : { input: { input_id: newIdentifier(), content: input } }),
    ...(Object.keys(decisions).length === 0 ? {} : { decisions }),
  };
}

function timesOf(document: StoredRun['document']): number {
  return Number(document?.inner['resumed'] ?? 0);
}

function answerTo(parts: ResumeParts, run: StoredRun, verdict: ResumeVerdict): ResumedRun {
  const { requestId } = run;
  switch (verdict.kind) {
    case 'resumed':
      return resumedRun(run, 'running', timesOf(run.document) + 1);
    case 'existing':
      return resumedRun(run, verdict.status, Math.max(1, timesOf(run.document)));
    case 'conflict':
      throw refusal('idempotency_conflict', 'the key was used for another resume of this run');
    case 'open':
      throw notResumable(requestId, 'has not ended');
    case 'version':
      if (run.endedAt === null) throw notResumable(requestId, 'has not ended');
      throw notResumable(requestId, reasonOf(run));
    case 'no_room':
      throw requestFull(requestId, verdict.bytes, parts.mostBytes(requestId));
    case 'unknown':
      throw noRun(requestId);
  }
}

function reasonOf({ document, status }: StoredRun): string {
  if (status === 'completed') return 'has its final answer';
  const isLeft = document !== null && interruptionOf(document) !== null;
  return isLeft ? 'was changed meanwhile' : 'ended before it began: start it again under a new id';
}

function resumedRun({ requestId, agent }: StoredRun, status: RunStatus, resumed: number): ResumedRun {
  const request_id = ownId(requestId);
  return { request_id, run_id: request_id, agent, status, links: requestLinks(request_id), resumed };
}

function notResumable(requestId: string, why: string): DirectiveRefused {
  return refusal('not_resumable', `the run of request "${ownId(requestId)}" ${why}`);
}

function noRun(requestId: string): DirectiveRefused {
  const detail = `there is no run in a request "${ownId(requestId)}"; a request that is archived and no longer stored cannot be resumed, and a run of another program goes on when that program starts again`;
  return refusal('not_found', detail);
}

function refusal(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}
