/** How the tests run: what is pure in shared workers, what talks to a real Redis and to real servers each in a process of its own.
 *  It must not hide a failure: no retries, no tolerated unhandled errors. */
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** They start no process and share nothing that outlives a test: the modules are read once for all of them. */
const PURE = ['test/*.test.ts', 'test/unit/**/*.test.ts', 'test/chaos/*.test.ts', 'test/contract/*.test.ts'];
const NOT_PURE = ['test/chaos/short.test.ts', 'test/contract/*-client.test.ts'];

/** The longest files begin first: one that began last would run alone at the end. */
const LONG = [
  'test/chaos/short.test.ts',
  'test/integration/engine/crash.test.ts',
  'test/e2e/cli.test.ts',
  'test/integration/mcp/stdio-connection.test.ts',
  'test/integration/redis/',
  'test/e2e/',
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
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 20_000,
    retry: 0,
    sequence: { sequencer: LongFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'pure',
          include: PURE,
          exclude: NOT_PURE,
          isolate: false,
          restoreMocks: true,
          unstubGlobals: true,
          unstubEnvs: true,
        },
      },
      { extends: true, test: { name: 'real', include: ['test/**/*.test.ts'], exclude: excludedFrom(PURE) } },
    ],
  },
});

/** The files of `patterns`, but for those that are not pure after all. */
function excludedFrom(patterns: readonly string[]): string[] {
  return patterns.map((pattern) =>
    pattern
      .replace('test/chaos/*.test.ts', 'test/chaos/!(short).test.ts')
      .replace('test/contract/*.test.ts', 'test/contract/!(*-client).test.ts'),
  );
}
