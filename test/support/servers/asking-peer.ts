/** A server whose tools ask before they act: of both eras, over stdio. ASKING_ERA=legacy serves the handshake only.
 *  It must never act without an accepted answer. ASKING_LOG names a file for what it did; ASKING_KEY is what it seals its state with
 *  (default: a key of the process, so that the state dies with it); ASKING_TOKEN is repeated in the prompt of `sum-up`. */
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
  UrlElicitationRequiredError,
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

const label = z.object({ label: z.string().default('x') });
const sample = (words: string, more: object = {}) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: words } }],
    maxTokens: 1_000_000_000,
    ...more,
  });

/** What a model has said; null: it was not asked. */
function saidBy(ctx: ServerContext, key: string): string | null {
  const response = ctx.mcpReq.inputResponses?.[key] as { content?: { text?: string } } | undefined;
  return response?.content?.text ?? null;
}

/** They ask models. */
function registerModelTools(server: McpServer): void {
  server.registerTool('sum-up', { inputSchema: label }, async (args, ctx) => {
    const said = saidBy(ctx, 'sum');
    if (said !== null) record(`sum-up ${args.label}`);
    return said === null
      ? inputRequired({
          inputRequests: {
            sum: sample(`sum up ${process.env['ASKING_TOKEN'] ?? ''}`, { stopSequences: ['STOP'] }),
          },
        })
      : text(said);
  });
  // Two messages of the user in a row, and instructions.
  server.registerTool('sum-in-parts', { inputSchema: label }, async (_args, ctx) => {
    const part = (words: string) => ({
      role: 'user' as const,
      content: { type: 'text' as const, text: words },
    });
    const more = { messages: [part('one'), part('two')], systemPrompt: 'Be brief.' };
    const said = saidBy(ctx, 'sum');
    return said === null ? inputRequired({ inputRequests: { sum: sample('', more) } }) : text(said);
  });
  server.registerTool('sum-and-ask', { inputSchema: label }, async (_args, ctx) => {
    const [said, answer] = [saidBy(ctx, 'sum'), answerTo(ctx, 'seats')];
    if (said !== null && answer !== null) return text(`${said} ${answer}`);
    return inputRequired({ inputRequests: { sum: sample('sum up'), seats: form('How many?') } });
  });
  server.registerTool('sum-for-ever', { inputSchema: label }, async () =>
    inputRequired({ inputRequests: { sum: sample('again') } }),
  );
  server.registerTool('sum-10-mb', { inputSchema: label }, async () =>
    inputRequired({ inputRequests: { sum: sample('big', { systemPrompt: 'x'.repeat(10_000_000) }) } }),
  );
  // Legacy only: 2,000 requests at once. Ends with how many were answered, and the last refusal.
  server.registerTool('sum-flood', { inputSchema: label }, async (_args, ctx) => {
    const content = { type: 'text' as const, text: 'flood' };
    const params = { messages: [{ role: 'user' as const, content }], maxTokens: 5 };
    const all = Array.from({ length: 2_000 }, async () => ctx.mcpReq.requestSampling(params));
    const ends = await Promise.allSettled(all);
    const refusals = ends.flatMap((end) => (end.status === 'rejected' ? [String(end.reason)] : []));
    return text(`${ends.length - refusals.length} answered; ${refusals.at(-1)}`);
  });
}

/** Legacy only: they wait for no answer of a model, once it is at work. ASKING_AT_WORK is a URL that answers then. */
function registerLeavingTools(server: McpServer): void {
  const content = { type: 'text' as const, text: 'never' };
  const params = { messages: [{ role: 'user' as const, content }], maxTokens: 1_000 };
  const atWork = async () => fetch(process.env['ASKING_AT_WORK'] ?? '');
  server.registerTool('sum-and-leave', { inputSchema: label }, async (_args, ctx) => {
    ctx.mcpReq.requestSampling(params).catch(() => {});
    await atWork();
    return text('left');
  });
  server.registerTool('sum-and-withdraw', { inputSchema: label }, async (_args, ctx) => {
    const withdrawn = new AbortController();
    ctx.mcpReq.requestSampling(params, { signal: withdrawn.signal }).catch(() => {});
    await atWork();
    withdrawn.abort();
    return text('withdrawn');
  });
}

/** Wants a page to be opened first, by an exception, as servers of 2025-11-25 do. */
function registerPageTool(server: McpServer): void {
  let calls = 0;
  server.registerTool('page-first', { inputSchema: label }, async (args) => {
    calls += 1;
    if (calls > 1) return text(`opened ${args.label}`);
    const page = {
      mode: 'url' as const,
      message: 'Sign in',
      url: 'https://pages.example/in',
      elicitationId: 'e',
    };
    throw new UrlElicitationRequiredError([page]);
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
  registerModelTools(server);
  registerLeavingTools(server);
  registerPageTool(server);
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
  // Far beyond the limit of any test: only its caller's limit or its end ends it.
  server.registerTool('endless', { inputSchema }, async (_args, ctx) => {
    await delay(60_000, undefined, { signal: ctx.mcpReq.signal });
    return text('endless');
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
