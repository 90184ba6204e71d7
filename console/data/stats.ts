/** Statistics as charts draw them. Never makes a value of an interval in which nothing was counted. */
import type { Stats, StatsCounts } from '../../src/contract/request/stats.ts';
import type { ChartProps, ChartSeries } from '../parts/chart.tsx';
import { countText, durationText, moneyText } from './shown.ts';

const INTERVAL_MS: Readonly<Record<Stats['interval'], number>> = {
  '5m': 300_000,
  '1h': 3_600_000,
  '1d': 86_400_000,
};

type Series = Stats['series'][number];
/** null: nothing was counted. */
type ValueOf = (counts: StatsCounts) => number | null;

/** Charts of one series, by their subject. */
export function chartsOf(stats: Stats, { total, points }: Series): Readonly<Record<ChartName, ChartProps>> {
  const range = {
    since: Date.parse(stats.since),
    until: Date.parse(stats.until),
    intervalMs: INTERVAL_MS[stats.interval],
  };
  const series = (name: string, tone: ChartSeries['tone'], valueOf: ValueOf): ChartSeries => {
    const values = points.flatMap((point): [number, number][] => {
      const value = valueOf(point);
      return value === null ? [] : [[Date.parse(point.at), value]];
    });
    return { name, tone, values: new Map(values) };
  };
  const positive = (value: number): number | null => (value === 0 ? null : value);
  const ended = total.succeeded + total.failed + total.cancelled;
  return {
    started: {
      ...range,
      title: 'Started',
      kind: 'bars',
      text: countText,
      total: countText(total.started),
      series: [series('started', 'run', ({ started }) => positive(started))],
    },
    failed: {
      ...range,
      title: 'Failed',
      kind: 'bars',
      text: countText,
      total: `${countText(total.failed)}${ended === 0 ? '' : ` · ${((total.failed / ended) * 100).toFixed(1)} %`}`,
      series: [series('failed', 'bad', ({ failed }) => positive(failed))],
    },
    duration: {
      ...range,
      title: 'Duration',
      kind: 'lines',
      text: durationText,
      total: quantilesText(total.duration_ms),
      series: [
        series('p95', 'wait', ({ duration_ms: ms }) => ms?.p95 ?? null),
        series('p50', 'run', ({ duration_ms: ms }) => ms?.p50 ?? null),
      ],
    },
    waited: {
      ...range,
      title: 'Waiting in lanes',
      kind: 'lines',
      text: durationText,
      total: quantilesText(total.waited_ms),
      series: [
        series('p95', 'wait', ({ waited_ms: ms }) => ms?.p95 ?? null),
        series('p50', 'run', ({ waited_ms: ms }) => ms?.p50 ?? null),
      ],
    },
    tokens: {
      ...range,
      title: 'Tokens',
      kind: 'bars',
      text: countText,
      total: `${countText(total.tokens.input)} → ${countText(total.tokens.output)}`,
      series: [
        series('all', 'run', ({ tokens }) => positive(tokens.input + tokens.output)),
        series('output', 'ok', ({ tokens }) => positive(tokens.output)),
      ],
    },
    cost: {
      ...range,
      title: 'Cost',
      kind: 'bars',
      text: moneyText,
      total: moneyText(total.cost),
      series: [series('cost', 'ok', ({ cost }) => positive(cost))],
    },
  };
}

export type ChartName = 'started' | 'failed' | 'duration' | 'waited' | 'tokens' | 'cost';

/** p50 and p95; nothing ended: a dash. */
export function quantilesText(quantiles: StatsCounts['duration_ms']): string {
  return quantiles === null ? '–' : `${durationText(quantiles.p50)} · p95 ${durationText(quantiles.p95)}`;
}
