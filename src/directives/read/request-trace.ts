// Reads the trace of a request: its history, what its log says of it, its run.
// Must never change anything, nor read more than its limits.
import type { Directive } from '../../contract/directive/directive.ts';
import { DEFAULT_TRACED, MOST_TRACED, type RequestTrace } from '../../contract/request/request-trace.ts';
import type { RequestView } from '../../contract/request/request-view.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { unknownRequest } from './not-found.ts';
import { NO_NOTICES, type ReadNotices } from '../sweep/notice-reader.ts';
import { type LogFacts, noteSignal, readLogFacts } from './trace-log.ts';
import { requestTrace } from './trace-view.ts';
import type { SeenRun } from './views.ts';

export interface TraceReaderParts {
  journal: Journal;
  runs: {
    /** null: the request has no run. `parent`: the request whose run started it. */
    family(requestId: string): Promise<(SeenRun & { parent: string | null }) | null>;
  };
  /** Default: no notices. */
  notices?: ReadNotices | undefined;
  /** Ids of processes by their codes. Default: the codes are shown. */
  workerNames?: ((codes: readonly string[]) => Promise<ReadonlyMap<string, string>>) | undefined;
  /** The id and the page of the trace that the request belongs to. */
  pageOf(
    requestId: string,
    directives: readonly DirectiveRecord[],
  ): Promise<Pick<RequestView, 'trace_id' | 'trace_url'>>;
}

/** Most single reads of entries that the log's limits or its order leave out. */
const MOST_SINGLE = 100;

export function createTraceReader(parts: TraceReaderParts) {
  const { journal, runs, pageOf, notices: noticesOf, workerNames } = parts;
  async function read(requestId: string, limit: number): Promise<RequestTrace> {
    const history = await journal.history(requestId);
    if (history === null) throw unknownRequest(requestId);
    const [log, run, trace] = await Promise.all([
      readLogFacts(journal.log, requestId),
      runs.family(requestId),
      pageOf(requestId, history.directives),
    ]);
    const shown = history.directives.slice(0, limit);
    await readMissedEnds(requestId, shown, log);
    const isRunOver = run !== null && run.noticed && run.view.ended_at !== null;
    const codes = shown
      .flatMap((directive) => history.claimsOf(directive))
      .flatMap(({ worker }) => worker ?? []);
    const [names, notices = NO_NOTICES, workers = new Map<string, string>()] = await Promise.all([
      readNames(requestId, shown, log),
      noticesOf?.(requestId, shown, isRunOver),
      workerNames?.([...new Set(codes)]),
    ]);
    return requestTrace({ requestId, history, log, run, trace, names, notices, workers, limit });
  }

  /** Ends of directives beyond the part of the log that was read. */
  async function readMissedEnds(
    requestId: string,
    shown: readonly DirectiveRecord[],
    log: LogFacts,
  ): Promise<void> {
    const missed = shown.filter(({ terminal }) => terminal !== null && terminal > log.read);
    const read = missed.slice(0, MOST_SINGLE).map(async ({ terminal }) => {
      const signal = terminal === null ? null : await journal.log.at(requestId, terminal);
      if (signal !== null) noteSignal(log, signal);
    });
    await Promise.all(read);
  }

  /** The tools and models of directives of which the log has none yet. */
  async function readNames(
    requestId: string,
    shown: readonly DirectiveRecord[],
    { tools, ends }: LogFacts,
  ): Promise<ReadonlyMap<string, string>> {
    const nameless = shown.filter(({ id }) => !tools.has(id) && !ends.get(id)?.model);
    const named = nameless.slice(0, MOST_SINGLE).map(async ({ id }) => {
      const json = await journal.envelope(requestId, id);
      const name = json === null ? null : nameOf(decodeEnvelope(json));
      return name === null ? [] : [[id, name] as const];
    });
    return new Map((await Promise.all(named)).flat());
  }

  return (requestId: string, { limit = DEFAULT_TRACED }: { limit?: number } = {}): Promise<RequestTrace> =>
    whileAvailable(() => read(requestId, Math.min(Math.max(1, limit), MOST_TRACED)));
}

function nameOf({
  directive,
  models = [],
}: {
  directive: Directive;
  models?: readonly string[];
}): string | null {
  return 'tool_name' in directive ? directive.tool_name : (models[0] ?? null);
}
