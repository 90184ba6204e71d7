// The names in spans: those of the conventions for HTTP, messaging, generative AI and MCP, and those of this service.
import type { Attributes, SpanRecord } from './span.ts';

/** Version 1.41 of the conventions for generative AI and MCP, which dashboards know; the rest as in 1.45. */
export const ATTRIBUTE = {
  errorType: 'error.type',

  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  urlPath: 'url.path',
  urlScheme: 'url.scheme',
  serverAddress: 'server.address',
  serverPort: 'server.port',
  networkTransport: 'network.transport',
  networkProtocol: 'network.protocol.name',

  messagingSystem: 'messaging.system',
  messagingOperation: 'messaging.operation.name',
  messagingOperationType: 'messaging.operation.type',
  messagingDestination: 'messaging.destination.name',
  messagingMessageId: 'messaging.message.id',
  messagingConversation: 'messaging.message.conversation_id',

  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCall: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestTemperature: 'gen_ai.request.temperature',
  requestStream: 'gen_ai.request.stream',
  requestEncodings: 'gen_ai.request.encoding_formats',
  outputType: 'gen_ai.output.type',
  responseModel: 'gen_ai.response.model',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  dimensions: 'gen_ai.embeddings.dimension.count',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',

  mcpMethod: 'mcp.method.name',
  mcpProtocol: 'mcp.protocol.version',
  mcpSession: 'mcp.session.id',

  request: 'adjutant.request.id',
  originRequest: 'adjutant.origin.request.id',
  originKind: 'adjutant.origin.kind',
  originTurn: 'adjutant.origin.turn',
  role: 'adjutant.role',
  origin: 'adjutant.origin',
  callOperation: 'adjutant.operation',
  timeoutMs: 'adjutant.timeout_ms',
  deadlineMs: 'adjutant.deadline_ms',
  maxRetries: 'adjutant.max_retries',
  retryBackoffMs: 'adjutant.retry_backoff_ms',
  backoff: 'adjutant.backoff',
  tenant: 'adjutant.tenant',
  directive: 'adjutant.directive.id',
  directiveType: 'adjutant.directive.type',
  attempt: 'adjutant.attempt',
  fence: 'adjutant.fence',
  failures: 'adjutant.failures',
  redeliveries: 'adjutant.redeliveries',
  queueMs: 'adjutant.queue_ms',
  repeatPolicy: 'adjutant.repeat_policy',
  mcpServer: 'adjutant.mcp.server',
  mcpTask: 'adjutant.mcp.task',
  mcpTaskEnd: 'adjutant.mcp.task.end',
  mcpTaskPolls: 'adjutant.mcp.task.polls',
  reconcileTool: 'adjutant.reconcile.tool',
  reconcileOutcome: 'adjutant.reconcile.outcome',
  delayMs: 'adjutant.delay_ms',
  wholeLane: 'adjutant.whole_lane',
  waitReasons: 'adjutant.wait.reasons',
  refusedCalls: 'adjutant.refused_calls',
  fallbackFrom: 'adjutant.fallback.from',
  fallbackTo: 'adjutant.fallback.to',
  budget: 'adjutant.budget',
  budgetAction: 'adjutant.budget.on_breach',
  budgetAlias: 'adjutant.budget.cheaper',
  rejected: 'adjutant.rejected_directives',
  link: 'adjutant.link',
  replayed: 'adjutant.replayed',
  turn: 'adjutant.turn',
  signalsRead: 'adjutant.turn.signals',
  directivesSent: 'adjutant.turn.directives',
  runStatus: 'adjutant.run.status',
  runReason: 'adjutant.run.termination_reason',
  runTurns: 'adjutant.run.turns',
  runIterations: 'adjutant.run.iterations',
  runToolCalls: 'adjutant.run.tool_calls',
  runCost: 'adjutant.run.cost',
  childRequest: 'adjutant.child.request.id',
  call: 'adjutant.call.id',
  input: 'adjutant.input.id',
  questions: 'adjutant.questions',
  decision: 'adjutant.decision',
  answeredBy: 'adjutant.answered_by',
  reason: 'adjutant.reason',
  runAt: 'adjutant.run_at',
  startByMs: 'adjutant.start_by_ms',
  priority: 'adjutant.priority',
  priorityFixedBy: 'adjutant.priority.fixed_by',
  limits: 'adjutant.limits',
  fairnessKey: 'adjutant.fairness_key',
  concurrencyLimit: 'adjutant.concurrency.limit',
  concurrencyKey: 'adjutant.concurrency.key',
  rateMax: 'adjutant.rate.max',
  ratePerMs: 'adjutant.rate.per_ms',
  rateKey: 'adjutant.rate.key',
  once: 'adjutant.once',
  onceKey: 'adjutant.once.key',
  onceOutcome: 'adjutant.once.outcome',
  onceReplaces: 'adjutant.once.replaces',
  onceWindowMs: 'adjutant.once.window_ms',
  onceQuietMs: 'adjutant.once.quiet_ms',
  onceAtMostMs: 'adjutant.once.at_most_ms',
  onceWhenOpen: 'adjutant.once.when_open',
  onEnd: 'adjutant.on_end',
  encryptedFields: 'adjutant.encryption.fields',
  encryptionKeyId: 'adjutant.encryption.key_id',
  offloadedBytes: 'adjutant.payload.offloaded_bytes',
  schedule: 'adjutant.schedule.id',
  scheduleInstant: 'adjutant.schedule.instant',
  scheduleOutcome: 'adjutant.schedule.outcome',
  scheduleLagMs: 'adjutant.schedule.lag_ms',
  scheduleInstants: 'adjutant.schedule.instants',
  deadlineAt: 'adjutant.deadline_at',
} as const;

export const EVENT = {
  retryScheduled: 'directive.retry_scheduled',
  fallback: 'directive.fallback',
  paused: 'directive.paused',
  waiting: 'directive.waiting',
  released: 'directive.released',
  inputRequested: 'ai.tool.input_requested',
  redelivered: 'directive.redelivered',
  cancelled: 'directive.cancelled',
  workerLost: 'directive.worker_lost',
  runCancelled: 'run.cancelled',
  processLost: 'process.lost',
  scheduleWaiting: 'schedule.waiting',
} as const;

/** Kinds of links between spans. */
export const LINK = { previousAttempt: 'previous_attempt', lostAttempt: 'lost_attempt' } as const;

/** The name of the service where none is configured. */
export const DEFAULT_SERVICE_NAME = 'adjutant';

/** Value of `messaging.system`. */
export const MESSAGING_SYSTEM = 'bullmq';

/** The group of the conventions for generative AI. */
export const NEWEST_GEN_AI = 'gen_ai_latest_experimental';

/** Group → the names that its newest version has changed. */
const NEW_NAMES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [NEWEST_GEN_AI]: {
    [ATTRIBUTE.cacheWriteTokens]: 'gen_ai.usage.cache_write.input_tokens',
  },
  messaging: { [ATTRIBUTE.messagingSystem]: 'messaging.system.name' },
};

/** The span with the newest names of the groups. */
export function renaming(groups: readonly string[]): (span: SpanRecord) => SpanRecord {
  const names = new Map(groups.flatMap((group) => Object.entries(NEW_NAMES[group] ?? {})));
  if (names.size === 0) return (span) => span;
  return (span) => ({ ...span, attributes: renamed(span.attributes, names) });
}

function renamed(attributes: Attributes, names: ReadonlyMap<string, string>): Attributes {
  const entries = Object.entries(attributes).map(([name, value]) => [names.get(name) ?? name, value]);
  return Object.fromEntries(entries) as Attributes;
}
