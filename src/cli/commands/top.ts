/** `adjutant top`: what started and ended, how fast, and what it cost, by name.
 *  It must never change anything. */
import { Option } from 'commander';
import {
  STATS_GROUPS,
  STATS_INTERVALS,
  type Stats,
  type StatsCounts,
  type StatsGroup,
  type StatsInterval,
} from '../../contract/request/stats.ts';
import { pause } from '../../platform/lifecycle.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { pastInstantOption, wholeNumber } from '../options/option-values.ts';
import { instantText, table, timeText } from '../table.ts';
import { oneLine } from '../terminal.ts';

interface TopOptions {
  readonly by?: StatsGroup;
  readonly name?: string;
  readonly since?: string;
  readonly until?: string;
  readonly interval?: StatsInterval;
  readonly limit?: number;
  readonly tenant?: string;
  readonly watch?: true;
}

const WATCH_EVERY_MS = 5_000;
const LONGEST_NAME = 60;

export function addTop({ program, withClient }: CommandLine): void {
  program
    .command('top')
    .description('show starts, ends, failures, durations, tokens and money of the last day')
    .addOption(new Option('--by <kind>', 'one row for each name of this kind').choices(STATS_GROUPS))
    .option('--name <name>', 'only this name')
    .option(
      '--since <when>',
      'from then on: 2h, 7d, noon, yesterday, 14:30, or an instant; default: 1d',
      when,
    )
    .option('--until <when>', 'up to then; default: now', when)
    .addOption(
      new Option('--interval <length>', 'length of an interval in the answer of --json').choices(
        Object.keys(STATS_INTERVALS),
      ),
    )
    .option('--limit <count>', 'at most this many rows, up to 50; default: 10', wholeNumber)
    .option('--tenant <name>', 'of another tenant, or * for all: for administrators of the tenant default')
    .option('--watch', 'print it again every 5 s, until interrupted')
    .action(async (given: TopOptions) => withClient(async (invocation) => top(invocation, given)));
}

/** The command line passes the value before, too. */
function when(text: string): string {
  return pastInstantOption(text);
}

async function top(invocation: Invocation, { watch, ...query }: TopOptions): Promise<ExitCode> {
  const { client, terminal, json, interrupt } = invocation;
  for (;;) {
    const stats = await client.stats(query);
    for (const line of json ? [JSON.stringify(stats)] : linesOf(stats)) terminal.out(line);
    if (watch !== true) return EXIT.done;
    await pause(WATCH_EVERY_MS, interrupt);
    if (interrupt.aborted) return EXIT.interrupted;
  }
}

const HEAD = [
  'STARTED',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
  'P50',
  'P95',
  'WAITED P95',
  'TOKENS IN',
  'OUT',
  'USD',
  'TOOL CALLS',
  'ERRORS',
];

/** Columns of scores, which are of no request alone. */
const SCORE_HEAD = ['SCORES', 'MEAN', 'PASSED', 'FAILED'];

function linesOf({ since, until, by, series, series_left_out: leftOut }: Stats): string[] {
  const [head, cellsOf] = by === 'score' ? [SCORE_HEAD, scoreCells] : [HEAD, cells];
  const rows = series.map(({ name, total }) => [oneLine(name ?? 'all', LONGEST_NAME), ...cellsOf(total)]);
  return [
    `${instantText(since, 'minutes')} to ${instantText(until, 'minutes')} UTC`,
    ...(rows.length === 0
      ? ['nothing was counted']
      : table([[by === null ? '' : by.toUpperCase(), ...head], ...rows])),
    ...(leftOut === 0 ? [] : [`${leftOut} more: --limit`]),
  ];
}

function cells(counts: StatsCounts): string[] {
  const { started, succeeded, failed, cancelled, duration_ms, waited_ms, tokens, cost } = counts;
  const errors = Object.entries(counts.error_types).toSorted(([, left], [, right]) => right - left);
  return [
    ...[started, succeeded, failed, cancelled].map(String),
    ...[duration_ms?.p50, duration_ms?.p95, waited_ms?.p95].map((ms) =>
      ms === undefined ? '-' : timeText(ms),
    ),
    String(tokens.input),
    String(tokens.output),
    cost.toFixed(4),
    String(counts.tool_calls),
    errors.map(([type, count]) => `${type} ${count}`).join(', ') || '-',
  ];
}

function scoreCells({ score }: StatsCounts): string[] {
  if (score === undefined) return SCORE_HEAD.map(() => '-');
  return [String(score.count), score.mean.toFixed(2), String(score.passed), String(score.failed)];
}
