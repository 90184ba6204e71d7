// An archived request in the form in which Redis' requests are read: view, signals, directives, payloads, trace.
// Never holds more of the archive than its bounds, nor more than one of its requests at once for longer than a page takes.
import type { Readable } from 'node:stream';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../contract/problem.ts';
import type { ArchiveLine } from '../../contract/request/archive.ts';
import { DEFAULT_TRACED, MOST_TRACED } from '../../contract/request/request-trace.ts';
import type { DirectiveSummary, DirectiveView, RequestView } from '../../contract/request/request-view.ts';
import type { RunView } from '../../contract/run/run.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../contract/signal/signal.ts';
import { createSemaphore } from '../../platform/bounds/semaphore.ts';
import { createSteps, type NextStep } from '../../platform/bounds/steps.ts';
import type { ArchivedRequest, FindArchived } from '../../directives/read/archived-reads.ts';
import { noFacts, noteSignal } from '../../directives/read/trace-log.ts';
import { requestTrace } from '../../directives/read/trace-view.ts';
import { type TracePage, traceView } from '../../directives/read/views.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { truncatedBytes } from '../../store/request/whole-result.ts';
import type { ReadArchived } from './archived-request.ts';

/** Bound of a request that is read whole; `GET …/archive` streams a larger one. */
const MOST_BYTES = 33_554_432;
/** Time for which a page reads the request once, milliseconds. */
const KEPT_MS = 5_000;
/** Callers that wait for the archive, of all tenants and of one; a further one is refused. */
const MOST_WAITING = 32;
const MOST_OF_TENANT = 16;
const RETRY_AFTER_MS = 1_000;
const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;
const PAGE_BYTES = 2_097_152;
const LINE_FEED = 0x0a;

export function createArchivedReads(
  read: ReadArchived,
  { pageOf, now = () => performance.now() }: { pageOf: TracePage; now?: () => number },
): FindArchived {
  const place = createSemaphore(1);
  const nextStep = createSteps();
  /** The tenant of each caller that waits. */
  const waiting: string[] = [];
  let last: { requestId: string; found: ArchivedRequest | null; until: number } | null = null;

  async function load(requestId: string): Promise<ArchivedRequest | null> {
    if (last !== null && last.requestId === requestId && last.until > now()) return last.found;
    last = null;
    const stream = await read(requestId);
    const lines = stream && (await linesOf(stream, requestId, nextStep));
    const found = lines && archivedRequest(lines, pageOf);
    last = { requestId, found, until: now() + KEPT_MS };
    // The memory of a large request is free again when its page is read.
    setTimeout(() => {
      if (last !== null && last.until <= now()) last = null;
    }, KEPT_MS + 1).unref();
    return found;
  }

  return async (requestId) => {
    const tenant = tenantOf(requestId);
    const ofTenant = waiting.filter((each) => each === tenant).length;
    if (waiting.length >= MOST_WAITING || ofTenant >= MOST_OF_TENANT)
      throw new ServiceUnavailable('Too many callers read the archive', { retryAfterMs: RETRY_AFTER_MS });
    waiting.push(tenant);
    await place.take();
    try {
      return await load(requestId);
    } finally {
      place.release();
      waiting.splice(waiting.indexOf(tenant), 1);
    }
  };
}

async function linesOf(stream: Readable, requestId: string, nextStep: NextStep): Promise<ArchiveLine[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      stream.destroy();
      throw tooLarge(requestId);
    }
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  const lines: ArchiveLine[] = [];
  for (let from = 0; from < whole.length;) {
    const end = whole.indexOf(LINE_FEED, from);
    const to = end < 0 ? whole.length : end;
    lines.push(JSON.parse(whole.toString('utf8', from, to)) as ArchiveLine);
    from = to + 1;
    await nextStep();
  }
  if (lines.at(-1)?.kind !== 'end')
    throw new ServiceUnavailable(`The archive of request "${ownId(requestId)}" is incomplete`);
  return lines;
}

function tooLarge(requestId: string): DirectiveRefused {
  const id = ownId(requestId);
  const detail = `request "${id}" is archived and has more than ${MOST_BYTES} bytes: GET /v1/requests/${id}/archive streams it, as \`adjutant get ${id} --archive\` does`;
  return new DirectiveRefused(problem('not_found', { detail }));
}

interface Parts {
  readonly head: Extract<ArchiveLine, { kind: 'request' }>;
  readonly directives: readonly DirectiveView[];
  readonly signals: readonly Signal[];
  readonly payloads: ReadonlyMap<string, unknown>;
  /** Terminal signal of each directive. */
  readonly ends: ReadonlyMap<string, TerminalSignal>;
  readonly trace: Pick<RequestView, 'trace_id' | 'trace_url'>;
}

function archivedRequest(lines: readonly ArchiveLine[], pageOf: TracePage): ArchivedRequest | null {
  const [head] = lines;
  if (head?.kind !== 'request') return null;
  const directives = lines.flatMap((line) =>
    line.kind === 'directive' ? [line.directive as unknown as DirectiveView] : [],
  );
  const signals = lines.flatMap((line) => (line.kind === 'signal' ? [line.signal as unknown as Signal] : []));
  const payloads = lines.flatMap((line) =>
    line.kind === 'payload' ? [[line.directive_id, line.payload] as const] : [],
  );
  const ends = signals.flatMap((signal) =>
    isTerminalSignal(signal) && 'call_id' in signal.data ? [[signal.data.call_id, signal] as const] : [],
  );
  const trace = traceView(signals[0]?.traceparent ?? null, pageOf);
  const parts = { head, directives, signals, payloads: new Map(payloads), ends: new Map(ends), trace };
  return {
    view: viewOf(parts),
    start: head.start ?? null,
    signalsAfter: (sequence) => signals.slice(Math.max(0, sequence)),
    page: (options) => pageOfSignals(parts, options),
    trace: ({ limit = DEFAULT_TRACED }) => traceOf(parts, Math.min(Math.max(1, limit), MOST_TRACED)),
    directive: (id) => directiveOf(parts, id),
    payload: (id) => payloadOf(parts, id),
  };
}

