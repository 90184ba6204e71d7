// The remaining sampling of the tools of a server: for each call and for each day, over all workers. Never counts by
// the clock of a worker, nor lets a request pass when Redis does not answer.
import { hash } from 'node:crypto';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

export interface BudgetOfCall {
  readonly server: string;
  readonly requestId: string;
  readonly id: string;
  /** Until the deadline of the directive, milliseconds: its call may ask again until then. */
  readonly remainingMs: number;
}

export interface BudgetLimits {
  readonly requestsPerCall: number;
  readonly tokensPerCall: number;
  readonly tokensPerDay: number;
}

type Spent = 'requests' | 'call' | 'day';

export type Budgeted =
  | {
      readonly ok: true;
      /** Reports what the request took. Never throws, nor waits. */
      settle(actualTokens: number): void;
    }
  /** `left`: milliseconds until the day is over, by the clock of Redis. */
  | { readonly ok: false; readonly spent: Spent; readonly leftMs: number };

/** How long the budget of a call is kept after its last request, and then as long as its directive may go on. Milliseconds. */
const KEEP_CALL_MS = 86_400_000;

/** `onError`: a request could not be settled; what was reserved for it stays taken. */
export function createSamplingBudgets(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'sampling'>,
  onError: (error: Error) => void,
) {
  const run = prepareScripts(connection);
  return {
    /** Rejects when Redis does not answer. `tokens`: the most that the request may take. */
    async reserve(
      { server, requestId, id, remainingMs }: BudgetOfCall,
      limits: BudgetLimits,
      tokens: number,
    ): Promise<Budgeted> {
      // Ids come from callers, and may be long.
      const call = hash('sha256', JSON.stringify([requestId, id]), 'hex').slice(0, 32);
      const places = keys.sampling(server, call);
      const reservation = newIdentifier();
      const { requestsPerCall, tokensPerCall, tokensPerDay } = limits;
      const most = [requestsPerCall, tokensPerCall, tokensPerDay];
      const keepMs = Math.ceil(KEEP_CALL_MS + Math.max(0, remainingMs));
      const args = [reservation, Math.ceil(tokens), ...most, keepMs];
      const [verdict, spent, leftMs] = await run('sampling-reserve', places, args);
      if (verdict === 'refused') return { ok: false, spent: spent as Spent, leftMs: Number(leftMs) };
      const settle = (actual: number): void => {
        const taken = Number.isFinite(actual) ? Math.max(0, Math.ceil(actual)) : tokens;
        run('sampling-settle', places, [reservation, taken]).catch(onError);
      };
      return { ok: true, settle };
    },
  };
}
