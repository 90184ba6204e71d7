/** A process that takes the folders which its input names, one a line, and prints `owner` or the name of the refusal.
 *  It must not release one: it owns each until it ends. */
import { createInterface } from 'node:readline';
import { takeLock } from '../../src/platform/redis/private-lock.ts';

console.log('ready');
for await (const folder of createInterface({ input: process.stdin })) {
  console.log(
    await takeLock(folder).then(
      () => 'owner',
      (error: Error) => error.name,
    ),
  );
}
