/** What each kind of tool call requests of the tool, and of the service.
 *  It must never depend on what the service answers. */
import type { Expectation } from './plan.ts';
import type { Chance } from './random.ts';

/** How often each is planned. */
export const CALL_KINDS = {
  quick: 30,
  steady: 15,
  slow: 12,
  flaky: 12,
  failing: 5,
  timing_out: 6,
  short_deadline: 4,
  orphan: 2,
  expiring: 3,
  unknown_tool: 3,
  large: 2,
  serial: 4,
  task: 6,
  asking: 3,
  hostile: 3,
  hostile_list: 1,
} as const;

export type CallKind = keyof typeof CALL_KINDS;

/** One call at a time over all workers. */
const SERIAL_SERVER = 'delta';
/** It keeps calls as tasks, and asks people. */
const TASK_SERVER = 'epsilon';

/** How the hostile server answers, always past a limit. */
const HOSTILE_TOOLS = [
  'deep',
  'wide',
  'items',
  'garbage',
  'endless',
  'flood',
  'gzip',
  'lines',
  'refusal',
  'redirect',
];

/** More than a body may have to fit inside the job. */
const PADDING_BYTES = 40_000;

export interface CallShape {
  readonly args: Readonly<Record<string, unknown>>;
  readonly fields?: Readonly<Record<string, unknown>>;
  readonly toolName?: string;
  /** Default: any of those that have nothing of their own. */
  readonly server?: string;
  readonly expect: Expectation;
}

export function shapeOf(chance: Chance, kind: CallKind): CallShape {
  switch (kind) {
    case 'quick':
      return { args: { delay_ms: chance.between(0, 40) }, expect: 'answer' };
    case 'steady':
      return { args: { delay_ms: chance.between(100, 900) }, expect: 'answer' };
    case 'slow': {
      const delayMs = chance.between(3_000, 8_000);
      return { args: { delay_ms: delayMs, steps: chance.between(0, 16) }, expect: 'answer' };
    }
    case 'serial':
      return { args: { delay_ms: chance.between(20, 400) }, server: SERIAL_SERVER, expect: 'answer' };
    case 'task': {
      const delayMs = chance.percent(50) ? chance.between(0, 900) : chance.between(3_000, 8_000);
      return { args: { delay_ms: delayMs, asks: chance.percent(30) }, server: TASK_SERVER, expect: 'answer' };
    }
    case 'asking':
      return { args: { asks: true, direct: true }, server: TASK_SERVER, expect: 'answer' };
    case 'large':
      return { args: { padding: 'x'.repeat(PADDING_BYTES) }, expect: 'answer' };
    case 'flaky': {
      const failures = chance.between(1, 4);
      return {
        args: { failures, retryable: true, delay_ms: chance.between(0, 800) },
        expect: 'answer',
      };
    }
    case 'failing':
      return { args: { failures: 1_000, retryable: chance.percent(50) }, expect: 'tool_failure' };
    case 'timing_out': {
      const timeoutMs = chance.between(200, 900);
      return { args: { delay_ms: timeoutMs * 3 }, fields: { timeout_ms: timeoutMs }, expect: 'timeout' };
    }
    case 'short_deadline': {
      const deadlineMs = chance.between(300, 4_000);
      return {
        args: { delay_ms: deadlineMs + 8_000 },
        fields: { deadline_ms: deadlineMs },
        expect: 'deadline',
      };
    }
    case 'orphan':
      return {
        args: {},
        fields: { deadline_ms: chance.between(500, 8_000) },
        toolName: 'orphan.read',
        expect: 'deadline',
      };
    case 'expiring':
      return { args: {}, toolName: 'orphan.read', expect: 'expired' };
    case 'hostile':
      return {
        args: {},
        fields: { timeout_ms: chance.between(1_000, 5_000) },
        toolName: `${chance.pick(['mallory', 'trudy'])}.${chance.pick(HOSTILE_TOOLS)}`,
        expect: 'hostile',
      };
    case 'hostile_list':
      return {
        args: {},
        fields: { deadline_ms: chance.between(2_000, 8_000) },
        toolName: 'lister.read',
        expect: 'hostile',
      };
    case 'unknown_tool':
      return { args: {}, toolName: chance.pick(['alpha.nothing', 'nowhere.read']), expect: 'unknown_tool' };
  }
}
