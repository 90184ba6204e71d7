/** A request with a long log: a directive that runs, and whose attempt reports as much as a test wants.
 *  It must never write past the journal: each signal is appended under the claim, in large batches. */
import type { SignalDraft } from '../../src/contract/signal/signal.ts';
import { draftSignal } from '../../src/store/log/signal-draft.ts';
import { endOf, originOf } from './journal.ts';
import { openStore } from './store.ts';

const AT_ONCE = 1_000;
const LEASE_MS = 600_000;
/** One in so many is progress, the rest is text of a model. */
const PROGRESS_EVERY = 50;

export interface LongLog extends AsyncDisposable {
  readonly requestId: string;
  /** So many signals more. */
  append(count: number): Promise<void>;
  /** Ends the directive, and with it the request. */
  end(): Promise<void>;
}

/** `prefix`: of the keys of the service that shows it. */
export async function openLongLog(redisUrl: string, prefix: string, requestId: string): Promise<LongLog> {
  const open = await openStore(redisUrl, { prefix });
  const call = await open.accepted({ request_id: requestId, deadline_ms: LEASE_MS }, Date.now() + LEASE_MS);
  const ref = await open.claimed(call, LEASE_MS);
  const origin = { ...originOf(call), attempt: 1 };
  const ofCall = { call_id: call.id, tool_name: call.tool_name };
  let written = 0;

  const next = (): SignalDraft => {
    const seq = written++;
    if (seq % PROGRESS_EVERY === 0)
      return draftSignal('ai.tool.progress', { ...ofCall, progress: seq, metadata: {} }, origin);
    const delta = `piece-${seq} `;
    return draftSignal(
      'ai.llm.delta',
      { call_id: 'text', delta, chunk_type: 'content', seq, metadata: {} },
      origin,
    );
  };

  return {
    requestId,
    async append(count) {
      for (let left = count; left > 0; left -= AT_ONCE) {
        const signals = Array.from({ length: Math.min(AT_ONCE, left) }, next);
        const outcome = await open.journal.log.append(ref, signals);
        if (outcome !== 'appended') throw new Error(`not appended but ${outcome}`);
      }
    },
    async end() {
      await open.journal.finish(ref, 'succeeded', [endOf(call)]);
    },
    [Symbol.asyncDispose]: async () => open[Symbol.asyncDispose](),
  };
}
