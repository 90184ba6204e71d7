// The id of the directive that a redrive makes from another.
// Must never give one redrive two ids: a repeat after a crash makes the same directive.
import { hash } from 'node:crypto';

const SUCCESSOR = /^(?<stem>.*)\.redrive-(?<count>\d+)$/;
const LONGEST_ID = 128;

/** `a` → `a.redrive-1` → `a.redrive-2`; of a stem too long for an identifier, its beginning and its hash. */
export function successorId(id: string): string {
  const match = SUCCESSOR.exec(id);
  const suffix = `.redrive-${Number(match?.groups?.['count'] ?? 0) + 1}`;
  return suffixedId(match?.groups?.['stem'] ?? id, suffix);
}

/** The id with a suffix; of a stem too long for an identifier, its beginning and its hash. */
export function suffixedId(stem: string, suffix: string): string {
  if (stem.length + suffix.length <= LONGEST_ID) return `${stem}${suffix}`;
  const mark = `.${hash('sha256', stem, 'hex').slice(0, 12)}`;
  return `${stem.slice(0, LONGEST_ID - suffix.length - mark.length)}${mark}${suffix}`;
}

/** The id that the first of them had. */
export function stemOf(id: string): string {
  return SUCCESSOR.exec(id)?.groups?.['stem'] ?? id;
}
