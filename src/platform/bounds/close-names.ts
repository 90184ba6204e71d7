/** Suggests known names for a mistyped one.
 *  It must never suggest a name that shares nothing with the given one. */
import leven from 'leven';

const MAX_SUGGESTIONS = 3;
const MAX_COMPARED_CHARACTERS = 64;
/** Each comparison costs some microseconds; a server may list any number. */
const MAX_COMPARED_NAMES = 2_000;

/** Best first, at most three: the same name in another spelling, a name with all its words, or a few letters off. */
export function closeNames(asked: string, known: readonly string[]): string[] {
  const wanted = wordsOf(asked);
  const furthest = Math.max(2, Math.floor(wanted.join('').length / 3));
  return known
    .slice(0, MAX_COMPARED_NAMES)
    .map((name) => ({ name, distance: distanceOf(wanted, wordsOf(name)) }))
    .filter(({ distance }) => distance <= furthest)
    .toSorted((a, b) => a.distance - b.distance || a.name.localeCompare(b.name))
    .slice(0, MAX_SUGGESTIONS)
    .map(({ name }) => name);
}

function wordsOf(name: string): string[] {
  const words = name.slice(0, MAX_COMPARED_CHARACTERS).replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2');
  return words.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

function distanceOf(asked: readonly string[], name: readonly string[]): number {
  const [a, b] = [asked.join(''), name.join('')];
  if (a === '' || b === '') return Infinity;
  if (a.length >= 3 && (asked.every((word) => name.includes(word)) || b.includes(a))) return 1;
  return leven(a, b);
}
