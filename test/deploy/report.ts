// What was checked, line by line, and how it went.
// Must never count as passed what did not run.

export interface Count {
  readonly passed: number;
  readonly failed: number;
}

export interface Report {
  /** A check that throws has failed; the next ones run. */
  check(name: string, body: () => void | Promise<void>): Promise<void>;
  notRun(name: string, why: string): void;
  add(count: Count): void;
  readonly count: Count;
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function createReport(): Report {
  let passed = 0;
  let failed = 0;
  return {
    async check(name, body) {
      const startedAt = performance.now();
      const fault = await Promise.resolve()
        .then(body)
        .then(() => null, messageOf);
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
      print(`${fault === null ? '✓' : '✗'} ${name} (${seconds} s)`);
      if (fault !== null) print(fault);
      if (fault === null) passed += 1;
      else failed += 1;
    },
    notRun: (name, why) => print(`- not run: ${name}: ${why}`),
    add(count) {
      passed += count.passed;
      failed += count.failed;
    },
    get count() {
      return { passed, failed };
    },
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}
