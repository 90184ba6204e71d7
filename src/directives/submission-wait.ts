// Submitting directives, and waiting for their ends.
// Must never take a wait that ended early for the end of a directive: it goes on.
import { DEFAULT_TENANT, scopedAs, scopedId } from '../contract/access/tenant.ts';
import type { DirectiveClient, SubmitOptions } from '../contract/directive/directive-client.ts';
import {
  type ParseOptions,
  parseSubmission,
  type ParsedDirective,
  type SubmittedDirective,
  withoutCallersState,
} from '../contract/directive/directive.ts';
import { refusedAt } from '../contract/json/field-error.ts';
import { ServiceUnavailable } from '../contract/problem.ts';
import { isTerminalSignal, type TerminalSignal } from '../contract/signal/signal.ts';
import type { Submission } from '../contract/directive/submission.ts';
import type { WholeResult } from '../store/request/whole-result.ts';
import { whileAvailable } from '../platform/redis/unavailable.ts';
import {
  type Awaited as Ended,
  type AwaitOptions,
  watchInbox,
  watchLog,
  type WatchParts,
} from './read/await-result.ts';
import { identify } from './identify.ts';
import { type MustEncrypt, requireEncrypted } from './required-encryption.ts';
import { unknownDirective } from './read/not-found.ts';
import { recordedEnd } from './read/request-reader.ts';
import type { Submitter } from './submit.ts';

export interface SubmissionWaitParts extends WatchParts {
  submitter: Submitter;
  /** How submissions are read. */
  parsing: ParseOptions;
  /** Default: optional. */
  mustEncrypt?: MustEncrypt | undefined;
}

/** The longest timer; a directive's deadline ends it before. */
const LONGEST_WAIT_MS = 2_147_483_647;

/** `whole` completes results of which the log holds a part. */
export function createSubmissionWait(parts: SubmissionWaitParts, whole: WholeResult, tenant: string) {
  const { journal, subscriber, submitter } = parts;

  async function submit(
    directives: SubmittedDirective | readonly SubmittedDirective[],
    options: SubmitOptions = {},
  ): Promise<Submission> {
    const given = parsed(directives, parts.parsing);
    requireEncrypted(given, tenant, parts.mustEncrypt);
    const read = ofTenant(tenant, given, options.idempotencyKey);
    if (options.waitMs === undefined) return whileAvailable(() => submitter.submit(read, options));
    return whileAvailable(() => submitAndWait(read, options, options.waitMs ?? 0));
  }

  /** The ends of new directives come to this process' inbox, which is open before they are submitted. */
  async function submitAndWait(
    read: readonly ParsedDirective[],
    options: SubmitOptions,
    waitMs: number,
  ): Promise<Submission> {
    const { requestId, directives } = identify(read, options.idempotencyKey);
    const inbox = await subscriber.openInbox();
    const watches = directives.map(({ id }) => watchInbox(parts, requestId, id));
    try {
      const submission = await submitter.submit(directives, { ...options, replyChannel: inbox });
      // Under a key another request may stand for it.
      const standing = ({ request_id }: Submission): string => scopedAs(requestId, request_id);
      const limits = { timeoutMs: waitMs, ...(options.signal ? { signal: options.signal } : {}) };
      const ends = submission.directives.map(async (entry, position) => {
        const ended =
          entry.status === 'accepted'
            ? signalOf(await watches[position]?.ended({ ...limits, fresh: true }))
            : await result(standing(submission), entry.id, limits).catch(unlessAborted(options.signal));
        return ended ? { ...entry, result: await whole(standing(submission), ended) } : entry;
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

  async function result(
    requestId: string,
    directiveId: string,
    options: AwaitOptions = {},
  ): Promise<TerminalSignal | null> {
    return whileAvailable(async () => {
      const already = await recordedEnd(journal, requestId, directiveId);
      if (already || options.timeoutMs === 0) return already && whole(requestId, already);
      const watch = await watchLog(parts, requestId, directiveId);
      try {
        const ended = terminalOrThrow(await watch.ended(options), requestId, directiveId);
        return ended && (await whole(requestId, ended));
      } finally {
        watch.stop();
      }
    });
  }

  return {
    submit,
    execute: execute as DirectiveClient['execute'],
    result: (requestId: string, directiveId: string, options?: AwaitOptions) =>
      result(scopedId(tenant, requestId), directiveId, options),
  };
}

function parsed(
  directives: SubmittedDirective | readonly SubmittedDirective[],
  parsing: ParseOptions,
): ParsedDirective[] {
  const body = Array.isArray(directives) ? { directives } : directives;
  const read = parseSubmission(body, parsing);
  if (read.ok) return read.directives.map(withoutCallersState);
  throw refusedAt('invalid_body', read.errors);
}

/** Under the tenant's own ids of requests. Those of the default tenant are as they were given, and named later. */
function ofTenant(
  tenant: string,
  read: readonly ParsedDirective[],
  idempotencyKey: string | undefined,
): readonly ParsedDirective[] {
  if (tenant === DEFAULT_TENANT) return read;
  const { requestId, directives } = identify(read, idempotencyKey);
  const scoped = scopedId(tenant, requestId);
  return directives.map((directive) => ({ ...directive, request_id: scoped }));
}

/** A wait that was called off leaves the submission as it is: accepted. */
function unlessAborted(signal: AbortSignal | undefined): (error: unknown) => null {
  return (error) => {
    if (signal?.aborted) return null;
    throw error;
  };
}

function terminalOrThrow(ended: Ended, requestId: string, directiveId: string): TerminalSignal | null {
  if (ended.kind === 'unknown') throw unknownDirective(requestId, directiveId);
  if (ended.kind === 'aborted') throw new DOMException('the wait was aborted', 'AbortError');
  return signalOf(ended);
}

function signalOf(ended: Ended | undefined): TerminalSignal | null {
  return ended?.kind === 'ended' ? ended.signal : null;
}
