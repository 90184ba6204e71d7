/** A recorded terminal as an animated SVG: each line appears when it was printed, and the whole begins again.
 *  It needs no script, so that a page under any policy can show it as a picture. */

export interface CastLine {
  readonly text: string;
  /** Instant on any clock. */
  readonly atMs: number;
}

const WIDTH = 1_040;
const LINE = 19;
const MARGIN = 20;
const MOST_CHARACTERS = 127;
/** A longer pause of the recording shows nothing. */
const LONGEST_PAUSE_MS = 1_500;
const HOLD_MS = 7_000;

/** The recording as SVG, at most 60 lines of it. `shown`: its alternative text. */
export function cast(recorded: readonly CastLine[], shown: string): string {
  const lines = recorded.slice(0, 60);
  const times = timesOf(lines);
  const totalMs = (times.at(-1) ?? 0) + HOLD_MS;
  const height = 2 * MARGIN + lines.length * LINE;
  const frames = lines.map((_, index) => {
    const from = (((times[index] ?? 0) / totalMs) * 100).toFixed(2);
    return `@keyframes l${index}{0%{opacity:0}${from}%,100%{opacity:1}}.l${index}{animation:l${index} ${(totalMs / 1_000).toFixed(1)}s step-end infinite}`;
  });
  const rows = lines.map(({ text }, index) => {
    const place = `x="${MARGIN}" y="${MARGIN + (index + 0.75) * LINE}"`;
    return `<text ${place} class="l${index} ${kindOf(text)}" xml:space="preserve">${escaped(cut(text))}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escaped(shown)}">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#c9d1d9;white-space:pre}
.typed{fill:#fff;font-weight:700}.note{fill:#8b949e}.bad{fill:#ffa198}.good{fill:#7ee787}
${frames.join('\n')}
@media (prefers-reduced-motion:reduce){text{animation:none!important}}
</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`;
}

function timesOf(lines: readonly CastLine[]): number[] {
  let time = 400;
  return lines.map(({ atMs }, index) => {
    const before = lines[index - 1]?.atMs ?? atMs;
    time += Math.min(atMs - before, LONGEST_PAUSE_MS);
    return time;
  });
}

function kindOf(text: string): string {
  if (text.startsWith('$ ')) return 'typed';
  if (/outcome_unknown/.test(text)) return 'bad';
  if (/ai\.tool\.result|^\d+ (charge|balance) |^answer: |^model turns paid /.test(text)) return 'good';
  return /^\s+\d+ /.test(text) ? '' : 'note';
}

function cut(text: string): string {
  return text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS - 1)}…`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
