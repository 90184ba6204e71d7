// The reads of a request for programs: its signals, its directives and their results. Never changes anything.
import { DirectiveRefused } from '../../contract/problem.ts';
import { resultSchema } from '../../contract/result.ts';
import type { RequestView } from '../../contract/request/request-view.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../contract/signal/signal.ts';
import type { SignalPage } from '../../contract/signal/signal-page.ts';
import { decodeEnvelope, type Envelope } from '../../store/request/envelope.ts';
import { PayloadLost, type PayloadObjects, wholeEnvelope } from '../../store/request/large-payloads.ts';
import type { SignalFollower } from '../../store/log/signal-log.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { PayloadStore } from '../../store/request/payload-store.ts';
import { redrivenCost, withRedrives } from '../../store/request/redriven-cost.ts';
import { truncatedBytes, type WholeResult } from '../../store/request/whole-result.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { type GateLooks, gateWaits } from '../../queue/gate-waits.ts';
import type { LaneWaits } from '../../queue/lane-waits.ts';
import { customTypeOf } from '../../store/catalog/route.ts';
import { noPayload, unknownDirective, unknownRequest } from './not-found.ts';
import { NO_NOTICES, type ReadNotices } from '../sweep/notice-reader.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { createTraceReader, type TraceReaderParts } from './request-trace.ts';
import {
  directiveView,
  type PresentWaits,
  requestView,
  type SeenNow,
  type SeenRun,
  type TracePage,
  traceView,
} from './views.ts';

export interface RequestReaderParts {
  journal: Journal;
  follower: SignalFollower;
  payloads: PayloadStore;
  runs: {
    /** null: the request has no run. */
    view(requestId: string): Promise<SeenRun | null>;
    /** The context that its run was started in; null: it has no run. */
    traceparent(requestId: string): Promise<string | null>;
  } & TraceReaderParts['runs'];
  /** Default: no page. */
  tracePage?: TracePage | undefined;
  /** Default: of a wait no more is known than the journal has. */
  waits?: Pick<LaneWaits, 'of'> | undefined;
  /** Default: nothing waits in a gate. */
  gates?: GateLooks | undefined;
  /** Default: no notices. */
  notices?: ReadNotices | undefined;
  /** Part of `TraceReaderParts`. */
  workerNames?: TraceReaderParts['workerNames'];
}

const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;
/** Larger ones would hold up the process as they are read and written. A signal above it is a page of its own. */
const PAGE_BYTES = 2_097_152;

const NONE: SeenNow['gated'] = new Map();

/** Directives of a request whose questions are shown; `get` of one directive shows those of the others. */
const MOST_ASKING = 20;

/** `whole` completes results of which the log holds a part. */
export function createRequestReader(parts: RequestReaderParts, whole: WholeResult) {
  const { journal, follower, payloads, runs, tracePage = null, waits, gates, notices, workerNames } = parts;
  async function* signals(
    requestId: string,
    options: { after?: number; signal?: AbortSignal; follow?: boolean } = {},
  ): AsyncGenerator<Signal> {
    const head = await whileAvailable(() => journal.head(requestId));
    if (!head) throw unknownRequest(requestId);
    yield* follower.follow(requestId, options);
  }

  async function page(
    requestId: string,
    { after = 0, limit = DEFAULT_PAGE }: { after?: number; limit?: number } = {},
  ): Promise<SignalPage> {
    return whileAvailable(async () => {
      const head = await journal.head(requestId);
      if (!head) throw unknownRequest(requestId);
      const size = { limit: Math.min(limit, LARGEST_PAGE), bytes: PAGE_BYTES };
      const { signals: read, more } = await journal.log.read(requestId, after, size);
      const last = read.at(-1)?.sequence ?? Math.min(after, head.sequence);
      return {
        signals: read,
        last_sequence: last,
        more,
        closed: head.status === 'closed' && last >= head.sequence,
      };
    });
  }

  async function request(requestId: string): Promise<RequestView | null> {
    return whileAvailable(async () => {
      const [now, found, run] = await Promise.all([
        journal.now(),
        journal.request(requestId),
        runs.view(requestId),
      ]);
      if (found === null) return null;
      const { record, directives } = found;
      const [trace, redriven, seen] = await Promise.all([
        pageOf(requestId, directives),
        run && redrivenCost(journal.log, requestId, directives),
        seenNow({ journal, waits, gates, notices }, { requestId, directives, now, run }),
      ]);
      const whole = run && { ...run, view: withRedrives(run.view, redriven) };
      return requestView(requestId, record, { directives, ...seen }, whole, trace);
    });
  }

  async function pageOf(requestId: string, directives: readonly DirectiveRecord[]) {
    return traceView(await traceOf({ journal, runs }, requestId, directives), tracePage);
  }

  async function directive(requestId: string, directiveId: string) {
    return whileAvailable(async () => {
      const [now, record, json] = await Promise.all([
        journal.now(),
        journal.directive(requestId, directiveId),
        journal.envelope(requestId, directiveId),
      ]);
      if (!record || json === null) return null;
      const ended = record.terminal === null ? null : await journal.log.at(requestId, record.terminal);
      // Its request has expired since the record was read.
      if (record.terminal !== null && ended === null) return null;
      const result = ended && (await whole(requestId, ended));
      const read = { requestId, directives: [record], now, run: null };
      const seen = { pageOf: tracePage, ...(await seenNow({ journal, waits, gates, notices }, read)) };
      const envelope = await wholeOrPart(payloads.objects, decodeEnvelope(json));
      return directiveView(requestId, record, envelope, result, seen);
    });
  }

  async function payload(requestId: string, directiveId: string): Promise<unknown> {
    return whileAvailable(async () => {
      const signal = await recordedEnd(journal, requestId, directiveId);
      const result = resultSchema.safeParse(signal && 'result' in signal.data ? signal.data.result : null);
      if (!signal || !result.success || !result.data.ok) throw noPayload(requestId, directiveId);
      if (truncatedBytes(signal) === null) return result.data.payload;
      const json = await payloads.get(requestId, directiveId);
      if (json === null) throw noPayload(requestId, directiveId);
      return JSON.parse(json) as unknown;
    });
  }

  const trace = createTraceReader({ journal, runs, pageOf, notices, workerNames });
  return { signals, page, request, trace, directive, payload };
}

