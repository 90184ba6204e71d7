/** Something that the tests of a file, or of a describe block, share: a Redis, a service, a journal.
 *  It must never be used before the first test begins, nor be left behind after the last. */
import { afterAll, beforeAll } from 'vitest';
import { type RedisOptions, startRedis, type TestRedis } from './redis.ts';

/** Starts before the first test and is disposed of after the last, in the reverse order of the calls. */
export function shared<T extends AsyncDisposable & object>(start: () => Promise<T>): T {
  let running: T | undefined;
  beforeAll(async () => {
    running = await start();
  });
  afterAll(async () => {
    await running?.[Symbol.asyncDispose]();
    running = undefined;
  });
  return new Proxy({} as T, {
    get(_target, name) {
      if (running === undefined) throw new Error(`${String(name)} is read before the first test`);
      return Reflect.get(running, name);
    },
  });
}

/** One Redis for all tests of a file or of a describe block; each test takes a key prefix of its own. */
export function useRedis(options: RedisOptions = {}): TestRedis {
  return shared(() => startRedis(options));
}
