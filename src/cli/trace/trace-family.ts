/** The traces of a request and of the runs below it.
 *  It must never read more requests than its limits: a run may have many children. */
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import type { RequestTrace } from '../../contract/request/request-trace.ts';
import type { TraceFamily } from './trace-tree.ts';

const MOST_REQUESTS = 50;

interface FamilyLimits {
  /** Limit of directives of each request. */
  readonly directives?: number | undefined;
  /** Default: 50. */
  readonly requests?: number;
}

type Tracer = Pick<DirectiveClient, 'trace'>;

/** Throws `DirectiveRefused` where there is no such request; children that are not kept are null. */
export async function traceFamily(
  client: Tracer,
  requestId: string,
  { directives, requests = MOST_REQUESTS }: FamilyLimits = {},
): Promise<TraceFamily> {
  const seen = new Set<string>([requestId]);

  async function withChildren(trace: RequestTrace): Promise<TraceFamily> {
    const children = new Map<string, TraceFamily | null>();
    for (const { request_id: id } of trace.run?.children ?? []) {
      if (seen.has(id) || seen.size >= requests) continue;
      seen.add(id);
      // oxlint-disable-next-line no-await-in-loop
      const child = await orNull(client.trace(id, { limit: directives }));
      // oxlint-disable-next-line no-await-in-loop
      children.set(id, child && (await withChildren(child)));
    }
    return { trace, children };
  }

  return withChildren(await client.trace(requestId, { limit: directives }));
}

/** Every trace, parents first. */
export function tracesOf({ trace, children }: TraceFamily): RequestTrace[] {
  return [trace, ...[...children.values()].flatMap((child) => (child === null ? [] : tracesOf(child)))];
}

/** null: there is no such request. */
export async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

export function isNotFound(error: unknown): boolean {
  return error instanceof DirectiveRefused && error.problem.code === 'not_found';
}
