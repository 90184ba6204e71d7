/** An MCP server of protocol 2025-11-25 on the predecessor SDK, over HTTP with sessions, whose tasks the test ends.
 *  It must never forget a task with the session that made it, unless the test says so. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
  type Task,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpServerOptions } from '../../src/mcp/server-options.ts';

export interface OlderTaskServer extends AsyncDisposable {
  readonly options: McpServerOptions;
  readonly url: string;
  /** `call <label> <ttl>` (`-`: no task), `tasks/get <label>` and its kin. */
  readonly asked: readonly string[];
  /** The answers to what its tools asked, as JSON. */
  readonly answers: readonly string[];
  complete(label: string, text: string): Promise<void>;
  fail(label: string, message: string): Promise<void>;
  /** The sessions of now; `withTasks`: also what they have begun. */
  forget(withTasks?: boolean): void;
  /** It has begun anew, and has given the id of a task to another caller's, which has ended with `text`. */
  giveAway(label: string, text: string): Promise<void>;
  /** Answers so many questions for the status of a task with 503. */
  refuse(count: number): void;
  /** Resolves when the condition holds, now or after a later request. */
  until(condition: () => boolean): Promise<void>;
}

/** Its tools take `label`; with `asks` the task asks a question first. */
const TOOLS = (['required', 'optional', 'forbidden'] as const).map((taskSupport) => ({
  name: taskSupport,
  inputSchema: { type: 'object' as const },
  execution: { taskSupport },
}));

const CAPABILITIES = { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };

/** Known to every session. */
class SharedTasks extends InMemoryTaskStore {
  /** The id under which it is known, and its own. */
  readonly given = new Map<string, string>();
  override getTask = async (id: string) => {
    const task = await super.getTask(this.given.get(id) ?? id);
    return task === null ? null : { ...task, taskId: id };
  };
  override getTaskResult = async (id: string) => super.getTaskResult(this.given.get(id) ?? id);
  override updateTaskStatus = async (id: string, status: Task['status'], message?: string) =>
    super.updateTaskStatus(this.given.get(id) ?? id, status, message);
}

export async function startOlderTaskServer(): Promise<OlderTaskServer> {
  const asked: string[] = [];
  const answers: string[] = [];
  const labels = new Map<string, string>();
  const ids = new Map<string, string>();
  const waiting = new Set<() => void>();
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const queue = new InMemoryTaskMessageQueue();
  let store = new SharedTasks();
  let refused = 0;
  const happened = (what: string): void => {
    asked.push(what);
    for (const check of waiting) check();
  };

  function served(): Server {
    const server = new Server(
      { name: 'older-task-server', version: '1.0.0' },
      { capabilities: CAPABILITIES, taskStore: store, taskMessageQueue: queue },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: TOOLS }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const { label, asks = false } = params.arguments as { label: string; asks?: boolean };
      happened(`call ${label} ${params.task?.ttl ?? '-'}`);
      if (params.task === undefined || extra.taskStore === undefined)
        return { content: [{ type: 'text', text: 'at once' }] };
      const task = await extra.taskStore.createTask({ ttl: params.task.ttl ?? null, pollInterval: 250 });
      labels.set(task.taskId, label);
      ids.set(label, task.taskId);
      if (asks) void ask(task.taskId, extra as never);
      return { task };
    });
    return server;
  }

  type Asking = {
    sendRequest(request: object, schema: object, options: object): Promise<{ action: string }>;
  };
  async function ask(taskId: string, extra: Asking): Promise<void> {
    const requestedSchema = { type: 'object', properties: { n: { type: 'number' } } };
    const params = { message: `Which one, ${labels.get(taskId)}?`, requestedSchema };
    const request = { method: 'elicitation/create', params };
    await store.updateTaskStatus(taskId, 'input_required', 'waits');
    const answer = await extra.sendRequest(request, ElicitResultSchema, { relatedTask: { taskId } });
    answers.push(JSON.stringify(answer));
    await store.updateTaskStatus(taskId, 'working');
    happened(`answered ${labels.get(taskId)}`);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (typeof id === 'string' && known === undefined) return void response.writeHead(404).end();
    const body = request.method === 'POST' ? await bodyOf(request) : undefined;
    const { method = '', params } = (body ?? {}) as { method?: string; params?: { taskId?: string } };
    if (method.startsWith('tasks/')) happened(`${method} ${labels.get(params?.taskId ?? '') ?? '?'}`);
    if (method === 'tasks/get' && refused-- > 0) return void response.writeHead(503).end();
    await (known ?? (await open())).handleRequest(request, response, body);
  }

  async function open(): Promise<StreamableHTTPServerTransport> {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await served().connect(transport as Transport);
    return transport;
  }

  const http = createServer((request, response) => void handle(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const idOf = (label: string): string => ids.get(label) ?? '';
  return {
    url,
    options: { name: 'older', questions: true, transport: { kind: 'http', url, headers: {} } },
    asked,
    answers,
    complete: async (label, text) => store.storeTaskResult(idOf(label), 'completed', resultOf(text)),
    fail: async (label, message) => store.updateTaskStatus(idOf(label), 'failed', message),
    forget(withTasks = false) {
      sessions.clear();
      if (withTasks) store = new SharedTasks();
      http.closeAllConnections();
    },
    async giveAway(label, text) {
      const begun = new SharedTasks();
      const { taskId } = await begun.createTask({ ttl: null }, 0, { method: 'tools/call' });
      await begun.storeTaskResult(taskId, 'completed', resultOf(text));
      begun.given.set(idOf(label), taskId);
      store = begun;
      sessions.clear();
      http.closeAllConnections();
    },
    refuse: (count) => void (refused = count),
    until: async (condition) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (condition() && waiting.delete(check)) resolve();
        };
        waiting.add(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      store.cleanup();
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

function resultOf(text: string) {
  return CallToolResultSchema.parse({ content: [{ type: 'text', text }] });
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown;
}
