/** An MCP server over HTTP that makes a task of each call, in the process of the test, which ends the tasks.
 *  It must never end one by itself, nor be reached from another machine. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, ProtocolError, Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { McpServerOptions } from '../../src/mcp/server-options.ts';
import { bridge } from './mcp-bridge.ts';

const ANY = z.looseObject({});
const TASKS = { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Members = Readonly<Record<string, unknown>>;

export interface TaskServer extends AsyncDisposable {
  readonly options: McpServerOptions;
  readonly url: string;
  /** The labels of the calls, each time that the tool ran. */
  readonly ran: readonly string[];
  /** `tasks/get <label>`, `tasks/cancel <label>`. */
  readonly asked: readonly string[];
  /** What is said of a task from now on; null: it is forgotten. `fault`: the code of an error in place of it, with `statusMessage`. */
  says(label: string, report: Members | null): void;
  /** The answers that were given to a task. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** What becomes of tasks that are cancelled. Default: they stay as they are. */
  onCancel(report: Members): void;
  /** Resolves when the condition holds, now or after a later request. */
  until(condition: () => boolean): Promise<void>;
}

/** Its tools take `label`, and `task`, members of the task that they answer with. */
export async function startTaskServer(): Promise<TaskServer> {
  const ran: string[] = [];
  const asked: string[] = [];
  const tasks = new Map<string, Members | null>();
  const waiting = new Set<() => void>();
  const answers = new Map<string, unknown>();
  let onCancelled: Members = {};
  const happened = (): void => {
    for (const check of waiting) check();
  };

  function create({ label, task = {} }: { label: string; task?: Members }) {
    ran.push(label);
    const handle = { ...working(label), ...task };
    tasks.set(label, handle);
    happened();
    return { resultType: 'task', ...handle };
  }

  function answer(method: string, taskId: unknown, responses: unknown): Members {
    const label = String(taskId).replace(/^task-/, '');
    asked.push(`${method} ${label}`);
    const known = tasks.get(label) ?? null;
    if (known !== null && method === 'tasks/cancel') tasks.set(label, { ...known, ...onCancelled });
    if (method === 'tasks/update') answers.set(label, responses);
    happened();
    if (known === null) throw new ProtocolError(-32_602, 'Unknown task');
    const { fault, statusMessage = 'a fault' } = known as { fault?: number; statusMessage?: string };
    if (fault !== undefined) throw new ProtocolError(fault, statusMessage);
    return method === 'tasks/get' ? known : {};
  }

  const http = createServer(bridge(createMcpHandler(() => served(create, answer), { legacy: 'reject' })));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  return {
    url,
    options: { name: 'tasks', transport: { kind: 'http', url, headers: {} } },
    ran,
    asked,
    answers,
    says: (label, report) => void tasks.set(label, report && { ...working(label), ...report }),
    onCancel: (report) => void (onCancelled = report),
    until: async (condition) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (condition() && waiting.delete(check)) resolve();
        };
        waiting.add(check);
        check();
      }),
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

/** It is asked often, since the tests wait for it. */
function working(label: string): Members {
  const createdAt = '2026-11-22T00:00:00.000Z';
  const times = { createdAt, lastUpdatedAt: createdAt, ttlMs: 60_000, pollIntervalMs: 1 };
  return { taskId: `task-${label}`, status: 'working', ...times };
}

/** A completed task with a text, and more members of its result. */
export function completed(text: string, more: Members = {}): Members {
  return { status: 'completed', result: { content: [{ type: 'text', text }], ...more } };
}

function served(
  create: (call: { label: string; task?: Members }) => Members,
  answer: (method: string, taskId: unknown, responses: unknown) => Members,
): Server {
  const server = new Server({ name: 'task-server', version: '1.0.0' }, { capabilities: TASKS });
  const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const inputSchema = { type: 'object' };
  server.setRequestHandler('tools/list', () => ({
    tools: [
      { name: 'work', inputSchema },
      { name: 'read', inputSchema, annotations: { readOnlyHint: true } },
      { name: 'typed', inputSchema, outputSchema },
    ] as never,
  }));
  server.setRequestHandler('tools/call', ({ params }) => create(params.arguments as never) as never);
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    server.setRequestHandler(method, { params: ANY, result: ANY }, ({ taskId }, { mcpReq }) =>
      answer(method, taskId, mcpReq.inputResponses),
    );
  return server;
}
