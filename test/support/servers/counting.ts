/** An MCP server that keeps count: each execution appends one line to the file named by COUNTER_FILE, before it does anything else.
 *  It must never write a line in two pieces, nor count in memory: it gets killed. */
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const FILE = process.env['COUNTER_FILE'] ?? '';

/** The same arguments for each tool; the tools differ in what they declare about a repeat. */
const inputSchema = z.object({
  label: z.string().describe('Written beside the execution.'),
  delay_ms: z.int().min(0).default(0).describe('Time from the count to the answer.'),
  failures: z.int().min(0).default(0).describe('So many executions fail first, each with a hint to retry.'),
  limited: z.boolean().default(false).describe('Every execution answers that it is rate limited.'),
});

/** As a tool answers whose own backend is limited, and which is back at once. */
const LIMITED: CallToolResult = {
  isError: true,
  content: [
    {
      type: 'text',
      text: JSON.stringify({ type: 'rate_limited', message: 'slow down', details: { retry_after_ms: 1 } }),
    },
  ],
};

const TOOLS = { read: { readOnlyHint: true }, idempotent: { idempotentHint: true }, once: {} };

/** The file is opened with O_APPEND, so that several servers can write to it. Returns how often this key was executed. */
function count(tool: string, key: string, label: string): number {
  appendFileSync(FILE, `${JSON.stringify({ tool, key, label, pid: process.pid })}\n`);
  return readFileSync(FILE, 'utf8').split(`"key":${JSON.stringify(key)}`).length - 1;
}

function passingFailure(execution: number): CallToolResult {
  const failure = { type: 'execution_error', message: `execution ${execution} fails`, retryable: true };
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(failure) }] };
}

serveStdio(() => {
  const server = new McpServer({ name: 'counting', version: '1.0.0' });
  for (const [tool, annotations] of Object.entries(TOOLS)) {
    server.registerTool(
      tool,
      { inputSchema, annotations },
      async ({ label, delay_ms, failures, limited }, ctx) => {
        const execution = count(tool, String(ctx.mcpReq._meta?.['adjutant/idempotencyKey']), label);
        if (delay_ms > 0) await delay(delay_ms);
        if (limited) return LIMITED;
        if (execution <= failures) return passingFailure(execution);
        return { content: [{ type: 'text', text: JSON.stringify({ label, execution }) }] };
      },
    );
  }
  return server;
});
