/** What the forms of the timeline mean.
 *  It must never name a form that is not drawn. */
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

export function Legend() {
  const isNarrow = matchMedia('(max-width: 759px)').matches;
  return (
    <details className="timeline-legend-box" open={!isNarrow}>
      <summary>Legend</summary>
      <Forms />
    </details>
  );
}

function Forms() {
  return (
    <ul className="timeline-legend" aria-label="Legend">
      {FORMS.map(([form, text]) => (
        <li key={form}>
          <span className={`segment segment-${form}`} aria-hidden="true" /> {text}
        </li>
      ))}
    </ul>
  );
}
