// The direct way to the service: journal and queue without HTTP, for programs that may touch Redis.
// Must never promise less than the HTTP client: same validation, same guarantees, same test suite.
import type { AgentListing } from '../contract/agent-listing.ts';
import type { Cancellation } from '../contract/cancellation.ts';
import { redriveBodySchema } from '../contract/dead-letter.ts';
import { fieldErrors } from '../contract/field-error.ts';
import type { DirectiveClient, RunClient, SubmitOptions } from '../contract/directive-client.ts';
import {
  type ParseOptions,
  parseSubmission,
  type ParsedDirective,
  type SubmittedDirective,
} from '../contract/directive.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
import type { RequestView } from '../contract/request-view.ts';
import { resultSchema } from '../contract/result.ts';
import type { RunView } from '../contract/run.ts';
import { isTerminalSignal, type Signal, type TerminalSignal } from '../contract/signal.ts';
import type { Submission } from '../contract/submission.ts';
import type { SignalPage } from '../contract/signal-page.ts';
import { decodeEnvelope } from '../journal/envelope.ts';
import type { Follower } from '../journal/follower.ts';
import type { Journal } from '../journal/journal.ts';
import type { ModelCatalog } from '../catalog/model-catalog.ts';
import type { PayloadStore } from '../journal/payload-store.ts';
import type { Subscriber } from '../journal/subscriber.ts';
import { toolListing, type ToolCatalog } from '../catalog/tool-catalog.ts';
import { truncatedBytes, wholeResults } from '../journal/whole-result.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { watchInbox, watchLog, type AwaitOptions, type Awaited as Ended } from './await-result.ts';
import type { Canceller } from './cancel.ts';
import type { DeadLetters } from './dead-letters.ts';
import { identify } from './identify.ts';
import type { Lanes } from './lanes.ts';
import type { KnownModelsSource } from '../catalog/known-models.ts';
import type { KnownServersSource } from '../catalog/known-servers.ts';
import { listLanes } from './lane-list.ts';
import type { Submitter } from './submit.ts';
import { whileAvailable } from '../redis/unavailable.ts';
import { directiveView, requestView } from './views.ts';

/** What the client asks of the part that knows runs. */
export interface ClientRuns extends RunClient {
  /** null: the request has no run. */
  view(requestId: string): Promise<RunView | null>;
  /** Asks the request's run to end, where there is one. */
  cancel(requestId: string, reason: string | null): Promise<void>;
  agents(): Promise<AgentListing>;
}

export interface QueueClientParts {
  journal: Journal;
  follower: Follower;
  subscriber: Subscriber;
  /** How often a wait that hears nothing looks at the journal, milliseconds. Default: 5 000. */
  recheckMs?: number;
  submitter: Submitter;
  canceller: Canceller;
  payloads: PayloadStore;
  deadLetters: DeadLetters;
  catalog: ToolCatalog;
  modelCatalog: ModelCatalog;
  servers: KnownServersSource;
  models: KnownModelsSource;
  lanes: Lanes;
  runs: ClientRuns;
  /** How submissions are read. */
  parsing: ParseOptions;
  /** Closes what the client was built on. */
  close(): Promise<void>;
}

/** The longest timer; a directive's deadline ends it before. */
const LONGEST_WAIT_MS = 2_147_483_647;
const DEFAULT_PAGE = 100;
const LARGEST_PAGE = 1_000;
/** Larger ones would hold up the process as they are read and written. A signal above it is a page of its own. */
const PAGE_BYTES = 2_097_152;

/** A wait that was called off leaves the submission as it is: accepted. */
function unlessAborted(signal: AbortSignal | undefined): (error: unknown) => null {
  return (error) => {
    if (signal?.aborted) return null;
    throw error;
  };
}

function signalOf(ended: Ended | undefined): TerminalSignal | null {
  return ended?.kind === 'ended' ? ended.signal : null;
}

function unknownDirective(requestId: string, directiveId: string): DirectiveRefused {
  return new DirectiveRefused(
    problem('not_found', { detail: `request "${requestId}" has no directive "${directiveId}"` }),
  );
}

function noPayload(requestId: string, directiveId: string): DirectiveRefused {
  const detail = `directive "${directiveId}" of request "${requestId}" has no payload, or it is no longer kept`;
  return new DirectiveRefused(problem('not_found', { detail }));
}

function unknownRequest(requestId: string): DirectiveRefused {
  return new DirectiveRefused(problem('not_found', { detail: `there is no request "${requestId}"` }));
}

function parsed(
  directives: SubmittedDirective | readonly SubmittedDirective[],
  parsing: ParseOptions,
): ParsedDirective[] {
  const body = Array.isArray(directives) ? { directives } : directives;
  const read = parseSubmission(body, parsing);
  if (read.ok) return read.directives;
  throw refusedAt('invalid_body', read.errors);
}

