/** A small chart over time: bars of counts, or lines of quantiles. Never draws an interval in which nothing was counted as a value. */
import { clockText } from '../data/shown.ts';
import './chart.css';

export interface ChartSeries {
  readonly name: string;
  readonly tone: 'run' | 'bad' | 'wait' | 'ok';
  /** Values by the beginning of their interval, milliseconds since the epoch. */
  readonly values: ReadonlyMap<number, number>;
}

export interface ChartProps {
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  /** Drawn over one another, the first one at the back. */
  readonly series: readonly ChartSeries[];
  readonly since: number;
  readonly until: number;
  readonly intervalMs: number;
  /** Text of a value. */
  readonly text: (value: number) => string;
  /** Number of the whole range beside the title. */
  readonly total?: string;
}

const WIDTH = 300;
const HEIGHT = 64;

export function Chart(props: ChartProps) {
  const { title, series, since, until, text, total } = props;
  const most = Math.max(0, ...series.flatMap(({ values }) => [...values.values()]));
  return (
    <figure className="chart">
      <figcaption>
        <b>{title}</b> {total !== undefined && <span className="num">{total}</span>}
        <span className="spread faint chart-names">
          {series.length > 1 &&
            series.map(({ name, tone }) => (
              <span key={name} className={`chart-name chart-${tone}`}>
                {name}
              </span>
            ))}
        </span>
      </figcaption>
      <Drawing {...props} most={most} />
      <div className="chart-axis faint">
        <span>{clockText(new Date(since).toISOString())}</span>
        <span>{most === 0 ? 'nothing counted' : `at most ${text(most)}`}</span>
        <span>{clockText(new Date(until).toISOString())}</span>
      </div>
    </figure>
  );
}

function Drawing({
  title,
  kind,
  series,
  since,
  until,
  intervalMs,
  text,
  most,
  total = '',
}: ChartProps & { most: number }) {
  const span = Math.max(1, until - since);
  const xOf = (at: number): number => Math.min(WIDTH - 2, ((at - since) / span) * WIDTH);
  const yOf = (value: number): number => HEIGHT - (most === 0 ? 0 : (value / most) * (HEIGHT - 4));
  const width = Math.max(1, (intervalMs / span) * WIDTH - 0.6);
  const label = `${title}: ${total} ${most === 0 ? 'nothing counted' : `at most ${text(most)}`}`;
  return (
    <svg
      className="chart-drawing"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {series.map(({ name, tone, values }) =>
        kind === 'bars' ? (
          [...values].map(([at, value]) => (
            <rect
              key={`${name} ${at}`}
              className={`chart-bar-${tone}`}
              x={xOf(at)}
              y={yOf(value)}
              width={width}
              height={HEIGHT - yOf(value)}
            >
              <title>{pointText(name, at, text(value))}</title>
            </rect>
          ))
        ) : (
          <Line key={name} {...{ name, tone, values, intervalMs, text, xOf, yOf }} />
        ),
      )}
    </svg>
  );
}

interface LineProps extends ChartSeries, Pick<ChartProps, 'intervalMs' | 'text'> {
  readonly xOf: (at: number) => number;
  readonly yOf: (value: number) => number;
}

/** Neighbouring intervals are joined; a gap stays a gap. */
function Line({ name, tone, values, intervalMs, text, xOf, yOf }: LineProps) {
  const points = [...values].toSorted(([one], [other]) => one - other);
  const path = points.map(([at, value], place) => {
    const isNext = place > 0 && at - (points[place - 1]?.[0] ?? 0) <= intervalMs;
    return `${isNext ? 'L' : 'M'}${xOf(at + intervalMs / 2).toFixed(1)} ${yOf(value).toFixed(1)}`;
  });
  return (
    <>
      <path className={`chart-line-${tone}`} d={path.join('')} />
      {points.map(([at, value]) => (
        <circle key={at} className={`chart-bar-${tone}`} cx={xOf(at + intervalMs / 2)} cy={yOf(value)} r={2}>
          <title>{pointText(name, at, text(value))}</title>
        </circle>
      ))}
    </>
  );
}

function pointText(name: string, at: number, value: string): string {
  return `${clockText(new Date(at).toISOString())} · ${name}: ${value}`;
}
