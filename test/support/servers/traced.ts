/** An MCP server of somebody else that reports spans of its own: `tools/call {tool}`, under what came in `_meta.traceparent`.
 *  Over stdio, or over HTTP, where it also looks for the header.
 *  It must never share code with the service, nor answer before its span is sent: it gets killed. */
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';
import { bridge } from '../mcp-bridge.ts';

const FILE = process.env['COUNTER_FILE'] ?? '';
const exporter = new OTLPTraceExporter({ url: process.env['TRACES_URL'] ?? '' });
const provider = new TracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'tools' }),
  spanProcessors: [new SimpleSpanProcessor({ exporter })],
});
const tracer = provider.getTracer('tools');

/** Those that came with a header `traceparent`. */
const headers = new Set<string>();

async function reportCall(tool: string, meta: Record<string, unknown> | undefined): Promise<void> {
  const [, traceId = '', spanId = '', flags = ''] = String(meta?.['traceparent']).split('-');
  if (flags !== '01') return;
  const parent = trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: 1, isRemote: true });
  const seen = headers.has(String(meta?.['traceparent'])) ? '_meta and header' : '_meta';
  const attributes = { 'tools.traceparent': seen };
  tracer.startSpan(`tools/call ${tool}`, { kind: SpanKind.SERVER, attributes }, parent).end();
  await provider.forceFlush();
}

/** One line for each call; how many there were with this label. */
function count(tool: string, label: string): number {
  appendFileSync(FILE, `${JSON.stringify({ tool, key: label, label, pid: process.pid })}\n`);
  return readFileSync(FILE, 'utf8').split(`"label":${JSON.stringify(label)}`).length - 1;
}

const answer = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

function failure(): CallToolResult {
  const error = { type: 'execution_error', message: 'not this time', retryable: true };
  return { isError: true, content: [{ type: 'text', text: JSON.stringify(error) }] };
}

const inputSchema = z.object({
  label: z.string(),
  failures: z.int().default(0).describe('So many calls with this label fail first.'),
  holds: z.int().default(0).describe('So many calls with this label never answer first.'),
});

function createTraced(): McpServer {
  const server = new McpServer({ name: 'traced', version: '1.0.0' });
  const annotations = { readOnlyHint: true };
  server.registerTool('look', { inputSchema, annotations }, async ({ label, failures, holds }, ctx) => {
    await reportCall('look', ctx.mcpReq._meta);
    const calls = count('look', label);
    if (calls <= holds) await new Promise(() => {});
    return calls <= failures ? failure() : answer(label);
  });
  const taskSchema = z.object({ target: z.string(), task: z.string() });
  server.registerTool('hand_over', { inputSchema: taskSchema, annotations }, async (params, ctx) => {
    await reportCall('hand_over', ctx.mcpReq._meta);
    return answer(JSON.stringify({ result: 'handed over', _directives: [{ type: 'delegate', params }] }));
  });
  return server;
}

function serveHttp(): void {
  const handler = createMcpHandler(createTraced, { legacy: 'reject' });
  const answer = bridge(handler);
  const server = createServer((incoming, outgoing) => {
    headers.add(String(incoming.headers['traceparent']));
    answer(incoming, outgoing);
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stderr.write(`loopback port ${typeof address === 'object' ? address?.port : ''}\n`);
  });
}

if (process.argv[2] === 'http') serveHttp();
else serveStdio(createTraced);
