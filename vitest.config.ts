/** How the tests run: one suite on two workers, because most of it talks to a real Redis and to real servers.
 *  It must not hide a failure: no retries, no tolerated unhandled errors. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    retry: 0,
  },
});
