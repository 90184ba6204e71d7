/** A server that makes tasks of calls, and whose tools ask a person: every answer of it comes from its files.
 *  It must never keep anything in memory: it gets killed, and goes on where it was. */
import { ProtocolError, Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { countExecution } from './executions.ts';
import { noteTask, type TaskLine, taskLines } from './task-log.ts';

type Members = Readonly<Record<string, unknown>>;

const ANY = z.looseObject({});
const CAPABILITIES = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };
const UNKNOWN_TASK = -32_602;
/** Much longer than any deadline. */
const TTL_MS = 300_000;
const POLL_MS = 250;

const callSchema = z.looseObject({
  label: z.string(),
  a: z.number(),
  b: z.number(),
  delay_ms: z.number().default(0),
  /** A person is asked for a number: by the task, or, if `direct`, before there is anything. */
  asks: z.boolean().default(false),
  direct: z.boolean().default(false),
});

type Call = z.infer<typeof callSchema>;

const question = (label: string) => ({
  n: {
    method: 'elicitation/create',
    params: {
      message: `Which number for ${label}?`,
      requestedSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    },
  },
});

const answerSchema = z.looseObject({
  n: z.looseObject({ action: z.string(), content: z.looseObject({ n: z.number() }).optional() }),
});

/** The number, or what was said in place of one; null: nothing was answered. */
function answerIn(responses: unknown): string | null {
  const read = answerSchema.safeParse(responses);
  if (!read.success) return null;
  const { action, content } = read.data.n;
  return content === undefined ? action : String(content.n);
}

/** `annotations`: what each tool declares about a repeat. */
export function createTaskTools(folder: string, annotations: Readonly<Record<string, object>>): Server {
  const server = new Server({ name: 'chaos-tasks', version: '1.0.0' }, { capabilities: CAPABILITIES });
  const tools = Object.entries(annotations).map(([name, hints]) => ({
    name,
    description: `does ${name}`,
    inputSchema: { type: 'object' },
    annotations: hints,
  }));
  server.setRequestHandler('tools/list', () => ({ tools }) as never);
  server.setRequestHandler('tools/call', ({ params: { name, arguments: given } }, { mcpReq }) => {
    const key = String(mcpReq._meta?.['adjutant/idempotencyKey']);
    return called(folder, { tool: name, key, answer: answerIn(mcpReq.inputResponses) }, given) as never;
  });
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    server.setRequestHandler(method, { params: ANY, result: ANY }, ({ taskId }, { mcpReq }) =>
      answered(folder, { method, taskId: String(taskId), answer: answerIn(mcpReq.inputResponses) }),
    );
  return server;
}

interface Caller {
  readonly tool: string;
  readonly key: string;
  readonly answer: string | null;
}

function called(folder: string, { tool, key, answer }: Caller, given: unknown): Members {
  const call = callSchema.parse(given);
  const { label, asks, direct } = call;
  if (direct && answer === null) return { resultType: 'input_required', inputRequests: question(label) };
  const { execution } = countExecution(folder, { tool, key, label });
  if (direct) return { resultType: 'complete', ...resultOf(call, execution, answer) };
  const taskId = `${label}#${execution}`;
  const doneAt = Date.now() + call.delay_ms;
  const made: Omit<TaskLine, 'at'> = { what: 'made', taskId, execution, doneAt, asks, sum: call.a + call.b };
  noteTask(folder, label, made);
  // What it asks stands in its reports: the protocol's server takes a result with questions for another one.
  const { inputRequests: _asked, ...task } = reportOf(label, taskId, taskLines(folder, label));
  return { ...task, resultType: 'task', status: 'working' };
}

function resultOf(
  { label, a, b }: Pick<Call, 'label' | 'a' | 'b'>,
  execution: number,
  answer: string | null,
) {
  const said = answer === null ? {} : { answer };
  return { content: [{ type: 'text', text: JSON.stringify({ label, sum: a + b, execution, ...said }) }] };
}

interface Question {
  readonly method: string;
  readonly taskId: string;
  readonly answer: string | null;
}

function answered(folder: string, { method, taskId, answer }: Question): Members {
  const label = taskId.slice(0, taskId.lastIndexOf('#'));
  const before = taskLines(folder, label);
  if (method === 'tasks/get') noteTask(folder, label, { what: 'asked', taskId });
  if (method === 'tasks/cancel') noteTask(folder, label, { what: 'cancelled', taskId });
  const isFirst = !before.some((line) => line.what === 'answered' && line.taskId === taskId);
  if (method === 'tasks/update' && answer !== null && isFirst)
    noteTask(folder, label, { what: 'answered', taskId, answer });
  return method === 'tasks/get' ? reportOf(label, taskId, before) : {};
}

/** A task that was cancelled before it was done is cancelled, and what it waits for does not matter any more. */
function reportOf(label: string, taskId: string, lines: readonly TaskLine[]): Members {
  const own = lines.filter((line) => line.taskId === taskId);
  const made = own.find(({ what }) => what === 'made');
  if (made === undefined) throw new ProtocolError(UNKNOWN_TASK, 'Unknown task');
  const { execution = 0, sum = 0, asks = false, doneAt = 0 } = made;
  const createdAt = new Date(made.at).toISOString();
  const times = { createdAt, lastUpdatedAt: createdAt, ttlMs: TTL_MS, pollIntervalMs: POLL_MS };
  const task = { taskId, status: 'working', ...times };
  const given = own.find(({ what }) => what === 'answered');
  const readyAt = asks ? Math.max(doneAt, given?.at ?? Infinity) : doneAt;
  const cancelledAt = own.find(({ what }) => what === 'cancelled')?.at ?? Infinity;
  if (cancelledAt <= Math.min(readyAt, Date.now())) return { ...task, status: 'cancelled' };
  if (asks && given === undefined)
    return { ...task, status: 'input_required', inputRequests: question(label) };
  if (Date.now() < readyAt) return task;
  const result = resultOf({ label, a: sum, b: 0 }, execution, given?.answer ?? null);
  return { ...task, status: 'completed', result };
}
