// The metrics of the service by whose process reports them; of the conventions where there are any, else our own.
// Must never have a label whose values callers choose: no request, directive or message is a label, nor a tool that is not ours.
import { LABEL, type MetricDefinition, SECONDS } from './metric.ts';
import { MODEL_METRICS } from './model-metric-names.ts';

const LIST_METRICS = {
  searchLag: {
    kind: 'gauge',
    name: 'adjutant.search.lag',
    unit: 's',
    labels: [],
    says: 'How long the oldest change waits that the list of requests does not show yet; 0 = it shows all.',
  },
  searchIncomplete: {
    kind: 'gauge',
    name: 'adjutant.search.incomplete',
    unit: '',
    labels: [],
    says: '1 while the list of requests is being built and lacks older requests, as after an upgrade; else 0.',
  },
} satisfies Readonly<Record<string, Omit<MetricDefinition, 'by'>>>;

/** The members of `metrics` with their reporter. */
function reportedBy<K extends string>(
  by: MetricDefinition['by'],
  metrics: Readonly<Record<K, Omit<MetricDefinition, 'by'>>>,
): Record<K, MetricDefinition> {
  const named = Object.entries<Omit<MetricDefinition, 'by'>>(metrics);
  return Object.fromEntries(named.map(([name, metric]) => [name, { ...metric, by }])) as Record<
    K,
    MetricDefinition
  >;
}

const API = reportedBy('api', {
  laneDepth: {
    kind: 'gauge',
    name: 'adjutant.lane.depth',
    unit: '{directive}',
    labels: [LABEL.lane, LABEL.state],
    says: 'Directives of a lane: `waiting` for a worker, `active`, `delayed` until a retry or pause is over, or `gated` until its turn or a limit lets it in. At most 5 s old.',
  },
  laneOldestAge: {
    kind: 'gauge',
    name: 'adjutant.lane.oldest_age',
    unit: 's',
    labels: [LABEL.lane],
    says: 'Age of the next directive of a lane since it was enqueued; 0 = nothing waits.',
  },
  open: {
    kind: 'gauge',
    name: 'adjutant.open',
    unit: '{directive}',
    labels: [],
    says: 'Open directives and runs, as `limits.max_open` counts them.',
  },
  deadLetters: {
    kind: 'gauge',
    name: 'adjutant.dead_letters',
    unit: '{directive}',
    labels: [],
    says: 'Dead letters that are listed.',
  },
  ...LIST_METRICS,
  scheduleLag: {
    kind: 'gauge',
    name: 'adjutant.schedule.lag',
    unit: 's',
    labels: [],
    says: 'How late the first schedule is that is due; 0 = none is.',
  },
  archiveDue: {
    kind: 'gauge',
    name: 'adjutant.archive.due',
    unit: '{request}',
    labels: [],
    says: 'Requests that are still to be looked at for the archive, with those that wait for `archive.after_ms` or for their next try. Only where `archive` is configured.',
  },
  runs: {
    kind: 'gauge',
    name: 'adjutant.runs',
    unit: '{run}',
    labels: [LABEL.status],
    says: 'Runs that have begun and not ended: `running`, `waiting` for a timer, an input or a child, or for an `approval`. At most 5 s old.',
  },
  approvals: {
    kind: 'gauge',
    name: 'adjutant.approvals',
    unit: '{run}',
    labels: [],
    says: 'Runs that wait for an approval: `adjutant_runs` with the status `approval`.',
  },
  refusals: {
    kind: 'counter',
    name: 'adjutant.refusals',
    unit: '{request}',
    labels: [LABEL.code],
    says: 'Requests that the API refused, by the `code` of the problem.',
  },
  httpDuration: {
    kind: 'histogram',
    name: 'http.server.request.duration',
    unit: 's',
    labels: [LABEL.httpMethod, LABEL.httpRoute, LABEL.httpStatus],
    says: 'Time of a request, waits (`wait_ms`) included; streams of signals are not counted.',
    buckets: SECONDS,
  },
});

const WORKER = reportedBy('worker', {
  laneWait: {
    kind: 'histogram',
    name: 'adjutant.lane.wait',
    unit: 's',
    labels: [LABEL.lane],
    says: 'From when an attempt could begin to when a worker claimed it.',
    buckets: SECONDS,
  },
  attempts: {
    kind: 'counter',
    name: 'adjutant.attempts',
    unit: '{attempt}',
    labels: [LABEL.lane, LABEL.outcome, LABEL.errorType],
    says: 'Attempts by what became of them: `end`, `retry`, `fallback`, `pause`, `release`, `drop`. Those that ended well have no error type.',
  },
  attemptDuration: {
    kind: 'histogram',
    name: 'adjutant.attempt.duration',
    unit: 's',
    labels: [LABEL.lane, LABEL.outcome],
    says: 'Time of an attempt, without its claim and its record.',
    buckets: SECONDS,
  },
  attemptsRunning: {
    kind: 'gauge',
    name: 'adjutant.attempts.running',
    unit: '{attempt}',
    labels: [],
    says: 'Attempts under way in this process.',
  },
  redeliveries: {
    kind: 'counter',
    name: 'adjutant.redeliveries',
    unit: '{attempt}',
    labels: [LABEL.lane],
    says: 'Claims of directives whose previous worker was lost.',
  },
  directiveDuration: {
    kind: 'histogram',
    name: 'adjutant.directive.duration',
    unit: 's',
    labels: [LABEL.type, LABEL.outcome],
    says: 'From the acceptance of a directive to its end, retries and waits included.',
    buckets: SECONDS,
  },
  ...MODEL_METRICS,
  mcpConnected: {
    kind: 'gauge',
    name: 'adjutant.mcp.connected',
    unit: '',
    labels: [LABEL.server],
    says: '1 = this worker is connected to the MCP server and knows its tools.',
  },
  mcpReconnects: {
    kind: 'counter',
    name: 'adjutant.mcp.reconnects',
    unit: '{connection}',
    labels: [LABEL.server],
    says: 'Connections to an MCP server after the first one; for a stdio server each is a new process.',
  },
});

