/** Which attributes a span of each kind has, each event and each link: asserted of every span of a trace.
 *  It must name each one: an attribute that no rule knows is a fault. */
import type { ReceivedSpan } from './otlp-spans.ts';

/** A value itself, the form of a text, or what it must be. */
type Expected = string | number | boolean | RegExp | ((value: unknown) => boolean);
type Attributes = Readonly<Record<string, Expected>>;

interface Rule {
  /** Of kind and name. */
  readonly of: RegExp;
  readonly always: Attributes;
  /** Where it did not fail. */
  readonly succeeded?: Attributes;
  readonly failed?: Attributes;
  readonly perhaps?: Attributes;
}

const text = (value: unknown): boolean => typeof value === 'string' && value !== '';
const count = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0;
const seconds = (value: unknown): boolean => typeof value === 'number' && value >= 0;
const texts = (value: unknown): boolean => Array.isArray(value) && value.length > 0 && value.every(text);

const lane = (operation: string): Attributes => ({
  'messaging.system': 'bullmq',
  'messaging.operation.name': operation,
  'messaging.operation.type': operation,
  'messaging.destination.name': /^(tool|llm)\.[a-z]+$/,
  'messaging.message.id': /^[^/]+\/[^/]+$/,
  'messaging.message.conversation_id': text,
  'adjutant.request.id': text,
  'adjutant.directive.id': text,
  'adjutant.directive.type': /^(tool_exec|llm_generate|llm_stream|llm_embed)$/,
});

const retries: Attributes = {
  'adjutant.max_retries': count,
  'adjutant.retry_backoff_ms': count,
  'adjutant.backoff': /^(fixed|exponential)$/,
  'adjutant.deadline_ms': count,
};

const tool: Attributes = {
  'adjutant.operation': 'tool_execute',
  'adjutant.origin': 'worker_runtime',
  'gen_ai.operation.name': 'execute_tool',
  'gen_ai.tool.name': /^[a-z]+\.[a-z_-]+$/,
  'gen_ai.tool.type': 'extension',
  'gen_ai.tool.call.id': text,
};

const usage: Attributes = { 'gen_ai.usage.input_tokens': count, 'gen_ai.usage.output_tokens': count };

const model = (operation: string): Attributes => ({
  'adjutant.operation': /^(stream_text|generate_text|embed)$/,
  'adjutant.origin': /^(directive|action)$/,
  'gen_ai.operation.name': operation,
  'gen_ai.provider.name': text,
  'gen_ai.request.model': text,
});

