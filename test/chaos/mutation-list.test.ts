/** Each protection is marked once in the sources, and its removal leaves a program.
 *  It never runs a mutation: `node test/chaos/mutations.ts` does. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';
import { expect, test } from 'vitest';
import { MUTATIONS, NOTICED_BY_TESTS } from './mutation-list.ts';
import { guardsIn, patchesOf, withoutGuard } from './patch.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const guards = guardsIn(ROOT);
const patches = [MUTATIONS, ...Object.values(NOTICED_BY_TESTS)]
  .flatMap((mutations) => patchesOf(mutations))
  .flatMap(([, each]) => each);

test.each(patches)('the guard $guard is marked once, and can be taken out', (each) => {
  const marked = guards.get(each.guard) ?? [];
  expect(marked).toHaveLength(1);
  for (const place of marked) {
    const source = readFileSync(join(ROOT, place.file), 'utf8');
    const mutated = withoutGuard(source, place, each);
    expect(mutated).not.toBe(source);
    if (!place.file.endsWith('.lua')) expect(parseSync(place.file, mutated).errors).toEqual([]);
  }
});

test('every marked guard has a mutation', () => {
  const named = new Set(patches.map(({ guard }) => guard));
  expect([...guards.keys()].filter((name) => !named.has(name))).toEqual([]);
});
