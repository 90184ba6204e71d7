/** An MCP server over HTTP in the process of the test, which counts the payments of each idempotency key and loses answers.
 *  It must never count a payment that it has not made, nor ask the service about one. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { bridge } from './mcp-bridge.ts';

/**
 * `cut`: paid, and the connection ends; `silent`: paid, and no answer comes; `dropped`: the connection of the first call ends before
 * it is paid.
 */
const HOW = ['paid', 'cut', 'silent', 'dropped'] as const;
/** `late`: a payment is visible from the third question on; `closed`: it fails while the books are closed. */
const FIND = ['honest', 'late', 'never', 'huge', 'shape', 'other', 'text', 'closed'] as const;

export interface PaymentArguments {
  readonly order: string;
  readonly how: (typeof HOW)[number];
  readonly find: (typeof FIND)[number];
}

const NEVER = new Promise<never>(() => {});

function json(value: unknown): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }] };
}

export async function startPaymentServer() {
  /** Numbers by idempotency key. */
  const [paid, called, asked] = [
    new Map<string, string[]>(),
    new Map<string, number>(),
    new Map<string, number>(),
  ];
  const sockets = new AsyncLocalStorage<Socket>();
  let areBooksOpen = false;
  let isSilent = false;

  function added(counts: Map<string, number>, key: string): number {
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  }

  async function pay({ order, how }: PaymentArguments, key: string): Promise<CallToolResult> {
    const isDropped = how === 'dropped' && added(called, key) === 1;
    if (!isDropped) paid.set(key, [...(paid.get(key) ?? []), order]);
    if (how === 'silent') return NEVER;
    if (isDropped || how === 'cut') {
      sockets.getStore()?.destroy();
      return NEVER;
    }
    return json({ id: `p-${order}`, by: 'pay' });
  }

  async function find(key: string, how: PaymentArguments['find']): Promise<CallToolResult> {
    const count = added(asked, key);
    const [order] = paid.get(key) ?? [];
    if (how === 'never' || isSilent) return NEVER;
    if (how === 'huge') return { content: [{ type: 'text', text: 'x'.repeat(1_000_000) }] };
    if (how === 'shape') return json({ payments: order });
    if (how === 'other')
      return json({ found: true, key: 'another', id: 'p-other', token: 'sk-live-0123456789abcdef' });
    if (how === 'text') return { content: [{ type: 'text', text: 'we are not sure' }] };
    if (how === 'closed' && !areBooksOpen)
      return { isError: true, content: [{ type: 'text', text: 'the books are closed' }] };
    const isShown = order !== undefined && (how !== 'late' || count > 2);
    return json(isShown ? { found: true, key, id: `p-${order}` } : { found: false });
  }

  function tools(): McpServer {
    const server = new McpServer({ name: 'payments', version: '1.0.0' });
    const inputSchema = z.object({ order: z.string(), how: z.enum(HOW), find: z.enum(FIND) });
    for (const name of ['pay', 'pay_patiently', 'pay_blindly'])
      server.registerTool(name, { inputSchema }, async (args, ctx) =>
        pay(args, String(ctx.mcpReq._meta?.['adjutant/idempotencyKey'])),
      );
    server.registerTool(
      'find_payment',
      {
        inputSchema: z.object({ key: z.string(), how: z.enum(FIND) }),
        annotations: { readOnlyHint: true },
      },
      async ({ key, how }) => find(key, how),
    );
    return server;
  }

  const answer = bridge(createMcpHandler(tools));
  const server = createServer((request, response) => {
    sockets.run(request.socket, () => answer(request, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}/mcp`;
  const reconcile = {
    tool: 'find_payment',
    arguments: { key: '{{idempotency_key}}', how: '{{args.find}}' },
    happened: 'result.found && result.key == idempotency_key',
    not_happened: '!result.found',
    result: '{"id": result.id, "by": "find"}',
    tries: 4,
    first_ms: 100,
    settle_ms: 400,
  };
  const all = (): string[] => [...paid.values()].flat();
  return {
    /** An entry of `mcpServers`. */
    entry: {
      url,
      lane: { concurrency: 256 },
      effects: {
        pay: { repeat: 'once', reconcile },
        /** No payment becomes visible as late as that. */
        pay_patiently: { repeat: 'once', reconcile: { ...reconcile, settle_ms: 30_000 } },
        pay_blindly: {
          repeat: 'once',
          reconcile: {
            tool: 'pay',
            arguments: { order: 'none', how: 'paid', find: 'honest' },
            happened: 'true',
            tries: 1,
            first_ms: 100,
          },
        },
      },
    },
    /** Whether no question is answered. */
    silence: (is: boolean) => void (isSilent = is),
    books: (areOpen: boolean) => void (areBooksOpen = areOpen),
    /** How often an order was paid. */
    paid: (order: string): number => all().filter((each) => each === order).length,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
