/** The directives of the demo, and how each should end.
 *  It must hold no code: a case is data. */
import { resolve } from 'node:path';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';

/** How every directive of a case should end. */
export interface Expectation {
  /** `ok`, or the type of the error. */
  readonly ending: string;
  /** Attempts that each directive should have taken. */
  readonly attempts: number;
}

export interface DemoCase {
  readonly title: string;
  readonly directives: readonly SubmittedDirective[];
  readonly expected: Expectation;
}

/** The report that the flaky server refuses twice. */
export const FLAKY_REPORT = 'quarterly';

const PARALLEL_CALLS = 500;

export const CASES: readonly DemoCase[] = [
  {
    title: 'A single call',
    directives: [toolCall('sum', 'everything.get-sum', { a: 2, b: 3 })],
    expected: { ending: 'ok', attempts: 1 },
  },
  {
    title: 'A failing call',
    directives: [
      toolCall('read', 'filesystem.read_text_file', { path: resolve('examples/no-such-file.txt') }),
    ],
    expected: { ending: 'tool_error', attempts: 1 },
  },
  {
    title: 'Two failures, then success',
    directives: [
      {
        ...toolCall('fetch', 'flaky.fetch-report', { report: FLAKY_REPORT, failures: 2 }),
        max_retries: 3,
        retry_backoff_ms: 200,
        backoff: 'exponential',
      },
    ],
    expected: { ending: 'ok', attempts: 3 },
  },
  {
    title: 'Cancelled by its timeout',
    directives: [
      {
        ...toolCall('slow', 'everything.trigger-long-running-operation', { duration: 30, steps: 1 }),
        timeout_ms: 500,
      },
    ],
    expected: { ending: 'timeout', attempts: 1 },
  },
  {
    title: 'A template of the directive server',
    directives: [toolCall('spec', 'directive.directive/spec.template', {})],
    expected: { ending: 'ok', attempts: 1 },
  },
  {
    title: `${PARALLEL_CALLS} calls in parallel`,
    directives: Array.from({ length: PARALLEL_CALLS }, (_, index) =>
      toolCall(`echo-${index + 1}`, 'everything.echo', { message: `call ${index + 1}` }),
    ),
    expected: { ending: 'ok', attempts: 1 },
  },
];

function toolCall(id: string, name: string, args: Record<string, unknown>) {
  return { type: 'tool_exec', id, tool_name: name, arguments: args } as const;
}
