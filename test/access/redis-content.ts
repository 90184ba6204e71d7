/** What Redis holds, as lines: what is new after a fuzz was written by a caller that may not.
 *  It must never change anything. */
import { Redis } from 'ioredis';

/** What processes write about themselves, whoever calls. */
const OF_PROCESSES = /^(adjutant:workers|bull:.*:meta)/;

/** `<key> <hash of the value>` of each key. */
export async function contentOf(url: string): Promise<ReadonlySet<string>> {
  const connection = new Redis(url);
  const names = await connection.keys('*');
  const wanted = names.filter((name) => !OF_PROCESSES.test(name));
  const lines = wanted.map(async (name) => {
    const text = await connection.dump(name);
    // The last use of a key is an instant of its own.
    return name.endsWith(':uses') ? name : `${name} ${Buffer.from(text ?? '').toString('hex')}`;
  });
  const content = new Set(await Promise.all(lines));
  connection.disconnect();
  return content;
}
