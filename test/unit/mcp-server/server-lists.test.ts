/** The kept lists of servers: when one is read again, and what of it is shown.
 *  It must not need a server: what is read is given. */
import { expect, test } from 'vitest';
import { createServerLists } from '../../../src/mcp-server/server-lists.ts';

const SERVER = (revision: string) => ({ name: 's', offers: { resources: true as const, revision } });
const GOOD = { uri: 'x:1', name: 'one' };

test('a wrong entry is left out, and the others are shown', async () => {
  const wrong = [
    { uri: 5, name: 'n' },
    { name: 'n' },
    null,
    { uri: 'x: y', name: 'n' },
    { uri: 'x:\u0007', name: 'n' },
  ];
  const long = { uri: `x:${'1'.repeat(2_048)}`, name: 'long' };
  const lists = createServerLists(async () => ({ resources: [...wrong, long, GOOD] }));
  expect(await lists.resources(SERVER(''))).toEqual([GOOD]);
});

test('what is no list is empty', async () => {
  const lists = createServerLists(async () => ({ resources: { length: 3 } }));
  expect(await lists.resources(SERVER(''))).toEqual([]);
});

test('it is read once until the server announces a change, and stays where it cannot be read again', async () => {
  let reads = 0;
  const lists = createServerLists(async () => {
    reads += 1;
    if (reads === 2) throw new Error('away');
    return { resources: [{ ...GOOD, name: `read ${reads}` }] };
  });
  const names = async (revision: string) => (await lists.resources(SERVER(revision))).map(({ name }) => name);
  expect(await Promise.all([names('1'), names('1')])).toEqual([['read 1'], ['read 1']]);
  expect(await names('2')).toEqual(['read 1']);
  expect(await names('3')).toEqual(['read 3']);
  expect(reads).toBe(3);
});
