/** Each protection is still where its mutation removes it.
 *  It must never run one: `node test/chaos/mutations.ts` does. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import {
  ACCESS_MUTATIONS,
  ARCHIVE_MUTATIONS,
  FLOW_MUTATIONS,
  FLOW_PATH_MUTATIONS,
  MUTATIONS,
  ONCE_MUTATIONS,
  TESTED_MUTATIONS,
} from './mutation-list.ts';

const ROOT = new URL('../../', import.meta.url);
const patches = Object.entries({
  ...MUTATIONS,
  ...TESTED_MUTATIONS,
  ...ACCESS_MUTATIONS,
  ...ARCHIVE_MUTATIONS,
  ...FLOW_MUTATIONS,
  ...ONCE_MUTATIONS,
  ...FLOW_PATH_MUTATIONS,
}).flatMap(([name, list]) => list.map(({ file, from }) => [name, file, from] as const));

test.each(patches)('%s fits %s', (_name, file, from) => {
  expect(readFileSync(new URL(file, ROOT), 'utf8').split(from)).toHaveLength(2);
});