/** Shows a lost or unreadable payload as such. */
async function wholeOrPart(objects: PayloadObjects, envelope: Envelope): Promise<Envelope> {
  return wholeEnvelope(objects, envelope).catch((error: unknown) => {
    if (error instanceof PayloadLost || error instanceof DirectiveRefused) return envelope;
    throw error;
  });
}

/** Trace of its run, else of its first directive: later submissions to a request may belong to another trace. */
async function traceOf(
  { journal, runs }: Pick<RequestReaderParts, 'journal' | 'runs'>,
  requestId: string,
  [first]: readonly DirectiveRecord[],
): Promise<string | null> {
  const [ofRun, signal] = await Promise.all([runs.traceparent(requestId), journal.log.at(requestId, 1)]);
  if (ofRun !== null || signal !== null) return ofRun ?? signal?.traceparent ?? null;
  const json = first ? await journal.envelope(requestId, first.id) : null;
  return json === null ? null : decodeEnvelope(json).traceparent;
}

/** Data beside the records of these directives: their open questions, and the present reasons of their waits. */
async function seenNow(
  { journal, waits, gates, notices: noticesOf }: SeeingParts,
  { requestId, directives, now, run }: ReadRecords,
): Promise<SeenNow> {
  const gated = gates === undefined ? NONE : await gateWaits({ journal, gates }, requestId, directives);
  const isRunOver = run !== null && run.noticed && run.view.ended_at !== null;
  const [rounds, present, notices = NO_NOTICES] = await Promise.all([
    openRounds(journal, requestId, directives),
    presentWaits(waits, { directives, gated, now }),
    noticesOf?.(requestId, directives, isRunOver),
  ]);
  return { rounds, present, gated, now, notices };
}

type SeeingParts = Pick<RequestReaderParts, 'journal' | 'waits' | 'gates' | 'notices'>;

interface ReadRecords {
  requestId: string;
  directives: readonly DirectiveRecord[];
  now: number;
  run: SeenRun | null;
}

/** Open questions of tools, of as many directives as one answer can hold. */
function openRounds({ questions }: Journal, requestId: string, directives: readonly DirectiveRecord[]) {
  const asking = directives.filter(({ asked }) => asked !== null).map(({ id }) => id);
  return questions.rounds(requestId, asking.slice(0, MOST_ASKING));
}

/** A directive that is accepted for so long should have been taken: its lane says why it was not. Milliseconds. */
const UNTAKEN_MS = 1_000;

/** States of the lanes in which one of them waits. */
async function presentWaits(
  waits: RequestReaderParts['waits'],
  { directives, gated, now }: { directives: readonly DirectiveRecord[] } & Pick<SeenNow, 'gated' | 'now'>,
): Promise<PresentWaits> {
  const stuck = directives.filter(
    ({ id, lane, status, acceptedAt, waits: known, leaseUntil }) =>
      known !== null ||
      gated.has(id) ||
      (status === 'accepted' && acceptedAt + UNTAKEN_MS <= now) ||
      (leaseUntil !== null && (leaseUntil <= now || isCustom(lane))),
  );
  const lanes = new Set(stuck.flatMap(({ lane }) => (lane === null ? [] : [lane])));
  if (waits === undefined) return new Map();
  const found = await Promise.all(
    [...lanes].map(async (lane) => [lane, await waits.of(lane).catch(() => null)] as const),
  );
  return new Map(found.flatMap(([lane, wait]) => (wait === null ? [] : [[lane, wait] as const])));
}

/** A worker that has claimed a directive of such a lane may wait for a program. */
function isCustom(lane: string | null): boolean {
  return lane !== null && customTypeOf(lane) !== null;
}

/** The signal that ended the directive; null: it has not ended. Throws where there is no such directive. */
export async function recordedEnd(
  journal: Journal,
  requestId: string,
  directiveId: string,
): Promise<TerminalSignal | null> {
  const record = await journal.directive(requestId, directiveId);
  if (!record) throw unknownDirective(requestId, directiveId);
  const signal = record.terminal === null ? null : await journal.log.at(requestId, record.terminal);
  return signal && isTerminalSignal(signal) ? signal : null;
}
