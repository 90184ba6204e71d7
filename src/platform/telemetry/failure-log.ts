// One line for each directive that failed and each request that was refused, with the ids by which it is found.
// Must never flood the log, nor hide how many lines it left out.
import { requestField } from '../../contract/access/tenant.ts';
import type { Startable } from '../lifecycle.ts';
import type { Logger } from './logger.ts';
import { traceIdOf } from './traces/trace-context.ts';

export interface FailedDirective {
  readonly requestId: string;
  readonly id: string;
  readonly traceparent: string;
  readonly type: string;
  readonly lane: string | null;
  readonly error: { readonly type: string; readonly message: string };
}

export interface RefusedRequest {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  /** As far as the request names them. */
  readonly requestId: string | null;
  readonly traceparent: string | null;
}

export interface FailureLog extends Startable {
  failed(directive: FailedDirective): void;
  refused(request: RefusedRequest): void;
}

const MOST_LINES = 20;
const PER_MS = 10_000;
/** Characters of what an error says. */
const LONGEST_TEXT = 300;

export function createFailureLog(logger: Logger, now?: () => number): FailureLog {
  const failures = createLineLimit(MOST_LINES, PER_MS, now);
  const refusals = createLineLimit(MOST_LINES, PER_MS, now);
  let timer: NodeJS.Timeout | undefined;

  function reportLeftOut(): void {
    timer = undefined;
    report(failures, 'warn', 'more directives failed');
    report(refusals, 'info', 'more requests were refused');
  }

  function report(limit: LineLimit, level: 'warn' | 'info', message: string): void {
    const counts = limit.leftOut();
    if (counts === null) return;
    const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
    logger[level]({ left_out: total, by_type: counts }, `${message}: their lines were left out`);
  }

  function take(limit: LineLimit, sort: string): boolean {
    if (limit.take(sort)) return true;
    timer ??= setTimeout(reportLeftOut, PER_MS).unref();
    return false;
  }

  return {
    name: 'failure log',
    failed({ error, ...about }) {
      if (!take(failures, error.type)) return;
      const level = error.type === 'cancelled' ? 'info' : 'warn';
      logger[level](
        { ...idsOf(about), type: about.type, lane: about.lane, error: textOf(error) },
        error.type === 'cancelled' ? 'a directive was cancelled' : 'a directive failed',
      );
    },
    refused({ method, path, status, code, detail, requestId, traceparent }) {
      if (!take(refusals, code)) return;
      const ids = {
        ...(requestId === null ? {} : { request_id: requestId }),
        ...(traceparent === null ? {} : { trace_id: traceIdOf(traceparent) }),
      };
      const about = { method, path: cut(path), status, code, detail: cut(detail) };
      logger.info({ ...ids, ...about }, 'a request was refused');
    },
    start: async () => {},
    async stop() {
      clearTimeout(timer);
      reportLeftOut();
    },
  };
}

function idsOf({ requestId, id, traceparent }: Omit<FailedDirective, 'error'>) {
  return { ...requestField(requestId), directive_id: id, trace_id: traceIdOf(traceparent) };
}

function textOf({ type, message }: FailedDirective['error']): { type: string; message: string } {
  return { type: cut(type), message: cut(message) };
}

function cut(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT - 1)}…`;
}

interface LineLimit {
  /** Whether the line of `sort` may be written now. */
  take(sort: string): boolean;
  /** Number of omitted lines since the last call, by kind; null: none. */
  leftOut(): Readonly<Record<string, number>> | null;
}

/** `most` lines in `perMs`; `mostSorts`: further ones are counted together. */
function createLineLimit(
  most: number,
  perMs: number,
  now: () => number = () => performance.now(),
  mostSorts = 20,
): LineLimit {
  let beganAt = -Infinity;
  let taken = 0;
  let left = new Map<string, number>();

  function leaveOut(sort: string): void {
    const name = left.has(sort) || left.size < mostSorts ? sort : 'others';
    left.set(name, (left.get(name) ?? 0) + 1);
  }

  return {
    take(sort) {
      if (now() - beganAt >= perMs) {
        beganAt = now();
        taken = 0;
      }
      taken += 1;
      if (taken <= most) return true;
      leaveOut(sort);
      return false;
    },
    leftOut() {
      if (left.size === 0) return null;
      const counts = Object.fromEntries(left);
      left = new Map();
      return counts;
    },
  };
}