const RULES: readonly Rule[] = [
  {
    of: /^SERVER POST /,
    always: {
      'http.request.method': 'POST',
      'http.route': /^\/v1\/(directives|requests|schedules\/:schedule_id\/trigger)$/,
      'url.path': /^\/v1\/(directives|requests|schedules\/yearly\/trigger)$/,
      'url.scheme': 'http',
    },
    perhaps: { 'adjutant.schedule.id': 'yearly' },
    succeeded: { 'http.response.status_code': /^20[02]$/ },
  },
  {
    of: /^PRODUCER send /,
    always: {
      ...lane('send'),
      ...retries,
    },
    // Of what its caller has ordered; keys are not among them.
    perhaps: {
      'adjutant.timeout_ms': count,
      'adjutant.delay_ms': 300,
      'adjutant.start_by_ms': 60_000,
      'adjutant.priority': 9,
      'adjutant.limits': 2,
      'adjutant.concurrency.limit': 1,
      'adjutant.rate.max': 5,
      'adjutant.rate.per_ms': 1_000,
      'adjutant.once': 'dedupe',
      'adjutant.once.window_ms': 60_000,
      'adjutant.once.outcome': 'began',
    },
  },
  {
    of: /^INTERNAL wait /,
    always: {
      'messaging.destination.name': 'tool.traced',
      'adjutant.request.id': text,
      'adjutant.directive.id': text,
      'adjutant.directive.type': 'tool_exec',
    },
    perhaps: { 'adjutant.wait.reasons': texts },
  },
  {
    of: /^INTERNAL once run$/,
    always: {
      'messaging.destination.name': 'run',
      'gen_ai.agent.name': 'lead',
      'adjutant.request.id': /^once\./,
      'adjutant.once': 'dedupe',
      'adjutant.once.window_ms': 60_000,
      'adjutant.once.outcome': /^(began|deduplicated)$/,
    },
  },
  {
    of: /^INTERNAL once /,
    always: {
      'messaging.destination.name': 'tool.traced',
      'adjutant.request.id': /^once\./,
      'adjutant.directive.id': text,
      'adjutant.directive.type': 'tool_exec',
      ...retries,
      'adjutant.once': 'dedupe',
      'adjutant.once.window_ms': 60_000,
      'adjutant.once.outcome': 'deduplicated',
    },
    perhaps: retries,
  },
  {
    of: /^CONSUMER process /,
    always: { ...lane('process'), 'adjutant.attempt': count, 'adjutant.fence': count },
    succeeded: { 'adjutant.failures': count, 'adjutant.redeliveries': count, 'adjutant.queue_ms': count },
    // Nobody knows them of an attempt whose worker died.
    perhaps: { 'adjutant.failures': count, 'adjutant.redeliveries': count, 'adjutant.queue_ms': count },
  },
  { of: /^CLIENT settle /, always: lane('settle') },
  {
    of: /^CLIENT execute_tool /,
    always: tool,
    succeeded: {
      'mcp.method.name': /^(tools\/call|tasks\/get)$/,
      'mcp.protocol.version': /^\d{4}-\d\d-\d\d$/,
      'network.transport': /^(pipe|tcp)$/,
      'adjutant.mcp.server': text,
      'adjutant.repeat_policy': /^(read|idempotent|once)$/,
    },
    perhaps: {
      'mcp.method.name': /^(tools\/call|tasks\/get)$/,
      'mcp.protocol.version': /^\d{4}-\d\d-\d\d$/,
      'mcp.session.id': text,
      'adjutant.mcp.task': /^(created|resumed)$/,
      'adjutant.mcp.task.end': /^(ended|lost|forgotten|kept)$/,
      'adjutant.mcp.task.polls': count,
      'network.transport': /^(pipe|tcp)$/,
      'adjutant.mcp.server': text,
      'adjutant.repeat_policy': /^(read|idempotent|once)$/,
    },
  },
  {
    of: /^INTERNAL execute_tool /,
    always: {
      ...tool,
      ...retries,
      'adjutant.request.id': text,
      'adjutant.directive.id': text,
      'adjutant.directive.type': 'tool_exec',
    },
  },
  {
    of: /^CLIENT chat /,
    always: {
      ...model('chat'),
      'gen_ai.request.max_tokens': count,
      'gen_ai.request.temperature': 0.2,
      'gen_ai.request.stream': (value) => typeof value === 'boolean',
    },
    succeeded: { 'gen_ai.response.model': text, 'gen_ai.response.finish_reasons': texts, ...usage },
    perhaps: {
      'gen_ai.response.time_to_first_chunk': seconds,
      // Asked by a tool.
      'mcp.method.name': 'sampling/createMessage',
      'adjutant.mcp.server': text,
    },
  },
  {
    of: /^CLIENT embeddings /,
    always: model('embeddings'),
    succeeded: usage,
    perhaps: { 'gen_ai.response.model': text },
  },
  {
    of: /^INTERNAL fire /,
    always: {
      'adjutant.schedule.id': 'each-second',
      'adjutant.schedule.instant': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/,
      'adjutant.schedule.outcome': 'fired',
      'adjutant.schedule.lag_ms': count,
      'adjutant.request.id': /^schedule\.each-second\./,
    },
  },
  {
    of: /^INTERNAL turn /,
    always: {
      'adjutant.request.id': text,
      'gen_ai.agent.name': text,
      'adjutant.turn': count,
      'adjutant.turn.signals': count,
      'adjutant.turn.directives': count,
    },
  },
  {
    of: /^INTERNAL invoke_agent /,
    always: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': text,
      ...usage,
      'adjutant.request.id': text,
      'adjutant.run.turns': count,
      'adjutant.run.iterations': count,
      'adjutant.run.tool_calls': count,
    },
    succeeded: { 'adjutant.run.status': 'completed', 'adjutant.run.termination_reason': 'final_answer' },
    failed: { 'adjutant.run.status': 'cancelled', 'adjutant.run.termination_reason': 'cancelled' },
  },
  {
    of: /^INTERNAL answer$/,
    always: {
      'adjutant.request.id': text,
      'adjutant.directive.id': text,
      'adjutant.directive.type': 'tool_exec',
      'adjutant.input.id': text,
      'adjutant.decision': 'accept',
      'adjutant.answered_by': 'Ada',
    },
  },
  // Of the MCP server.
  { of: /^SERVER tools\/call /, always: { 'tools.traceparent': /^(_meta|_meta and header)$/ } },
];

