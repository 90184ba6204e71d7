/** The meaning of the forms that the timeline draws. Never names a form that is not drawn. */
import type { Row } from './timeline-rows.ts';

const FORMS = [
  ['queue', 'queued'],
  ['later', 'begins later'],
  ['think', 'before text'],
  ['model', 'model'],
  ['tool', 'tool'],
  ['wait', 'approval, question'],
  ['backoff', 'backoff'],
  ['held', 'held by a limit'],
  ['redelivery', 'worker lost, taken over'],
  ['failed', 'failed attempt'],
  ['child', 'child run'],
] as const;

export function Legend({ rows }: { rows: readonly Row[] }) {
  const isNarrow = matchMedia('(max-width: 759px)').matches;
  return (
    <details className="timeline-legend-box" open={!isNarrow}>
      <summary>Legend</summary>
      <Forms rows={rows} />
    </details>
  );
}

function Forms({ rows }: { rows: readonly Row[] }) {
  const drawn = new Set(rows.flatMap(({ kind, segments }) => [...segments.map(({ form }) => form), kind]));
  return (
    <ul className="timeline-legend" aria-label="Legend">
      {FORMS.filter(([form]) => drawn.has(form)).map(([form, text]) => (
        <li key={form}>
          <span className={`segment segment-${form}`} aria-hidden="true" /> {text}
        </li>
      ))}
    </ul>
  );
}
