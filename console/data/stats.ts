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

const positive = (value: number): number | null => (value === 0 ? null : value);

/** Charts of quantiles, which are drawn as lines. */
const QUANTILES = {
  duration: { title: 'Duration', member: 'duration_ms' },
  waited: { title: 'Waiting in lanes', member: 'waited_ms' },
} as const;

/** Charts of one series, by their subject. */
export function chartsOf(stats: Stats, series: Series): Readonly<Record<ChartName, ChartProps>> {
  const range = {
    since: Date.parse(stats.since),
    until: Date.parse(stats.until),
    intervalMs: INTERVAL_MS[stats.interval],
  };
  const quantiles = (name: keyof typeof QUANTILES): ChartProps => ({
    ...range,
    ...quantileChart(series, name),
  });
  return {
    ...(mapped(countCharts(series), (chart) => ({ ...range, ...chart })) as Record<CountName, ChartProps>),
    duration: quantiles('duration'),
    waited: quantiles('waited'),
  };
}

function mapped<In, Out>(
  charts: Readonly<Record<string, In>>,
  change: (chart: In) => Out,
): Record<string, Out> {
  return Object.fromEntries(Object.entries(charts).map(([name, chart]) => [name, change(chart)]));
}

type Drawn = Omit<ChartProps, 'since' | 'until' | 'intervalMs'>;
type CountName = 'started' | 'failed' | 'tokens' | 'cost';

function valuesOf(
  { points }: Series,
  name: string,
  tone: ChartSeries['tone'],
  valueOf: ValueOf,
): ChartSeries {
  const values = points.flatMap((point): [number, number][] => {
    const value = valueOf(point);
    return value === null ? [] : [[Date.parse(point.at), value]];
  });
  return { name, tone, values: new Map(values) };
}

function countCharts(series: Series): Readonly<Record<CountName, Drawn>> {
  const { total } = series;
  const ended = total.succeeded + total.failed + total.cancelled;
  const share = ended === 0 ? '' : ` · ${((total.failed / ended) * 100).toFixed(1)} %`;
  const bars = (title: string, text: (value: number) => string, sum: string): Omit<Drawn, 'series'> => {
    return { title, kind: 'bars', text, total: sum };
  };
  return {
    started: {
      ...bars('Started', countText, countText(total.started)),
      series: [valuesOf(series, 'started', 'run', ({ started }) => positive(started))],
    },
    failed: {
      ...bars('Failed', countText, `${countText(total.failed)}${share}`),
      series: [valuesOf(series, 'failed', 'bad', ({ failed }) => positive(failed))],
    },
    tokens: {
      ...bars('Tokens', countText, `${countText(total.tokens.input)} → ${countText(total.tokens.output)}`),
      series: [
        valuesOf(series, 'all', 'run', ({ tokens }) => positive(tokens.input + tokens.output)),
        valuesOf(series, 'output', 'ok', ({ tokens }) => positive(tokens.output)),
      ],
    },
    cost: {
      ...bars('Cost', moneyText, moneyText(total.cost)),
      series: [valuesOf(series, 'cost', 'ok', ({ cost }) => positive(cost))],
    },
  };
}

function quantileChart(series: Series, name: keyof typeof QUANTILES): Drawn {
  const { title, member } = QUANTILES[name];
  const quantiles = series.total[member];
  return {
    title,
    kind: 'lines',
    text: durationText,
    total: quantiles === null ? '–' : `${durationText(quantiles.p50)} · p95 ${durationText(quantiles.p95)}`,
    series: [
      valuesOf(series, 'p95', 'wait', (counts) => counts[member]?.p95 ?? null),
      valuesOf(series, 'p50', 'run', (counts) => counts[member]?.p50 ?? null),
    ],
  };
}

export type ChartName = CountName | keyof typeof QUANTILES;
