/** The documentation is written in the English of the field: no page has a word that the rules of prose exclude. */
import { expect, test } from 'vitest';
import { PAGES, proseOf } from './support/documents.ts';
import { bannedWord } from './support/prose.ts';

/** Targets of links are not prose. */
function visible(line: string): string {
  return line.replaceAll(/\]\([^)]*\)/g, ']');
}

test.each(PAGES)('%s has no banned word', (page) => {
  const faults = proseOf(page).flatMap((line, index) => {
    const word = bannedWord(visible(line));
    return word === null ? [] : [`${page}:${index + 1} ${word}`];
  });
  expect(faults).toEqual([]);
});
