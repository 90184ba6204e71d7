/** Something that the tests of a file, or of a describe block, share: a Redis, a service, a journal.
 *  It must never be used before a test begins, nor be left behind after the last. */
import { beforeAll, beforeEach } from 'vitest';
import { type RedisOptions, startRedis, type TestRedis } from './redis.ts';

/** Starts before the first test and is disposed of after the last, in the reverse order of the calls. */
export function shared<T extends AsyncDisposable & object>(start: () => Promise<T>): T {
  return between(beforeAll, start);
}

/** As `shared`, for each test anew. */
export function eachTest<T extends AsyncDisposable & object>(start: () => Promise<T>): T {
  return between(beforeEach, start);
}

/** Stands for what runs at present. */
function between<T extends AsyncDisposable & object>(
  before: typeof beforeAll | typeof beforeEach,
  start: () => Promise<T>,
): T {
  let running: T | undefined;
  before(async () => {
    const started = await start();
    running = started;
    return async () => {
      running = undefined;
      await started[Symbol.asyncDispose]();
    };
  });
  return new Proxy({} as T, {
    get(_target, name) {
      if (running === undefined) throw new Error(`${String(name)} is read while no test runs`);
      return Reflect.get(running, name);
    },
  });
}

/** One Redis for all tests of a file or of a describe block; each test takes a key prefix of its own. */
export function useRedis(options: RedisOptions = {}): TestRedis {
  return shared(() => startRedis(options));
}
