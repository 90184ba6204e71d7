// The direct way to the service: journal and queue without HTTP, for programs that may touch Redis.
// Must never promise less than the HTTP client: same validation, same guarantees, same test suite.
import type { AgentListing } from '../contract/agent-listing.ts';
import type { Cancellation } from '../contract/cancellation.ts';
import { redriveBodySchema } from '../contract/dead-letter.ts';
import { fieldErrors } from '../contract/field-error.ts';
import type { DirectiveClient, RunClient } from '../contract/directive-client.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { RunView } from '../contract/run.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { toolListing } from '../catalog/tool-catalog.ts';
import { wholeResults } from '../journal/whole-result.ts';
import type { Canceller } from './cancel.ts';
import type { DeadLetters } from './dead-letters.ts';
import type { Lanes } from './lanes.ts';
import { listLanes } from './lane-list.ts';
import { unknownDirective, unknownRequest } from './not-found.ts';
import { createRequestReader, type RequestReaderParts } from './request-reader.ts';
import { createSubmissionWait, type SubmissionWaitParts } from './submission-wait.ts';
import { drainWorker, listWorkers } from './worker-list.ts';
import { whileAvailable } from '../redis/unavailable.ts';

/** What the client asks of the part that knows runs. */
export interface ClientRuns extends RunClient {
  /** null: the request has no run. */
  view(requestId: string): Promise<RunView | null>;
  /** The context that its run was started in; null: it has no run. */
  traceparent(requestId: string): Promise<string | null>;
  /** null: the request has no run. `parent`: the request whose run started it. */
  family(requestId: string): Promise<{ view: RunView; parent: string | null } | null>;
  /** Asks the request's run to end, where there is one. */
  cancel(requestId: string, reason: string | null): Promise<void>;
  agents(): Promise<AgentListing>;
}

export interface QueueClientParts extends SubmissionWaitParts, RequestReaderParts {
  canceller: Canceller;
  deadLetters: DeadLetters;
  catalog: Catalog;
  lanes: Lanes;
  runs: ClientRuns;
  answer: DirectiveClient['answer'];
  /** Closes what the client was built on. */
  close(): Promise<void>;
}

export function createQueueClient(parts: QueueClientParts): DirectiveClient {
  const { journal, canceller, catalog } = parts;
  const whole = wholeResults(parts.payloads);

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
    ...createSubmissionWait(parts, whole),
    ...createRequestReader(parts, whole),
    cancel,
    answer: (requestId, inputId, body) => parts.answer(requestId, inputId, body),
    deadLetters: (query = {}) => whileAvailable(() => parts.deadLetters.list(query)),
    redrive: async (which) => {
      const read = redriveBodySchema.safeParse(which);
      if (!read.success)
        throw new DirectiveRefused(problem('invalid_body', { errors: fieldErrors(read.error) }));
      return whileAvailable(() => parts.deadLetters.redrive(read.data));
    },
    runs: { start: parts.runs.start, input: parts.runs.input, decide: parts.runs.decide },
    agents: () => parts.runs.agents(),
    tools: (which) => whileAvailable(async () => toolListing(await catalog.published.tools.read(), which)),
    lanes: () =>
      whileAvailable(() => listLanes({ ...parts, kinds: [...(parts.parsing.customTypes?.keys() ?? [])] })),
    workers: () => whileAvailable(() => listWorkers(catalog.workers)),
    drainWorker: (id, drain = true) => whileAvailable(() => drainWorker(catalog.workers, id, drain)),
    close: () => parts.close(),
  };
}
