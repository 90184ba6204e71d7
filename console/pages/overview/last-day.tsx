/** The last day at a glance: starts, failures, durations and cost, each with the way to the statistics. */
import { Link } from '@tanstack/react-router';
import type { Stats } from '../../../src/contract/request/stats.ts';
import { useRead } from '../../data/queries.ts';
import { type ChartName, chartsOf } from '../../data/stats.ts';
import { Chart } from '../../parts/chart.tsx';

const EVERY_MS = 10_000;
const NAMES: readonly ChartName[] = ['started', 'failed', 'duration', 'cost'];

export function LastDay() {
  const { data } = useRead<Stats>('/v1/stats', { everyMs: EVERY_MS });
  const [all] = data?.series ?? [];
  if (data === undefined || all === undefined || all.total.started === 0) return null;
  const charts = chartsOf(data, all);
  return (
    <section aria-label="The last day">
      <div className="overview-day">
        {NAMES.map((name) => (
          <Chart key={name} {...charts[name]} />
        ))}
      </div>
      <Link className="overview-link" to="/statistics">
        All statistics
      </Link>
    </section>
  );
}
