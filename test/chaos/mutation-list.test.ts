/** Each protection is still where its mutation removes it.
 *  It must never run one: `node test/chaos/mutations.ts` does. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { MUTATIONS, NOTICED_BY_TESTS } from './mutation-list.ts';

const ROOT = new URL('../../', import.meta.url);
const patches = [MUTATIONS, ...NOTICED_BY_TESTS.map(([mutations]) => mutations)].flatMap((mutations) =>
  Object.entries(mutations).flatMap(([name, list]) =>
    list.map(({ file, from }) => [name, file, from] as const),
  ),
);

test.each(patches)('%s fits %s', (_name, file, from) => {
  expect(readFileSync(new URL(file, ROOT), 'utf8').split(from)).toHaveLength(2);
});
