// Statistics over time: what ended, how, how long it took, and what it cost, by interval and by name.
// Must never hold a question, an argument or a result.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';
import { anyTenantSchema } from '../access/tenant-name.ts';

const count = z.int().min(0);

/** Intervals of statistics, and the length of each in milliseconds. */
export const STATS_INTERVALS = { '5m': 300_000, '1h': 3_600_000, '1d': 86_400_000 } as const;
/** Length of an interval. */
export type StatsInterval = keyof typeof STATS_INTERVALS;
/** How long the intervals of each length are kept, milliseconds. */
export const STATS_KEPT_MS: Readonly<Record<StatsInterval, number>> = {
  '5m': 86_400_000,
  '1h': 31 * 86_400_000,
  '1d': 400 * 86_400_000,
};
/** Kinds of names by which statistics are grouped. */
export const STATS_GROUPS = ['agent', 'model', 'tool', 'tag', 'tenant', 'score'] as const;
/** Kind of the names by which statistics are grouped. */
export type StatsGroup = (typeof STATS_GROUPS)[number];
/** Name of the series of everything beyond the names that an interval keeps. */
export const OTHER_NAMES = '_other';
/** Most intervals of one answer. */
export const MOST_INTERVALS = 500;
/** Most series of one answer. */
export const MOST_SERIES = 50;
/** Series of an answer where the query says nothing. */
export const DEFAULT_SERIES = 10;

/** Which statistics; the members that a URL carries as text. */
export const statsFilterSchema = z.strictObject({
  interval: z
    .enum(['5m', '1h', '1d'])
    .optional()
    .describe(
      'Length of an interval: 5 minutes (kept for 1 day), 1 hour (31 days) or 1 day (400 days), aligned in UTC. Default: the shortest one that is kept since `since`, with at most 500 intervals.',
    ),
  since: instantSchema
    .optional()
    .describe('Beginning (UTC), rounded down to an interval. Default: one day before `until`.'),
  until: instantSchema.optional().describe('End (UTC), exclusive. Default: now.'),
  by: z
    .enum(STATS_GROUPS)
    .optional()
    .describe(
      'One series for each name of this kind. `model` and `tool` count calls, `score` scores, the others requests. `tenant` needs the scope `admin` of the tenant `default`. Default: one series of everything.',
    ),
  name: z.string().min(1).max(256).optional().describe('Only the series of this name; needs `by`.'),
  tenant: anyTenantSchema
    .optional()
    .describe(
      'Tenant whose statistics are read, `*`: of all together. Needs the scope `admin` of the tenant `default`, and is audited. Default: that of the caller.',
    ),
});

const quantiles = z.object({
  p50: z.number().min(0).describe('Median in milliseconds, with an error of at most 12 %.'),
  p95: z.number().min(0).describe('95th percentile in milliseconds, with an error of at most 12 %.'),
});

/** Counts of one interval, or of a whole series. */
export const statsCountsSchema = z.object({
  started: count.describe(
    'Number that started: runs, and directives without a run; of a tool or model its calls.',
  ),
  succeeded: count.describe('Number that succeeded.'),
  failed: count.describe('Number that failed.'),
  cancelled: count.describe('Number that was cancelled.'),
  error_types: z
    .record(z.string(), count)
    .describe('Number of failures by type of error; types of tools and modules count as `_other`.'),
  duration_ms: quantiles
    .nullable()
    .describe('Duration: of a request from its acceptance, of a call from its start. null: nothing ended.'),
  waited_ms: quantiles
    .nullable()
    .describe(
      'Wait of directives between the instant at which they could start and their claim. null: none.',
    ),
  tokens: z
    .object({
      input: count.describe('Number of input tokens.'),
      output: count.describe('Number of output tokens.'),
    })
    .describe('Token usage of model calls, counted when each call ends.'),
  cost: z.number().min(0).describe('Cost of model calls in USD; calls of models without a price count as 0.'),
  tool_calls: count.describe('Number of tool calls that ended.'),
  model_calls: count.describe('Number of attempts at model calls that ended.'),
  score: z
    .object({
      count: count.describe('Number of scores.'),
      mean: z.number().describe('Mean of their values.'),
      passed: count.describe('Number of scores with `passed` true.'),
      failed: count.describe('Number of scores with `passed` false.'),
    })
    .optional()
    .describe('Scores, counted when they are recorded. Absent: other groups than `score`.'),
});

/** Schema of statistics. */
export const statsSchema = z.object({
  interval: z.enum(['5m', '1h', '1d']).describe('Length of an interval.'),
  since: instantSchema.describe('Beginning (UTC) of the first interval.'),
  until: instantSchema.describe('End (UTC), exclusive.'),
  by: z.enum(STATS_GROUPS).nullable().describe('Kind of the names; null: one series of everything.'),
  series: z
    .array(
      z.object({
        name: z
          .string()
          .nullable()
          .describe('Name of the series; `_other`: names beyond those that are kept; null: everything.'),
        total: statsCountsSchema.describe('Counts of all intervals together.'),
        points: z
          .array(statsCountsSchema.extend({ at: instantSchema.describe('Beginning (UTC) of the interval.') }))
          .describe('Intervals in which something was counted, oldest first; the others are zero.'),
      }),
    )
    .describe('Series, the one that ended most first.'),
  series_left_out: count.describe('Number of further series, beyond `limit`.'),
});

/** As the client takes it; the route reads the same from a URL. */
export const statsQuerySchema = statsFilterSchema.extend({
  limit: z.int().min(1).max(MOST_SERIES).optional().describe('Maximum number of series. Default: 10.'),
});

/** Query for statistics. */
export type StatsQuery = z.infer<typeof statsQuerySchema>;
/** Counts of an interval or a series. */
export type StatsCounts = z.infer<typeof statsCountsSchema>;
/** Statistics over time. */
export type Stats = z.infer<typeof statsSchema>;
