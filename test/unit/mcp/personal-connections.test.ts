/** Which connection a call with the login of its caller gets, and when one is closed: issue 38, point 6.
 *  It must never connect: the connections are the test's. */
import { expect, test } from 'vitest';
import { createPersonalConnections } from '../../../src/mcp/personal-connections.ts';

test('a caller who logs in anew gets another connection; calls of the login before it end on theirs, which is then closed', async () => {
  const closed: string[] = [];
  let opened = 0;
  const connections = createPersonalConnections((server, account, login) => {
    const name = `${server} ${account} ${login} ${(opened += 1)}`;
    const stop = async (): Promise<void> => void closed.push(name);
    return { name, connection: { session: () => ({}), fault: () => null, stop } as never };
  });
  const use = async (login: string | undefined, during: (name: string) => Promise<void> = async () => {}) =>
    connections.use({ server: 'crm', account: 'ada', login }, async ({ name }) => {
      await during(name);
      return name;
    });
  const first = await use('1', async () => {
    expect(await use('1')).toBe('crm ada 1 1');
    expect(await use('2')).toBe('crm ada 2 2');
    expect(closed).toEqual([]);
  });
  expect([first, closed]).toEqual(['crm ada 1 1', ['crm ada 1 1']]);
  // The task of an ended call is cancelled with the login of now.
  expect(await use(undefined)).toBe('crm ada 2 2');
  expect(connections.close().map(({ name }) => name)).toEqual(['crm ada 2 2']);
});
