/** Callers that keep submitting while Redis has faults, and record what was acknowledged.
 *  They must never take anything but a 202 for an acceptance, nor anything but a 503 with Retry-After for a refusal. */
import { expect } from 'vitest';
import type { DirectiveView } from '../../src/contract/request/request-view.ts';
import { auditRequest, executionsByLabel, outcome } from './audit.ts';
import { countingCall } from './calls.ts';
import type { Processes } from './installation.ts';
import { get } from './public-api.ts';

export interface Load {
  /** Request id → directive id, as acknowledged. */
  readonly accepted: ReadonlyMap<string, string>;
  /** Number of 503 answers so far. */
  readonly refusals: number;
  /** Resolves when `condition` holds; checked after each answer. */
  until(condition: (load: Load) => boolean): Promise<void>;
  /** Starts no new calls; resolves when each started call is accepted. */
  stop(): Promise<void>;
}

export interface LoadOptions {
  readonly url: string;
  /** Callers. Default: 10. */
  readonly atOnce?: number;
  /** Of each call. Default: 0. */
  readonly delayMs?: number;
}

const RETRY_MS = 100;
/** Above those of a test's own calls. */
const FIRST_NUMBER = 100_000;

/** Calls of `once` and `read`, alternating, each in its own request, repeated by its caller until it is accepted. */
export function startLoad({ url, atOnce = 10, delayMs = 0 }: LoadOptions): Load {
  const accepted = new Map<string, string>();
  const looks = new Set<() => void>();
  let [number, refusals, stopped] = [FIRST_NUMBER, 0, false];
  const load: Load = {
    accepted,
    get refusals() {
      return refusals;
    },
    async until(condition) {
      while (!condition(load)) {
        const { promise, resolve } = Promise.withResolvers<void>();
        looks.add(resolve);
        await Promise.race([promise, failed]);
      }
    },
    async stop() {
      stopped = true;
      await callers;
    },
  };

  async function submitUntilAccepted(requestId: string, call: { id: string }): Promise<void> {
    while (!(await isAccepted(url, call))) {
      refusals += 1;
      for (const look of looks) look();
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    accepted.set(requestId, call.id);
    for (const look of looks) look();
    looks.clear();
  }

  async function caller(): Promise<void> {
    while (!stopped) {
      number += 1;
      const requestId = `request-${number}`;
      await submitUntilAccepted(
        requestId,
        countingCall(number % 2 ? 'once' : 'read', number, { requestId, delayMs }),
      );
    }
  }

  const callers = Promise.all(Array.from({ length: atOnce }, () => caller()));
  const failed = callers.then(() => {});
  failed.catch(() => {});
  return load;
}

async function isAccepted(url: string, call: { id: string }): Promise<boolean> {
  const response = await fetch(`${url}/v1/directives`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(call),
  });
  const body = (await response.json()) as { code?: string };
  if (response.status === 202) return true;
  expect({ status: response.status, ...body }).toMatchObject({ status: 503, code: 'unavailable' });
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  return false;
}

/** The directive as it ended; waits for that. null: Redis no longer has it. */
async function endOf(url: string, requestId: string, id: string): Promise<DirectiveView | null> {
  for (;;) {
    const path = `/v1/requests/${requestId}/directives/${id}?wait_ms=10000`;
    const { status, body } = await get<DirectiveView>(url + path);
    if (status === 404) return null;
    if (status === 200 && body.result !== null) return body;
    expect([200, 503], JSON.stringify(body)).toContain(status);
  }
}

export interface AuditOptions {
  /** Redis may have lost what it acknowledged; counted as `lost`. Default: false. */
  readonly mayBeLost?: boolean;
}

/** Each acknowledged directive has ended once, and no `once` tool ran twice. Returns the count of each outcome. */
export async function auditLoad(
  url: string,
  { accepted }: Load,
  { executions }: Processes,
  { mayBeLost = false }: AuditOptions = {},
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = { lost: 0 };
  const labels = new Set(accepted.values());
  const byLabel = executionsByLabel(executions().filter(({ label }) => labels.has(label)));
  for (const [requestId, id] of accepted) {
    if ((await endOf(url, requestId, id)) === null) {
      expect(mayBeLost, `${requestId} is lost`).toBe(true);
      outcomes['lost'] = (outcomes['lost'] ?? 0) + 1;
      continue;
    }
    const results = await auditRequest(url, requestId, [id]);
    const what = outcome(results.get(id));
    outcomes[what] = (outcomes[what] ?? 0) + 1;
    if (id.startsWith('once')) expect(byLabel.get(id)?.length ?? 0, id).toBeLessThanOrEqual(1);
    else expect(what, id).toBe('ok');
  }
  return outcomes;
}
