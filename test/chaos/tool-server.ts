/** The MCP server under chaos: tools of each effect that count every execution before they do anything else.
 *  It must never keep anything in memory that a check needs: it gets killed.
 *  CHAOS_FOLDER holds the counter files. `http PORT` serves Streamable HTTP there, and tasks at /tasks; otherwise it is stdio;
 *  `serial` notes its calls, and each notes those that are under limits. */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { bridge } from '../support/mcp-bridge.ts';
import { countExecution } from './executions.ts';
import { createTaskTools } from './task-tools.ts';
import { type CallLine, type CallLog, noteCall } from './call-log.ts';

const FOLDER = process.env['CHAOS_FOLDER'] ?? '.';
/** This server is promised one call at a time. */
const isSerial = process.argv[2] === 'serial';

const inputSchema = z.object({
  label: z.string().describe('Which directive asks.'),
  a: z.number(),
  b: z.number(),
  delay_ms: z.int().min(0).default(0).describe('Time from the count to the answer.'),
  steps: z.int().min(0).default(0).describe('Progress notifications during that time.'),
  failures: z.int().min(0).default(0).describe('So many executions fail first.'),
  retryable: z.boolean().default(false).describe('What a failure says about another try.'),
  padding: z.string().default('').describe('Makes the arguments large.'),
  limits: z.array(z.string()).default([]).describe('Which limits it is under: then the call is noted.'),
  account: z.string().default('').describe('By which a rule of the configuration limits it.'),
  bare: z.boolean().default(false).describe('The answer is the same at every execution.'),
});

/** What the tools declare about a repeat; for `plain` only the operator's configuration does. */
const TOOLS = { read: { readOnlyHint: true }, idempotent: { idempotentHint: true }, once: {}, plain: {} };

function failure(execution: number, retryable: boolean): CallToolResult {
  const error = { type: 'execution_error', message: `execution ${execution} fails`, retryable };
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(error) }] };
}

interface CallContext {
  mcpReq: {
    _meta?: Record<string, unknown> | undefined;
    notify(notification: { method: 'notifications/progress'; params: never }): Promise<void>;
  };
}

async function work(delayMs: number, steps: number, { mcpReq }: CallContext): Promise<void> {
  const progressToken = mcpReq._meta?.['progressToken'];
  for (let step = 1; step <= steps; step += 1) {
    await delay(delayMs / (steps + 1));
    if (progressToken === undefined) continue;
    const params = { progressToken, progress: step, total: steps } as never;
    await mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  }
  await delay(delayMs / (steps + 1));
}

interface NotedCall {
  readonly log: CallLog;
  readonly label: string;
  readonly limits: readonly string[];
}

/** Records when the call begins, and when it is over: answered, or aborted by its worker. */
function noteBegin({ log, label, limits }: NotedCall, aborted: AbortSignal): () => void {
  const call = randomUUID();
  const [pid, workerPid] = [process.pid, process.ppid];
  const note = (what: CallLine['what']): void =>
    noteCall(FOLDER, log, { call, what, label, limits, at: Date.now(), pid, workerPid });
  note('begin');
  let isOver = false;
  const end = (what: 'end' | 'aborted'): void => {
    if (!isOver) note(what);
    isOver = true;
  };
  aborted.addEventListener('abort', () => end('aborted'), { once: true });
  return () => end('end');
}

function logOf(limits: readonly string[]): CallLog | null {
  if (isSerial) return 'serial-calls';
  return limits.length > 0 ? 'limited-calls' : null;
}

function createTools(): McpServer {
  const server = new McpServer({ name: 'chaos', version: '1.0.0' });
  for (const [tool, annotations] of Object.entries(TOOLS)) {
    server.registerTool(tool, { inputSchema, annotations }, async (args, ctx) => {
      const { label, a, b } = args;
      const key = String(ctx.mcpReq._meta?.['adjutant/idempotencyKey']);
      const traceparent = String(ctx.mcpReq._meta?.['traceparent']);
      const { execution } = countExecution(FOLDER, { tool, key, label, traceparent });
      const log = logOf(args.limits);
      const over =
        log === null ? () => {} : noteBegin({ log, label, limits: args.limits }, ctx.mcpReq.signal);
      if (args.delay_ms > 0) await work(args.delay_ms, args.steps, ctx as unknown as CallContext);
      over();
      if (execution <= args.failures) return failure(execution, args.retryable);
      const more = args.bare ? {} : { execution, padding: args.padding.length };
      const answer = { label, sum: a + b, ...more };
      return { content: [{ type: 'text', text: JSON.stringify(answer) }] };
    });
  }
  return server;
}

function serveHttp(port: number): void {
  const tools = bridge(createMcpHandler(createTools));
  const tasks = bridge(createMcpHandler(() => createTaskTools(FOLDER, TOOLS), { legacy: 'reject' }));
  const server = createServer((incoming, outgoing) =>
    (incoming.url?.startsWith('/tasks') ? tasks : tools)(incoming, outgoing),
  );
  server.listen(port, '127.0.0.1', () => process.stderr.write(`listens on ${port}\n`));
}

const [mode, port] = process.argv.slice(2);
if (mode === 'http') serveHttp(Number(port));
else {
  appendFileSync(join(FOLDER, 'stdio-servers.jsonl'), `${process.pid}\n`);
  serveStdio(createTools);
}