const ENGINE = reportedBy('engine', {
  runsStarted: {
    kind: 'counter',
    name: 'adjutant.runs.started',
    unit: '{run}',
    labels: [LABEL.agent],
    says: 'Runs whose first turn was written.',
  },
  runsEnded: {
    kind: 'counter',
    name: 'adjutant.runs.ended',
    unit: '{run}',
    labels: [LABEL.agent, LABEL.status],
    says: 'Runs that ended: `completed`, `failed`, `cancelled` or `timeout`.',
  },
  runDuration: {
    kind: 'histogram',
    name: 'adjutant.run.duration',
    unit: 's',
    labels: [LABEL.agent, LABEL.status],
    says: 'From the start of a run to its end.',
    buckets: SECONDS,
  },
  turnDuration: {
    kind: 'histogram',
    name: 'adjutant.turn.duration',
    unit: 's',
    labels: [],
    says: 'Time of a turn of a run, from its reading to its writing. Its count is the number of turns.',
    buckets: SECONDS,
  },
});

const EVERY_ROLE = reportedBy('every role', {
  results: {
    kind: 'counter',
    name: 'adjutant.results',
    unit: '{directive}',
    labels: [LABEL.type, LABEL.outcome, LABEL.errorType],
    says: 'Ended directives by type: `succeeded`, `failed` or `cancelled`, with the type of the error.',
  },
  outcomeUnknown: {
    kind: 'counter',
    name: 'adjutant.outcome_unknown',
    unit: '{directive}',
    labels: [LABEL.type],
    says: 'Ends of calls that may or may not have happened.',
  },
  sweeperEnqueues: {
    kind: 'counter',
    name: 'adjutant.sweeper.enqueues',
    unit: '{directive}',
    labels: [],
    says: 'Directives that the sweeper enqueued again.',
  },
  sweeperEnds: {
    kind: 'counter',
    name: 'adjutant.sweeper.ends',
    unit: '{directive}',
    labels: [],
    says: 'Directives that the sweeper ended at their deadline.',
  },
  scheduleFirings: {
    kind: 'counter',
    name: 'adjutant.schedule.firings',
    unit: '{firing}',
    labels: [LABEL.outcome],
    says: 'Instants of schedules: `fired`, `skipped` because an earlier request was open, `failed` because what they submit was refused, or `missed` because no process was available in time.',
  },
  archived: {
    kind: 'counter',
    name: 'adjutant.archived',
    unit: '{request}',
    labels: [LABEL.outcome],
    says: 'Closed requests: `stored` in the archive, `failed` for now and tried again, or `lost` because they expired before.',
  },
  redisUp: {
    kind: 'gauge',
    name: 'adjutant.redis.up',
    unit: '',
    labels: [],
    says: '1 = Redis answered within a second; 0 = it did not, and what only Redis knows is missing here.',
  },
  redisRoundTrip: {
    kind: 'gauge',
    name: 'adjutant.redis.round_trip',
    unit: 's',
    labels: [],
    says: 'Time of a PING of Redis, waits of this process included.',
  },
  loopDelayP99: {
    kind: 'gauge',
    name: 'nodejs.eventloop.delay.p99',
    unit: 's',
    labels: [],
    says: 'Delay of the event loop since it was last asked for: 99 % were shorter.',
  },
  loopDelayMax: {
    kind: 'gauge',
    name: 'nodejs.eventloop.delay.max',
    unit: 's',
    labels: [],
    says: 'The longest delay of the event loop since it was last asked for.',
  },
  loopUtilization: {
    kind: 'gauge',
    name: 'nodejs.eventloop.utilization',
    unit: '1',
    labels: [],
    says: 'Share of the time in which the event loop was busy since it was last asked for.',
  },
  memory: {
    kind: 'gauge',
    name: 'process.memory.usage',
    unit: 'By',
    labels: [],
    says: 'Memory of the process.',
  },
  exportFailures: {
    kind: 'counter',
    name: 'adjutant.telemetry.export_failures',
    unit: '{export}',
    labels: [LABEL.signal],
    says: 'Batches of `traces` or `metrics` that the collector did not take.',
  },
  lostSpans: {
    kind: 'counter',
    name: 'adjutant.telemetry.lost_spans',
    unit: '{span}',
    labels: [LABEL.reason],
    says: 'Spans that no collector has: too many waited to be sent (`queue_full`), or their batch was not taken (`export_failed`).',
  },
});

const DIRECTIVE_SERVER = reportedBy('directive server', {
  directiveToolDuration: {
    kind: 'histogram',
    name: 'mcp.server.operation.duration',
    unit: 's',
    labels: [LABEL.mcpMethod, LABEL.toolName, LABEL.errorType],
    says: 'Time of a call of `adjutant directive-server`; its count is the number of calls. The tool is one of the five or `unknown`; the error type is a code of the page about it.',
    buckets: SECONDS,
  },
});

/** Every metric, by the name that the code has for it. */
export const METRICS = { ...API, ...WORKER, ...ENGINE, ...EVERY_ROLE, ...DIRECTIVE_SERVER };

export type MetricName = keyof typeof METRICS;

export const METRIC_NAMES = Object.keys(METRICS) as MetricName[];
