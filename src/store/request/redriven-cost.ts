// Tokens and money of the redrives of a request, which its run does not count: it had ended, or does not read them.
// Never reads more of them than its bound.
import { isObject } from '../../contract/json/json-object.ts';
import { mergeUsage, normalizeUsage, type Usage } from '../../contract/model/usage.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { SignalLog } from '../log/signal-log.ts';
import type { DirectiveRecord } from './records.ts';

/** `cost`: in USD; null: a price is unknown. */
export interface RedrivenCost {
  readonly usage: Usage | null;
  readonly cost: number | null;
}

const REDRIVE = /\.redrive-\d{1,9}$/;
/** Newest redrives that are counted. */
const MOST_COUNTED = 100;

/** null: there are none. */
export async function redrivenCost(
  log: Pick<SignalLog, 'at'>,
  requestId: string,
  records: readonly DirectiveRecord[],
): Promise<RedrivenCost | null> {
  const ends = records.flatMap(({ id, terminal }) =>
    terminal !== null && REDRIVE.test(id) ? [terminal] : [],
  );
  if (ends.length === 0) return null;
  const signals = await Promise.all(ends.slice(-MOST_COUNTED).map(async (end) => log.at(requestId, end)));
  return signals.map(costIn).reduce(sumOf);
}

const NOTHING: RedrivenCost = { usage: null, cost: 0 };

function costIn(signal: Signal | null): RedrivenCost {
  if (signal?.type !== 'ai.llm.response' && signal?.type !== 'ai.embed.result') return NOTHING;
  const { data } = signal;
  const { metadata } = data;
  const usage = normalizeUsage('usage' in data ? data.usage : undefined);
  const cost: unknown = isObject(metadata) ? metadata['cost'] : undefined;
  return { usage, cost: typeof cost === 'number' ? cost : usage === null ? 0 : null };
}

function sumOf(left: RedrivenCost, right: RedrivenCost): RedrivenCost {
  return {
    usage: left.usage && right.usage ? mergeUsage(left.usage, right.usage) : (left.usage ?? right.usage),
    cost: left.cost === null || right.cost === null ? null : left.cost + right.cost,
  };
}

/** The run with what its redriven calls have used. */
export function withRedrives<Run extends { readonly usage: Usage; readonly cost: number | null }>(
  run: Run,
  redriven: RedrivenCost | null,
): Run {
  if (redriven === null) return run;
  const cost = run.cost === null || redriven.cost === null ? null : run.cost + redriven.cost;
  return {
    ...run,
    usage: redriven.usage === null ? run.usage : mergeUsage(run.usage, redriven.usage),
    cost,
  };
}
