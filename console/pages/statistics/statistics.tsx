/** Statistics over time: starts, failures, durations, waits, tokens and cost, of everything or by name. Reads and never acts. */
import { useEffect, useState } from 'react';
import type { Stats, StatsGroup } from '../../../src/contract/request/stats.ts';
import { useRead } from '../../data/queries.ts';
import { countText, durationText, moneyText } from '../../data/shown.ts';
import { type ChartName, chartsOf } from '../../data/stats.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Chart } from '../../parts/chart.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Page } from '../../parts/page.tsx';
import { Select } from '../../parts/select.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import './statistics.css';

const EVERY_MS = 10_000;
/** Statistics change with each interval. */
const STEP_MS = 300_000;
const DAY_MS = 86_400_000;

const RANGES = [
  ['3h', 'last 3 hours', DAY_MS / 8],
  // Intervals of five minutes are kept for a day.
  ['1d', 'last day', DAY_MS - STEP_MS],
  ['7d', 'last 7 days', 7 * DAY_MS],
  ['31d', 'last 31 days', 31 * DAY_MS],
  ['365d', 'last year', 365 * DAY_MS],
] as const;

const GROUPS: readonly (readonly [StatsGroup | '', string])[] = [
  ['', 'everything together'],
  ['agent', 'by agent'],
  ['model', 'by model'],
  ['tool', 'by tool'],
  ['tag', 'by tag'],
  ['tenant', 'by tenant'],
  ['score', 'by score'],
];

const NAMES: readonly ChartName[] = ['started', 'failed', 'duration', 'waited', 'tokens', 'cost'];

export function StatisticsPage() {
  const [range, setRange] = useUrlState('range');
  const [by, setBy] = useUrlState('by');
  const [name, setName] = useUrlState('name');
  const { data, error, refetch } = useRead<Stats>(usePath(range, by), { everyMs: EVERY_MS });
  const shown = data?.series.find((each) => each.name === name) ?? data?.series[0];
  const choose = (next: string): void => {
    setName('');
    setBy(next);
  };
  return (
    <Page title="Statistics" isPlace>
      <div className="row">
        <Select
          label="Range"
          value={RANGES.some(([each]) => each === range) ? range : '1d'}
          options={RANGES.map(([value, text]) => [value, text] as const)}
          onChange={(next) => setRange(next === '1d' ? '' : next)}
        />
        <Select label="Grouping" value={by} options={GROUPS} onChange={choose} />
      </div>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
      {data !== undefined && shown === undefined && (
        <Empty title="Nothing was counted in this range.">
          Requests, calls, tokens and cost are counted as they end.
        </Empty>
      )}
      {data !== undefined && by !== '' && data.series.length > 0 && (
        <Names stats={data} shown={shown?.name ?? null} onShow={setName} />
      )}
      {data !== undefined && shown !== undefined && (
        <section aria-label="Charts" className="stack">
          {shown.name !== null && (
            <h2>
              <Text>{shown.name}</Text>
            </h2>
          )}
          <div className="statistics-charts">
            {NAMES.map((each) => (
              <Chart key={each} {...chartsOf(data, shown)[each]} />
            ))}
          </div>
          <Errors types={shown.total.error_types} />
        </section>
      )}
    </Page>
  );
}

/** The same path within an interval, so that one answer is read again and not another one asked for. */
function usePath(range: string, by: string): string {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  const [, , ms] = RANGES.find(([each]) => each === range) ?? RANGES[1];
  const since = new Date(Math.floor(now / STEP_MS) * STEP_MS - ms).toISOString();
  const query = new URLSearchParams({ since, ...(by === '' ? {} : { by, limit: '50' }) });
  return `/v1/stats?${query}`;
}

type Series = Stats['series'][number];

interface NamesProps {
  readonly stats: Stats;
  readonly shown: string | null;
  readonly onShow: (name: string) => void;
}

function Names({ stats: { series, series_left_out: left, by }, shown, onShow }: NamesProps) {
  return (
    <>
      <Table
        label={`Statistics by ${by}`}
        columns={columnsOf(by, shown, onShow)}
        rows={series}
        keyOf={({ name }) => name ?? ''}
      />
      {left > 0 && <p className="muted">{countText(left)} more are not listed.</p>}
    </>
  );
}

function columnsOf(by: Stats['by'], shown: string | null, onShow: (name: string) => void): Column<Series>[] {
  const scores: Column<Series>[] = [
    { name: 'Scores', isNumber: true, cell: ({ total }) => countText(total.score?.count ?? 0) },
    {
      name: 'Mean',
      isNumber: true,
      cell: ({ total }) => (total.score === undefined ? '–' : total.score.mean.toFixed(2)),
    },
    { name: 'Passed', isNumber: true, cell: ({ total }) => countText(total.score?.passed ?? 0) },
  ];
  const counts: Column<Series>[] = [
    { name: 'Started', isNumber: true, cell: ({ total }) => countText(total.started) },
    {
      name: 'Failed',
      isNumber: true,
      cell: ({ total }) => (
        <span className={total.failed > 0 ? 'statistics-failed' : undefined}>{countText(total.failed)}</span>
      ),
    },
    { name: 'p50', isNumber: true, isMinor: true, cell: ({ total }) => msText(total.duration_ms?.p50) },
    { name: 'p95', isNumber: true, cell: ({ total }) => msText(total.duration_ms?.p95) },
    {
      name: 'Tokens',
      isNumber: true,
      isMinor: true,
      cell: ({ total: { tokens } }) => `${countText(tokens.input)} → ${countText(tokens.output)}`,
    },
    { name: 'Cost', isNumber: true, cell: ({ total }) => moneyText(total.cost) },
  ];
  return [
    {
      name: 'Name',
      isWide: true,
      cell: ({ name }) => (
        <Chip isOn={name === shown} onToggle={() => onShow(name ?? '')}>
          <Text>{name ?? 'all'}</Text>
        </Chip>
      ),
    },
    ...(by === 'score' ? scores : counts),
  ];
}

function msText(ms: number | undefined): string {
  return ms === undefined ? '–' : durationText(ms);
}

const MOST_TYPES = 8;

function Errors({ types }: { types: Series['total']['error_types'] }) {
  const sorted = Object.entries(types).toSorted(([, one], [, other]) => other - one);
  if (sorted.length === 0) return null;
  return (
    <p className="muted">
      Errors:{' '}
      {sorted.slice(0, MOST_TYPES).map(([type, count], place) => (
        <span key={type}>
          {place > 0 && ', '}
          <Text>{type}</Text> {countText(count)}
        </span>
      ))}
    </p>
  );
}
