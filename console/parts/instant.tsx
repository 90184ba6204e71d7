/** An instant: the local time, with date and zone on hover.
 *  It must never hide that it is unknown. */
import { clockText, instantTitle } from '../data/shown.ts';

export function Instant({ at }: { at: string | null | undefined }) {
  if (at === null || at === undefined) return <span className="faint">–</span>;
  return (
    <time className="num" dateTime={at} title={instantTitle(at)}>
      {clockText(at)}
    </time>
  );
}