const EVENTS: Readonly<Record<string, Attributes>> = {
  'directive.retry_scheduled': { 'adjutant.delay_ms': count },
  'directive.fallback': { 'adjutant.fallback.from': text, 'adjutant.fallback.to': text },
  'directive.paused': {
    'adjutant.delay_ms': count,
    'adjutant.whole_lane': (value) => typeof value === 'boolean',
    'adjutant.wait.reasons': texts,
    'adjutant.refused_calls': count,
  },
  'directive.released': {},
  'ai.tool.input_requested': { 'adjutant.questions': count },
  'directive.waiting': { 'adjutant.wait.reasons': texts },
  'directive.redelivered': { 'adjutant.redeliveries': count },
  'directive.cancelled': {},
  'directive.worker_lost': {},
  'ai.request.cancel_requested': {},
  'run.cancelled': {},
  'ai.tool.approval_requested': {
    'adjutant.call.id': text,
    'gen_ai.tool.name': text,
    'adjutant.deadline_at': text,
  },
  'ai.tool.approval_decided': { 'adjutant.call.id': text, 'adjutant.decision': 'approve' },
  'agent.child.exit': { 'adjutant.child.request.id': text, 'adjutant.run.status': 'completed' },
};

const LINK: Attributes = { 'adjutant.link': /^(previous|lost)_attempt$/ };

/** What is wrong with the spans, as sentences. */
export function faultsOf(spans: readonly ReceivedSpan[]): string[] {
  return spans.flatMap((span) => faultsOfSpan(span).map((fault) => `${span.kind} ${span.name}: ${fault}`));
}

function faultsOfSpan({ kind, name, status, attributes, events, links, service }: ReceivedSpan): string[] {
  const rule = RULES.find(({ of }) => of.test(`${kind} ${name}`));
  if (rule === undefined) return ['no rule knows it'];
  const role = attributes['adjutant.role'];
  const failed = status === 'ERROR';
  const required: Attributes = {
    ...rule.always,
    ...(failed ? { 'error.type': text, ...rule.failed } : rule.succeeded),
  };
  const allowed = { 'adjutant.role': roleOf(`${kind} ${name}`), ...rule.perhaps, ...required };
  return [
    ...faultsIn(attributes, required, allowed),
    // Jaeger's graph of services draws a node for each name.
    ...(typeof role === 'string' && service !== `adjutant-${role}` ? [`its service is ${service}`] : []),
    ...events.flatMap((event) => {
      const known = EVENTS[event.name];
      if (known === undefined) return [`no rule knows the event ${event.name}`];
      return faultsIn(event.attributes, known, known).map((fault) => `${event.name}: ${fault}`);
    }),
    ...links.flatMap((link) => faultsIn(link.attributes, LINK, LINK)),
  ];
}

const ROLES = [
  { of: /^SERVER POST /, role: /^api$/ },
  { of: /^(CONSUMER process|CLIENT (execute_tool|chat|embeddings)) /, role: /^worker$/ },
  { of: /^INTERNAL turn /, role: /^engine$/ },
] as const;

/** The role that does the work of a span, where it is always the same. Absent of a program's spans. */
function roleOf(titled: string): RegExp {
  return ROLES.find(({ of }) => of.test(titled))?.role ?? /^(api|engine|worker)$/;
}

function faultsIn(
  given: Readonly<Record<string, unknown>>,
  required: Attributes,
  allowed: Attributes,
): string[] {
  const missing = Object.keys(required).filter((key) => !(key in given));
  return [
    ...missing.map((key) => `${key} is missing`),
    ...Object.entries(given).flatMap(([key, value]) => {
      const expected = allowed[key];
      if (expected === undefined) return [`${key} is one too many`];
      return fits(expected, value) ? [] : [`${key} is ${JSON.stringify(value)}`];
    }),
  ];
}

function fits(expected: Expected, value: unknown): boolean {
  if (typeof expected === 'function') return expected(value);
  return expected instanceof RegExp ? expected.test(String(value)) : expected === value;
}
