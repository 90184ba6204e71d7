/** Where the words of a row of the timeline stand beside its bars.
 *  It must never place them over a bar. */

export type LabelPlace =
  | { readonly side: 'right'; readonly left: number }
  | { readonly side: 'left'; readonly right: number }
  | { readonly side: 'below'; readonly left: number };

/** px: width of a digit of the axis' font, with a margin for wider letters. */
const LETTER = 6.4;
/** px: around the words, and for a mark at the end of a bar. */
const EDGE = 16;
/** Per cent between a bar and its words. */
const GAP = 0.6;

export interface LabelFacts {
  /** Extent of all its bars, in per cent of the track. */
  readonly start: number;
  readonly end: number;
  readonly letters: number;
  /** px. */
  readonly track: number;
}

/** Right of the bars; where they fit left of them, else under them. */
export function labelPlace({ start, end, letters, track }: LabelFacts): LabelPlace {
  const wanted = ((letters * LETTER + EDGE) / Math.max(1, track)) * 100;
  if (end + GAP + wanted <= 100) return { side: 'right', left: end + GAP };
  if (start - GAP - wanted >= 0) return { side: 'left', right: 100 - start + GAP };
  return { side: 'below', left: Math.max(0, Math.min(start, 100 - wanted)) };
}
