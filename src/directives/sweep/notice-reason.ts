// Why a notice is not delivered, in the words of the newest signals about its delivery.
// Must never name an address: what a receiver answered beside its status is in no signal.
import { plainText } from '../../contract/json/plain-text.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { SignalLog } from '../../store/log/signal-log.ts';

/** Bound of the newest deliveries of one end: four of each of eight receivers. */
const NEWEST = { limit: 32, bytes: 256 * 1024 };
const LONGEST = 300;

/** Reasons by directive, for those that failed or wait for a worker. `sequence`: that of the newest signal. */
export async function waitReasons(
  log: Pick<SignalLog, 'read'>,
  requestId: string,
  sequence: number,
): Promise<ReadonlyMap<string, string>> {
  const { signals } = await log.read(requestId, Math.max(0, sequence - NEWEST.limit), NEWEST);
  return new Map(signals.flatMap(reasonIn));
}

function reasonIn(signal: Signal): [string, string][] {
  if (signal.type === 'directive.retry_scheduled') {
    const { call_id: id, error } = signal.data;
    return [[id, failureText(error) ?? error.type]];
  }
  if (signal.type === 'directive.waiting') return [[signal.data.call_id, shortened(signal.data.message)]];
  return [];
}

export interface NamedFailure {
  readonly type?: unknown;
  readonly message?: unknown;
}

/** undefined: it does not say. */
export function failureText({ type, message }: NamedFailure): string | undefined {
  return typeof message === 'string' ? shortened(`${String(type)}: ${message}`) : undefined;
}

function shortened(text: string): string {
  return plainText(text).slice(0, LONGEST);
}
