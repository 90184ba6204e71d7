/** A server whose tools ask before they act: of both eras, over stdio. ASKING_ERA=legacy serves the handshake only.
 *  It must never act without an accepted answer. ASKING_LOG names a file for what it did; ASKING_KEY is what it seals its state with
 *  (default: a key of the process, so that the state dies with it). */
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type CallToolResult,
  createRequestStateCodec,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const codec = createRequestStateCodec({ key: process.env['ASKING_KEY'] ?? randomBytes(32) });

function record(event: string): void {
  const file = process.env['ASKING_LOG'];
  if (file !== undefined) appendFileSync(file, `${event}\n`);
}

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

const seats = {
  type: 'object' as const,
  properties: {
    seats: { type: 'integer' as const, minimum: 1, maximum: 9, title: 'Seats' },
    window: { type: 'boolean' as const, default: true },
  },
  required: ['seats'],
};
const form = (message: string) => inputRequired.elicit({ message, requestedSchema: seats as never });

/** What came of a question: its content, or its action where it was not accepted; null: not asked yet. */
function answerTo(ctx: ServerContext, key: string): string | null {
  const view = inputResponse(ctx.mcpReq.inputResponses, key);
  if (view.kind !== 'elicit') return null;
  return view.action === 'accept' ? JSON.stringify(view.content ?? {}) : view.action;
}

const orphan = { awaited: Promise.withResolvers<void>(), answered: Promise.withResolvers<string>() };

async function ask(ctx: ServerContext, keys: readonly string[]): Promise<InputRequiredResult> {
  record(`ask ${keys.join(' ')}`);
  const requestState = await codec.mint({ keys }, ctx);
  return inputRequired({
    inputRequests: Object.fromEntries(keys.map((key) => [key, form(`How many seats for ${key}?`)])),
    requestState,
  });
}

function createPeer(): McpServer {
  const server = new McpServer(
    { name: 'asking', version: '1.0.0' },
    { requestState: { verify: codec.verify } },
  );
  const inputSchema = z.object({ label: z.string().default('x') });
  server.registerTool('book', { inputSchema }, async ({ label }, ctx) => {
    const answer = answerTo(ctx, 'seats');
    if (answer === null) return ask(ctx, ['seats']);
    record(`book ${label} ${answer}`);
    return text(answer);
  });
  server.registerTool('two', { inputSchema }, async (_args, ctx) => {
    const answers = [answerTo(ctx, 'there'), answerTo(ctx, 'back')];
    if (answers.includes(null)) return ask(ctx, ['there', 'back']);
    record('two');
    return text(answers.join(' '));
  });
  // Legacy only: more questions at once than wait for their turn. Ends with the first answer.
  server.registerTool('flood', { inputSchema }, async (_args, ctx) => {
    const ask = async (each: number) =>
      ctx.mcpReq.elicitInput({ message: `Flood ${each}?`, requestedSchema: seats as never });
    return text((await Promise.race(Array.from({ length: 12 }, (_, each) => ask(each)))).action);
  });
  // Goes on after it was cancelled, and asks while another call is under way, which ends with the answer.
  server.registerTool('orphan', { inputSchema }, async () => {
    await orphan.awaited.promise;
    const params = { message: 'For the orphan?', requestedSchema: seats as never };
    orphan.answered.resolve((await server.server.elicitInput(params)).action);
    return text('orphan');
  });
  server.registerTool('host', { inputSchema }, async () => {
    orphan.awaited.resolve();
    return text(await orphan.answered.promise);
  });
  server.registerTool('again', { inputSchema }, async (_args, ctx) => ask(ctx, ['again']));
  server.registerTool('visit', { inputSchema }, async (_args, ctx) => {
    const answer = answerTo(ctx, 'page');
    if (answer !== null) return text(answer === '{}' ? 'visited' : answer);
    const page = inputRequired.elicitUrl({ message: 'Sign in there', url: 'https://bücher.example/in?a=b' });
    return inputRequired({ inputRequests: { page } });
  });
  server.registerTool(
    'structured',
    { inputSchema, outputSchema: z.object({ seats: z.string() }) },
    async (_args, ctx) => {
      const answer = answerTo(ctx, 'seats');
      if (answer === null) return ask(ctx, ['seats']);
      return { ...text(answer), structuredContent: { seats: answer } };
    },
  );
  server.registerTool('huge', { inputSchema }, async () =>
    inputRequired({ inputRequests: { huge: form('x'.repeat(10_000)) } }),
  );
  server.registerTool('slow', { inputSchema }, async () => {
    await delay(700);
    return text('slow');
  });
  // Asks for nothing but to be asked again, three times.
  server.registerTool('legs', { inputSchema }, async ({ label }, ctx) => {
    const { leg } = ctx.mcpReq.requestState<{ leg: number } | undefined>() ?? { leg: 0 };
    if (leg >= 3) return text(`after ${leg}`);
    record(`leg ${label} ${leg}`);
    return inputRequired({ requestState: await codec.mint({ leg: leg + 1 }, ctx) });
  });
  server.registerTool('plain', { inputSchema }, async () => text('plain'));
  return server;
}

if (process.env['ASKING_ERA'] === 'legacy') await createPeer().connect(new StdioServerTransport());
else serveStdio(createPeer, { legacy: 'reject' });
