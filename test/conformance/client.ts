/** The client that the official conformance suite runs: a pool with the one server at the URL of its last argument.
 *  It must never know what a scenario checks: it lists the tools and calls them, as a worker does. */
import { createMcpPool, type McpPool } from '../../src/mcp/pool.ts';
import {
  type QuestionAnswer,
  type ToolQuestion,
  withDefaults,
} from '../../src/contract/tool/tool-question.ts';
import type { ToolCallResume } from '../../src/mcp/tools/tool-call.ts';
import type { ToolDefinition } from '../../src/mcp/tools/tool-definition.ts';
import { SILENT } from '../../src/platform/telemetry/logger.ts';
import { TRACEPARENT } from '../support/mcp-pool.ts';

interface ToolCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

type Properties = Readonly<Record<string, { type?: string }>>;

const SERVER = 'conformance';

const VALUES: Readonly<Record<string, unknown>> = {
  string: 'text',
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
};

const url = process.argv.at(-1) ?? '';
const pool = createMcpPool({
  servers: [{ name: SERVER, transport: { kind: 'http', url, headers: {} }, questions: true }],
  logger: SILENT,
});
const listed = Promise.withResolvers<readonly ToolDefinition[]>();
pool.subscribe({ onTools: (_server, tools) => listed.resolve(tools) });
pool.start();

const given = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as { toolCalls?: ToolCall[] };
const tools = await listed.promise;
for (const { name, arguments: args } of given.toolCalls ?? tools.map((tool) => anyCall(tool, tools)))
  process.stdout.write(`${name} ${JSON.stringify(await call(pool, name, args))}\n`);
await pool.stop();

/** Calls again with the answers as long as the tool asks, as the attempts of a directive do. */
async function call(from: McpPool, tool: string, args: ToolCall['arguments'], resume?: ToolCallResume) {
  const outcome = await from.call({
    server: SERVER,
    tool,
    arguments: args,
    signal: new AbortController().signal,
    timeoutMs: 10_000,
    maxTotalMs: 20_000,
    traceparent: TRACEPARENT,
    idempotencyKey: `conformance/${tool}`,
    onQuestion: async (question) => accepted(question),
    ...(resume === undefined ? {} : { resume }),
  });
  if (outcome.kind !== 'asks') return outcome;
  const { state, questions } = outcome;
  const answers = Object.fromEntries(questions.map(({ key, question }) => [key, accepted(question)]));
  return call(from, tool, args, { state, answers });
}

/** What the service records when somebody accepts and leaves everything as it is. */
function accepted(question: ToolQuestion): QuestionAnswer {
  if (question.mode === 'url') return { action: 'accept' };
  const { properties = {} } = question.schema as { properties?: Properties };
  const typed = Object.entries(properties).map(([key, { type = '' }]) => [key, VALUES[type]]);
  const given = Object.fromEntries(typed) as Record<string, unknown>;
  return { action: 'accept', content: { ...given, ...withDefaults(question.schema, {}) } };
}

/** Arguments that fit the schema. One that is a schema itself is that of the first tool. */
function anyCall({ name, inputSchema }: ToolDefinition, all: readonly ToolDefinition[]): ToolCall {
  const properties = (inputSchema['properties'] ?? {}) as Properties;
  const args = Object.entries(properties).map(([key, { type = '' }]) => [
    key,
    key === 'schema' ? all[0]?.inputSchema : (VALUES[type] ?? null),
  ]);
  return { name, arguments: Object.fromEntries(args) as ToolCall['arguments'] };
}