function viewOf({ head, directives, trace }: Parts): RequestView {
  const { request_id, sequence, created_at, closed_at, run } = head;
  return {
    request_id,
    status: 'closed',
    sequence,
    open: 0,
    created_at,
    closed_at,
    archived: true,
    ...trace,
    directives: directives.map(summaryOf),
    ...(run === null ? {} : { run: run as unknown as RunView }),
  };
}

function summaryOf(view: DirectiveView): DirectiveSummary {
  const {
    directive: _content,
    result: _end,
    priority: _p,
    limits: _l,
    trace_id: _t,
    trace_url: _u,
    ...summary
  } = view;
  return summary;
}

/** The log has no gap, and begins with 1. */
function pageOfSignals(
  { head, signals }: Parts,
  { after = 0, limit = DEFAULT_PAGE }: { after?: number; limit?: number },
) {
  const page: Signal[] = [];
  let bytes = 0;
  for (const signal of signals.slice(after, after + Math.min(limit, LARGEST_PAGE))) {
    bytes += JSON.stringify(signal).length;
    if (page.length > 0 && bytes > PAGE_BYTES) break;
    page.push(signal);
  }
  const last = page.at(-1)?.sequence ?? Math.min(after, head.sequence);
  return {
    signals: page,
    last_sequence: last,
    more: last < head.sequence,
    closed: last >= head.sequence,
  };
}

function directiveOf(parts: Parts, id: string): DirectiveView | null {
  const view = parts.directives.find((each) => each.id === id);
  return view === undefined ? null : { ...view, ...parts.trace, result: wholeEnd(parts, id) };
}

/** With its payload, where the log holds a part of an answer. */
function wholeEnd({ ends, payloads }: Parts, id: string): TerminalSignal | null {
  const end = ends.get(id);
  if (end === undefined || truncatedBytes(end) === null || !payloads.has(id)) return end ?? null;
  if (end.type !== 'ai.llm.response' && end.type !== 'ai.embed.result') return end;
  const { result } = end.data;
  if (!result.ok) return end;
  return {
    ...end,
    data: { ...end.data, result: { ...result, payload: payloads.get(id) } },
  } as TerminalSignal;
}

function payloadOf({ ends, payloads }: Parts, id: string): { payload: unknown } | null {
  if (payloads.has(id)) return { payload: payloads.get(id) };
  const end = ends.get(id);
  if (end === undefined || !('result' in end.data) || truncatedBytes(end) !== null) return null;
  const { result } = end.data;
  return result.ok ? { payload: result.payload } : null;
}

/** Claims and turns are in the journal alone: attempts are counted as left out. */
function traceOf(parts: Parts, limit: number) {
  const { head, directives, signals, trace } = parts;
  const log = noFacts();
  for (const signal of signals) noteSignal(log, signal);
  log.read = head.sequence;
  const closedAt = Date.parse(head.closed_at);
  const record = {
    status: 'closed' as const,
    sequence: head.sequence,
    open: 0,
    createdAt: Date.parse(head.created_at),
    closedAt,
  };
  const history = {
    record,
    directives: directives.map((view) => recordOf(parts, view)),
    turns: [],
    claimsOf: () => [],
    cancelAskedAt: () => null,
    now: closedAt,
  };
  const run = head.run === null ? null : { view: head.run as unknown as RunView, parent: null };
  const nothing = { names: namesOf(directives), notices: new Map(), workers: new Map<string, string>() };
  return requestTrace({ requestId: head.request_id, history, log, run, trace, ...nothing, limit });
}

function namesOf(directives: readonly DirectiveView[]): ReadonlyMap<string, string> {
  const named = directives.flatMap(({ id, directive }) => {
    const { tool_name: tool, model } = directive as { tool_name?: string; model?: string };
    const name = tool ?? model;
    return name === undefined ? [] : [[id, name] as const];
  });
  return new Map(named);
}

function recordOf({ ends }: Parts, view: DirectiveView): DirectiveRecord {
  const instantOf = (text: string | null): number | null => (text === null ? null : Date.parse(text));
  const { id, type, status, digest, lane, attempts, failures, redeliveries, begins_at, start_by_at } = view;
  return {
    id,
    type,
    status,
    digest,
    lane,
    fence: attempts,
    released: 0,
    failures,
    redeliveries,
    acceptedAt: Date.parse(view.accepted_at),
    deadlineAt: Date.parse(view.deadline_at),
    startedAt: instantOf(view.started_at),
    endedAt: instantOf(view.ended_at),
    leaseUntil: null,
    claimedAt: null,
    nextAttemptAt: null,
    begin: begins_at === undefined ? null : { at: Date.parse(begins_at), by: instantOf(start_by_at ?? null) },
    behind: false,
    cancel: null,
    terminal: ends.get(id)?.sequence ?? null,
    waits: null,
    priority: view.priority ?? null,
    asked: null,
    task: false,
    noticed: false,
  };
}
