/** Problems that need a person now: one phrase each, the worst first.
 *  It must never call something trouble that heals by itself soon. */
import type { ListedBudget } from '../../../src/contract/model/budget-listing.ts';
import type { ListedLane } from '../../../src/contract/request/lane-listing.ts';
import type { ListedServer } from '../../../src/contract/tool/tool-listing.ts';
import type { ListedWorker } from '../../../src/contract/request/worker-listing.ts';

export interface Trouble {
  readonly text: string;
  readonly to: string;
  readonly tone: 'bad' | 'wait';
}

export interface Installation {
  readonly lanes: readonly ListedLane[];
  readonly workers: readonly ListedWorker[];
  readonly servers: readonly ListedServer[];
  /** Requests that wait for a person; null: the list of requests does not know it. */
  readonly waiting: number | null;
  readonly budgets: readonly ListedBudget[];
  readonly deadLetters: number;
}

/** A process reports every 2 s. */
const SILENT_MS = 10_000;

export function isSilent({ silent_ms: silentMs = 0 }: ListedWorker): boolean {
  return silentMs > SILENT_MS;
}

export function isStuck({ waits, paused, blocked_until: blocked, waiting }: ListedLane): boolean {
  if (paused || blocked !== null || waits?.reason === 'no_program') return true;
  return waits !== undefined && waiting > 0 && waits.reason !== 'concurrency';
}

/** No more is spent of it today, unless a person lets a call continue. */
export function usedUp({ tokens, money }: Pick<ListedBudget, 'tokens' | 'money'>): boolean {
  return [tokens, money].some(({ used, limit }) => limit !== null && used >= limit);
}

const MODEL_LANES = 'llm.';

/** null: it is the lane of something else. */
export function providerOf({ name }: ListedLane): string | null {
  return name.startsWith(MODEL_LANES) ? name.slice(MODEL_LANES.length) : null;
}

/** Until when a provider is not asked; null: it is. */
export function coolDownOf({ cools_until: cools, waits }: ListedLane): string | null {
  const asked = waits?.reason === 'rate_limited' ? waits.until : null;
  if (cools === undefined || asked === null) return cools ?? asked;
  return cools > asked ? cools : asked;
}

export function troubleOf(of: Installation): Trouble[] {
  const executing = of.workers.filter(({ roles }) => roles.includes('worker'));
  const engines = of.workers.filter(({ roles }) => roles.includes('engine'));
  return [
    phrase(executing.length === 0 ? 1 : 0, 'no worker is running', '/', 'bad', true),
    phrase(engines.length === 0 ? 1 : 0, 'no engine is running', '/', 'bad', true),
    phrase(of.workers.filter(isSilent).length, 'process silent|processes silent', '/', 'bad'),
    phrase(
      of.servers.filter(({ status }) => status === 'unavailable').length,
      'server unavailable|servers unavailable',
      '/tools',
      'bad',
    ),
    phrase(
      of.lanes.filter((lane) => providerOf(lane) !== null && coolDownOf(lane) !== null).length,
      'provider cools down|providers cool down',
      '/',
      'wait',
    ),
    phrase(
      of.lanes.filter((lane) => isStuck(lane) && coolDownOf(lane) === null).length,
      'lane held up|lanes held up',
      '/',
      'wait',
    ),
    phrase(of.budgets.filter(usedUp).length, 'budget spent|budgets spent', '/', 'wait'),
    phrase(of.waiting === null ? 1 : 0, 'who waits for a person is not known', '/approvals', 'wait', true),
    phrase(of.waiting ?? 0, 'request waits for a person|requests wait for a person', '/approvals', 'wait'),
    phrase(of.deadLetters, 'dead letter|dead letters', '/dead-letters', 'wait'),
  ].filter((each) => each !== null);
}

/** `words`: for one, `|`, for several. null: there is none. */
function phrase(
  count: number,
  words: string,
  to: string,
  tone: Trouble['tone'],
  isWhole = false,
): Trouble | null {
  if (count === 0) return null;
  const [one = '', several = one] = words.split('|');
  return { text: isWhole ? one : `${count} ${count === 1 ? one : several}`, to, tone };
}

/** Those with something in them first, then by name. */
export function lanesInOrder(lanes: readonly ListedLane[]): ListedLane[] {
  const load = ({ waiting, active, delayed, later = 0 }: ListedLane): number =>
    waiting + active + delayed + later;
  const rank = (lane: ListedLane): number => (isStuck(lane) ? 2 : 0) + (load(lane) > 0 ? 1 : 0);
  return lanes.toSorted((left, right) => rank(right) - rank(left) || left.name.localeCompare(right.name));
}
