/** Documents of the wire, each complete, and variants that differ from one in a single place.
 *  It must never leave out a member with a default: what the service writes has all of them. */

const instant = '2026-01-02T03:04:05.678Z';
const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
const error = { type: 'timeout', message: 'late', details: { after_ms: 5 }, retryable: true };

const retry = {
  max_retries: 2,
  retry_backoff_ms: 100,
  backoff: 'exponential',
  max_backoff_ms: 30_000,
  jitter: 0.5,
  deadline_ms: 900_000,
};

const messages = [
  { role: 'system', content: 'be short' },
  { role: 'user', content: [{ type: 'text', text: 'hello' }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c1', name: 'files.read', arguments: { path: '/a' } }],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'text of the file' },
];

const toolExec = {
  id: 'd1',
  request_id: 'r1',
  metadata: { from: 'test' },
  type: 'tool_exec',
  tool_name: 'files.read',
  arguments: { path: '/a' },
  context: {},
  ...retry,
};

const toolError = {
  id: 'd3',
  request_id: 'r1',
  metadata: {},
  type: 'emit_tool_error',
  tool_name: 'files.read',
  error: 'gone',
};

const llmGenerate = {
  id: 'd2',
  request_id: 'r1',
  metadata: {},
  type: 'llm_generate',
  model_alias: 'fast',
  context: { messages },
  tools: ['files.read', { name: 'files.write', input_schema: { type: 'object' } }],
  tool_choice: { required: 'files.read' },
  max_tokens: 100,
  temperature: 0,
  ...retry,
};

const attributes = {
  specversion: '1.0',
  id: 's1',
  subject: 'r1',
  time: instant,
  datacontenttype: 'application/json',
  traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  causationid: 'd1',
  sequence: 1,
};

const toolResult = {
  ...attributes,
  type: 'ai.tool.result',
  source: '/ai/tool',
  data: {
    call_id: 'd1',
    tool_name: 'files.read',
    result: { ok: false, error, effects: [] },
    metadata: {},
  },
};

const llmResponse = {
  ...attributes,
  sequence: 2,
  type: 'ai.llm.response',
  source: '/ai/llm',
  data: { call_id: 'd2', result: { ok: true, payload: { text: 'hi' }, effects: [] }, usage, metadata: {} },
};

const summary = {
  id: 'd1',
  type: 'tool_exec',
  request_id: 'r1',
  status: 'failed',
  lane: 'mcp.files',
  attempts: 1,
  failures: 1,
  redeliveries: 0,
  accepted_at: instant,
  started_at: instant,
  ended_at: null,
  deadline_at: instant,
  next_attempt_at: null,
  digest: 'abc',
};

const run = {
  run_id: 'r1',
  agent: 'writer',
  strategy: 'react',
  status: 'waiting',
  conversation_id: null,
  query: 'write',
  iterations: 1,
  tool_calls: 1,
  usage,
  cost: null,
  result: null,
  error,
  termination_reason: null,
  waiting_for: [{ kind: 'tool', id: 'd1', until: instant }],
  messages: [{ role: 'user', content: 'write' }],
  children: [{ tag: 'a', request_id: 'r1.a', status: 'running' }],
  started_at: instant,
  ended_at: null,
  deadline_at: instant,
};

const links = { request: '/v1/requests/r1', signals: '/v1/requests/r1/signals' };

/** By the name of its type. */
export const DOCUMENTS: Readonly<Record<string, object>> = {
  'submission-body': { directives: [toolExec, llmGenerate] },
  'submitted-directive': llmGenerate,
  directive: llmGenerate,
  'agent-directive': {
    type: 'spawn_agent',
    agent: 'writer',
    tag: 'a',
    input: { topic: 'rain' },
    overrides: { approvals: { 'files.*': 'ask' }, limits: { max_tokens: 10 } },
  },
  'control-directive': { type: 'inject_context', params: { content: 'mind the date', role: 'system' } },
  message: messages[2] ?? {},
  'start-run-body': {
    request_id: 'r1',
    agent: 'writer',
    messages,
    overrides: { temperature: 1 },
    metadata: {},
  },
  'run-input-body': { input_id: 'i1', content: 'faster', source: 'cli' },
  'approval-decision-body': { decision: 'approve', arguments: { path: '/b' } },
  signal: llmResponse,
  'signal-page': {
    signals: [
      toolResult,
      llmResponse,
      { ...attributes, type: 'weather.changed', source: '/w', data: { rain: 1 } },
    ],
    last_sequence: 3,
    closed: true,
  },
  submission: {
    request_id: 'r1',
    directives: [
      { id: 'd1', type: 'tool_exec', status: 'existing', lane: null, digest: 'abc', result: toolResult },
    ],
    links,
  },
  cancellation: { request_id: 'r1', directives: [{ id: 'd1', status: 'ended', result: toolResult }] },
  'directive-view': { ...summary, directive: toolError, result: toolResult },
  'request-view': {
    request_id: 'r1',
    status: 'closed',
    sequence: 2,
    open: 0,
    created_at: instant,
    closed_at: instant,
    directives: [summary],
    run,
  },
  'run-view': run,
  'started-run': { request_id: 'r1', run_id: 'r1', agent: 'writer', status: 'pending', links },
  'dead-letter-page': {
    dead_letters: [
      {
        request_id: 'r1',
        id: 'd1',
        type: 'tool_exec',
        lane: null,
        name: 'files.read',
        error,
        attempts: 1,
        ended_at: instant,
      },
    ],
    total: 1,
    next: null,
  },
  'model-turn': {
    type: 'tool_calls',
    text: '',
    thinking: '',
    tool_calls: [{ id: 'c1', name: 'files.read', arguments: {} }],
    content_parts: [{ type: 'thinking', text: 'hm' }],
    usage,
    model: 'm',
    finish_reason: null,
    duration_ms: 1.5,
    first_chunk_ms: null,
  },
  'tool-listing': {
    tools: [
      {
        name: 'files.read',
        server: 'files',
        tool: 'read',
        input_schema: {},
        effect: 'read',
        directives: 'all',
      },
    ],
    servers: [{ name: 'files', status: 'ready', tools: 1, updated_at: instant }],
  },
};

/** A member that no type has. */
export const UNKNOWN_MEMBER = 'member_of_nobody';

const OTHER_VALUES: readonly unknown[] = [null, -1, 'a\nb', {}, [], true];

/** `document` with one member removed or changed, at every place; and with one member more. */
export function oneStepFrom(document: unknown): unknown[] {
  if (Array.isArray(document)) return document.flatMap((_, index) => replaced(document, index));
  if (typeof document !== 'object' || document === null) return [];
  const more = { ...document, [UNKNOWN_MEMBER]: 1 };
  const fewer = Object.keys(document).map((key) =>
    Object.fromEntries(Object.entries(document).filter(([other]) => other !== key)),
  );
  return [more, ...fewer, ...Object.keys(document).flatMap((key) => replaced(document, key))];
}

function replaced(parent: object, key: string | number): unknown[] {
  const values = [...OTHER_VALUES, ...oneStepFrom((parent as Record<string | number, unknown>)[key])];
  if (Array.isArray(parent)) return values.map((value) => parent.with(Number(key), value));
  return values.map((value) => ({ ...parent, [key]: value }));
}
