// The reports of a process about itself: its log, its metrics, the lines about failures. Never changes the work of a
// role.
import type { Logger } from 'pino';
import { createProbeListener, type ProbeListener } from '../http/probe-listener.ts';
import type { Config } from '../config/config.ts';
import { DIRECTIVE_TYPES } from '../contract/directive/directive.ts';
import { createKnownSecrets, type KnownSecrets } from '../contract/json/secret-text.ts';
import type { Modules } from '../agents/modules/modules.ts';
import type { Hearing } from '../store/log/channel.ts';
import type { McpPool } from '../mcp/pool.ts';
import { redisClock } from '../platform/redis/clock.ts';
import { createStatsCounter, type StatsCounter } from '../features/stats/stats-writer.ts';
import { createLaneSurvey } from '../queue/lane-survey.ts';
import { createListBuild } from '../store/search/list-build.ts';
import { createFailureLog, type FailureLog } from '../platform/telemetry/failure-log.ts';
import { createMetrics, type Metrics, type MetricSettings } from '../platform/telemetry/metrics/metrics.ts';
import { createReports, type Reports } from '../platform/telemetry/reports.ts';
import { createTraces, type Traces, type TracingSettings } from '../platform/telemetry/traces/traces.ts';
import { version } from '../version.ts';
import type { Adapters } from './adapters.ts';
import { scheduleLagMs } from './firing.ts';
import { archiveGauges, laneGauges, redisGauges, scheduleGauges, searchGauges } from './gauges.ts';
import { readiness } from './readiness.ts';
import { connectedServers, countReconnections } from './roles/server-metrics.ts';
import type { Roles } from './roles/roles.ts';
import type { Store } from './store.ts';
import { openThings } from '../store/index/later-index.ts';

/** Directive types that a worker executes; other processes only end unusable calls of a model. */
const WORK_TYPES = DIRECTIVE_TYPES.filter((type) => !type.startsWith('emit_'));

export interface Observation {
  metrics: Metrics;
  traces: Traces;
  failures: FailureLog;
  stats: StatsCounter;
  reports: Reports;
}

export interface ObservedProcess {
  config: Config;
  roles: Roles;
  modules: Modules;
  processId: string;
  logger: Logger;
  secrets: KnownSecrets;
}

/** The secrets of the configuration. Those of MCP servers are added by who connects to them. */
export function secretsOf(config: Config): KnownSecrets {
  const { redisUrl, adminKey, access, archive, payloads, providers, webhooks } = config;
  const { endpoints, callers_may_give_urls: callers } = webhooks;
  const signing = [...[...endpoints.values()].flatMap(({ secrets }) => secrets), ...(callers?.secrets ?? [])];
  const keys = [...providers.values()].flatMap(({ key, awsKey }) => [key.read(), awsKey()?.secretAccessKey]);
  const all = [
    /(?<=:\/\/[^:/@]*:)[^/@]+(?=@)/.exec(redisUrl ?? '')?.[0],
    adminKey,
    access?.oidc?.client_secret,
    archive?.secret_access_key,
    payloads?.secret_access_key,
    ...signing,
    ...keys,
  ].filter((secret) => typeof secret === 'string');
  const known = createKnownSecrets();
  known.add(() => all);
  return known;
}

export function createObservation(observed: ObservedProcess): Observation {
  const { logger } = observed;
  const metrics = createMetrics(areMetricsRead(observed) ? metricSettings(observed) : null, logger);
  const traces = createTraces(tracingSettings(observed), logger, metrics.meters);
  const failures = createFailureLog(logger);
  const stats = createStatsCounter();
  return { metrics, traces, failures, stats, reports: createReports(metrics.meters, failures, stats.count) };
}

/** Nothing is measured in a process that neither serves metrics nor sends them: the SDK takes 11 MB, and time with each directive. */
function areMetricsRead({ config: { metrics }, roles }: ObservedProcess): boolean {
  return metrics.isOn && (roles.api === true || metrics.port !== null || metrics.otlp !== null);
}

function resourceOf({ config, processId }: ObservedProcess): Record<string, string> {
  return {
    'service.name': config.telemetry.serviceName,
    'service.version': version,
    'service.instance.id': processId,
  };
}

/** null: nothing is traced. */
function tracingSettings(observed: ObservedProcess): TracingSettings | null {
  const { tracing, newNames } = observed.config.telemetry;
  return tracing && { ...tracing, newNames, resource: resourceOf(observed), secrets: observed.secrets };
}

function metricSettings(observed: ObservedProcess): MetricSettings {
  const { config, modules } = observed;
  const { providers, models, metrics } = config;
  return {
    otlp: metrics.otlp,
    resource: resourceOf(observed),
    known: {
      newNames: config.telemetry.newNames,
      agents: modules.agents.map(({ name }) => name),
      models: [
        ...[...models.values()].flat(),
        ...[...providers].flatMap(([name, { models: own }]) =>
          [...own.keys()].map((model) => `${name}:${model}`),
        ),
      ],
      types: [...WORK_TYPES, ...modules.directives.map(({ type }) => type)],
    },
  };
}

export interface ProbedProcess {
  /** null: the process executes nothing. */
  readonly adapters: Pick<Adapters, 'servers'> | null;
  /** Listener of cancellations; null: the process is no worker. */
  readonly cancellations: (() => Hearing) | null;
  readonly hasApi: boolean;
}

/** The gauges of a process, and its listener for them; null: none is configured. */
export function createProbes(
  stores: readonly Store[],
  {
    config,
    observation,
    underWay,
  }: { config: Config; observation: Observation; underWay: ReadonlyMap<string, () => number> },
  { adapters, cancellations, hasApi }: ProbedProcess,
): ProbeListener | null {
  const [store] = stores;
  if (store === undefined) return null;
  const surveyed = stores.at(-1) ?? store;
  addStoreGauges(observation, surveyed, hasApi);
  if (hasApi && config.archive) observation.metrics.add(archiveGauges(surveyed.records.archive.size));
  if (adapters) addWorkerMetrics(observation, adapters.servers, underWay);
  const { host } = config;
  const { port } = config.metrics;
  if (port === null) return null;
  const ready = () => readiness(store.connection, { cancellations });
  return createProbeListener({ host, port, scrape: observation.metrics.scrape, ready, version });
}

/** The figures of Redis, of all roles from one store; those of the lanes, if this process has the API. */
function addStoreGauges({ metrics }: Observation, store: Store, hasApi: boolean): void {
  const { connection, keys, records } = store;
  metrics.add(redisGauges(connection));
  if (!hasApi) return;
  metrics.add(laneGauges(createLaneSurvey({ connection, keys, ...records, index: openThings(records) })));
  const now = redisClock(connection);
  metrics.add(scheduleGauges(async () => scheduleLagMs(store, await now())));
  if (!records.changes.isListed) return;
  const build = createListBuild(connection, keys);
  const isComplete = async (): Promise<boolean> => (await build.state()).complete;
  metrics.add(searchGauges(async () => records.changes.lagMs(await now()), isComplete));
}

/** Observation of a process that executes. */
function addWorkerMetrics(
  { metrics }: Observation,
  servers: McpPool,
  underWay: ReadonlyMap<string, () => number>,
): void {
  metrics.add(() => connectedServers(servers));
  countReconnections(servers, metrics.meters);
  metrics.add(() => [{ metric: 'attemptsRunning', value: underWay.get('attempts')?.() ?? 0 }]);
}
