/** How the tests run: eight workers, as most of a test is waiting, which share their modules among the files; the longest first.
 *  It must not hide a failure: no retries, no tolerated unhandled errors. */
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { programOf } from './test/support/program.ts';

// For the workers and for every process that a test starts: a fifth to a third less work for each.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache');

const OTHER_BULLMQ = process.env['ADJUTANT_TEST_BULLMQ'];

/** The longest files begin first: one that began last would run alone at the end. */
const LONG = [
  'test/chaos/short.test.ts',
  'test/e2e/documents.test.ts',
  'test/e2e/cli.test.ts',
  'test/contract/clients.test.ts',
  'test/providers/matrix.test.ts',
  'test/neighbours/',
  // Small files, which the order by size would begin last.
  'test/e2e/signals-elsewhere.test.ts',
  'test/e2e/traces.test.ts',
  'test/e2e/cases.test.ts',
  'test/integration/platform/redis/',
  'test/integration/http/mcp/',
  'test/e2e/package.test.ts',
  'test/integration/mcp/stdio-connection.test.ts',
  'test/e2e/',
  'conformance.test.ts',
  'test/console/',
  'examples/',
];

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const place = LONG.findIndex((part) => moduleId.includes(part));
      return place < 0 ? LONG.length : place;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

export default defineConfig({
  // Imported from the package, which here is the sources, as `npm test` has made them.
  resolve: {
    alias: {
      'adjutant/testing': programOf(resolve('src/testing/test-kit.ts')),
      '@adjutant/client/ai-sdk': resolve('client/ai-sdk.ts'),
      'adjutant/client': programOf(resolve('src/client/http-client.ts')),
      // Another version of BullMQ, by the name of its package here.
      ...(OTHER_BULLMQ === undefined ? {} : { bullmq: OTHER_BULLMQ }),
    },
  },
  test: {
    pool: 'forks',
    maxWorkers: 8,
    testTimeout: 180_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    retry: 0,
    // Default: 1 s, less than a busy machine takes for a request.
    expect: { poll: { timeout: 90_000 } },
    sequence: { sequencer: LongFirst },
    // The example is a test suite of a user.
    include: ['{test,console/test}/**/*.test.ts', 'examples/testing/*.vitest.ts'],
    // A worker reads the modules once for all of its files: about a second of CPU time for each file.
    isolate: false,
    restoreMocks: true,
    unstubGlobals: true,
    unstubEnvs: true,
  },
});