export function createQueueClient(parts: QueueClientParts): DirectiveClient {
  const { journal, follower, subscriber, submitter, canceller, catalog } = parts;
  const whole = wholeResults(parts.payloads);

  async function submit(
    directives: SubmittedDirective | readonly SubmittedDirective[],
    options: SubmitOptions = {},
  ): Promise<Submission> {
    const read = parsed(directives, parts.parsing);
    if (options.waitMs === undefined) return whileAvailable(() => submitter.submit(read, options));
    return whileAvailable(() => submitAndWait(read, options, options.waitMs ?? 0));
  }

  /** The ends of new directives come to this process' inbox, which is open before they are submitted. */
  async function submitAndWait(
    read: readonly ParsedDirective[],
    options: SubmitOptions,
    waitMs: number,
  ): Promise<Submission> {
    const { requestId, directives } = identify(read, options.idempotencyKey, newIdentifier);
    const inbox = await subscriber.openInbox();
    const watches = directives.map(({ id }) => watchInbox(parts, requestId, id));
    try {
      const submission = await submitter.submit(directives, { ...options, inbox });
      const limits = { timeoutMs: waitMs, ...(options.signal ? { signal: options.signal } : {}) };
      const ends = submission.directives.map(async (entry, position) => {
        const ended =
          entry.status === 'accepted'
            ? signalOf(await watches[position]?.ended({ ...limits, fresh: true }))
            : await result(requestId, entry.id, limits).catch(unlessAborted(options.signal));
        return ended ? { ...entry, result: await whole(ended) } : entry;
      });
      return { ...submission, directives: await Promise.all(ends) };
    } finally {
      for (const watch of watches) watch.stop();
    }
  }

  async function execute(
    directive: SubmittedDirective,
    { timeoutMs = LONGEST_WAIT_MS, ...options }: SubmitOptions & { timeoutMs?: number } = {},
  ): Promise<TerminalSignal> {
    const submission = await submit(directive, { ...options, waitMs: timeoutMs });
    const [entry] = submission.directives;
    if (entry?.result && isTerminalSignal(entry.result)) return entry.result;
    options.signal?.throwIfAborted();
    throw new ServiceUnavailable(
      `directive "${entry?.id}" of request "${submission.request_id}" has not ended in time; it goes on`,
    );
  }

  function terminalOrThrow(ended: Ended, requestId: string, directiveId: string): TerminalSignal | null {
    if (ended.kind === 'unknown') throw unknownDirective(requestId, directiveId);
    if (ended.kind === 'aborted') throw new DOMException('the wait was aborted', 'AbortError');
    return signalOf(ended);
  }

  async function result(
    requestId: string,
    directiveId: string,
    options: AwaitOptions = {},
  ): Promise<TerminalSignal | null> {
    return whileAvailable(async () => {
      const already = await endedAlready(requestId, directiveId);
      if (already || options.timeoutMs === 0) return already && whole(already);
      const watch = await watchLog(parts, requestId, directiveId);
      try {
        const ended = terminalOrThrow(await watch.ended(options), requestId, directiveId);
        return ended && (await whole(ended));
      } finally {
        watch.stop();
      }
    });
  }

  async function endedAlready(requestId: string, directiveId: string): Promise<TerminalSignal | null> {
    const record = await journal.directive(requestId, directiveId);
    if (!record) throw unknownDirective(requestId, directiveId);
    const signal = record.terminal === null ? null : await journal.signalAt(requestId, record.terminal);
    return signal && isTerminalSignal(signal) ? signal : null;
  }

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
      const { signals: read, more } = await journal.readPiece(requestId, after, size);
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
      const [found, run] = await Promise.all([journal.request(requestId), parts.runs.view(requestId)]);
      return found && requestView(requestId, found.record, found.directives, run);
    });
  }

  async function directive(requestId: string, directiveId: string) {
    return whileAvailable(async () => {
      const [record, json] = await Promise.all([
        journal.directive(requestId, directiveId),
        journal.envelope(requestId, directiveId),
      ]);
      if (!record || json === null) return null;
      const ended = record.terminal === null ? null : await journal.signalAt(requestId, record.terminal);
      return directiveView(requestId, record, decodeEnvelope(json), ended && (await whole(ended)));
    });
  }

  async function payload(requestId: string, directiveId: string): Promise<unknown> {
    return whileAvailable(async () => {
      const signal = await endedAlready(requestId, directiveId);
      const result = resultSchema.safeParse(signal && 'result' in signal.data ? signal.data.result : null);
      if (!signal || !result.success || !result.data.ok) throw noPayload(requestId, directiveId);
      if (truncatedBytes(signal) === null) return result.data.payload;
      const json = await parts.payloads.get(requestId, directiveId);
      if (json === null) throw noPayload(requestId, directiveId);
      return JSON.parse(json) as unknown;
    });
  }

  async function cancel(
    requestId: string,
    directiveId?: string,
    { reason }: { reason?: string } = {},
  ): Promise<Cancellation> {
    if (directiveId === undefined) await whileAvailable(() => cancelRun(requestId, reason ?? null));
    const cancelled = await whileAvailable(() => canceller.cancel(requestId, directiveId, reason));
    if (cancelled) return cancelled;
    throw directiveId === undefined ? unknownRequest(requestId) : unknownDirective(requestId, directiveId);
  }

  /**
   * The run reads the cancellation before the ends of its directives. The look at the request comes first: a run that is started
   * after it is unknown to this cancellation, whose answer must not say otherwise.
   */
  async function cancelRun(requestId: string, reason: string | null): Promise<void> {
    if ((await journal.head(requestId)) === null) throw unknownRequest(requestId);
    await parts.runs.cancel(requestId, reason);
  }

  return {
    submit,
    execute,
    result,
    signals,
    page,
    request,
    directive,
    payload,
    cancel,
    deadLetters: (query = {}) => whileAvailable(() => parts.deadLetters.list(query)),
    redrive: async (which) => {
      const read = redriveBodySchema.safeParse(which);
      if (!read.success)
        throw new DirectiveRefused(problem('invalid_body', { errors: fieldErrors(read.error) }));
      return whileAvailable(() => parts.deadLetters.redrive(read.data));
    },
    runs: { start: parts.runs.start, input: parts.runs.input, decide: parts.runs.decide },
    agents: () => parts.runs.agents(),
    tools: () => whileAvailable(async () => toolListing(await catalog.read())),
    lanes: () =>
      whileAvailable(() => listLanes({ ...parts, kinds: [...(parts.parsing.kinds?.keys() ?? [])] })),
    close: () => parts.close(),
  };
}
