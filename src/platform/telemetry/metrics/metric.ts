// The definition of a metric: kind, unit, labels, buckets; and its name for Prometheus. metric-names.ts has the names.

export interface MetricDefinition {
  /** `gauge`: read at collection; the others are recorded as events happen. */
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** As OpenTelemetry names it. */
  readonly name: string;
  /** UCUM; a word in braces says what is counted. */
  readonly unit: string;
  readonly labels: readonly string[];
  /** Role of the process that reports it. */
  readonly by: 'api' | 'engine' | 'worker' | 'every role' | 'directive server';
  readonly says: string;
  /** Upper bounds, in the unit. */
  readonly buckets?: readonly number[];
}

/** From a hop through Redis to the longest call that anybody waits for. */
export const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];
/** Those of the conventions for generative AI. */
export const MODEL_SECONDS = [
  0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
export const TOKENS = [
  1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
];

/** Our own labels are short: the name of their metric says whose they are. */
export const LABEL = {
  lane: 'lane',
  state: 'state',
  type: 'type',
  outcome: 'outcome',
  server: 'server',
  agent: 'agent',
  status: 'status',
  code: 'code',
  signal: 'signal',
  reason: 'reason',
  errorType: 'error.type',
  mcpMethod: 'mcp.method.name',
  toolName: 'gen_ai.tool.name',
  operation: 'gen_ai.operation.name',
  origin: 'origin',
  callOperation: 'operation',
  provider: 'gen_ai.provider.name',
  model: 'gen_ai.request.model',
  tokenType: 'gen_ai.token.type',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
} as const;

const PROMETHEUS_UNITS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes', '1': 'ratio' };

/** As Prometheus names it; of a histogram the stem. As the collectors of OpenTelemetry translate it. */
export function prometheusName({
  kind,
  name,
  unit,
}: Pick<MetricDefinition, 'kind' | 'name' | 'unit'>): string {
  const suffix = PROMETHEUS_UNITS[unit];
  const words = [name.replaceAll(/[^A-Za-z0-9]+/g, '_'), ...(suffix === undefined ? [] : [suffix])];
  return [...words, ...(kind === 'counter' ? ['total'] : [])].join('_');
}

export function prometheusLabel(label: string): string {
  return label.replaceAll('.', '_');
}
