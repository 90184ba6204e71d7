/** The capabilities of the servers behind this one that a client may read besides their tools: resources, prompts,
 *  completions. Never shows what the operator does not pass on, nor decides between servers for a client. */
import {
  type CompleteRequestParams,
  type CompleteResult,
  type GetPromptResult,
  type Prompt,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { ServerRead } from '../../../contract/tool/server-read.ts';
import { traceparentOf } from '../host.ts';
import {
  addressed,
  addressOf,
  type OfferedResources,
  offeredResources,
  type ResourcePlace,
} from '../offered-resources.ts';
import type { Scope } from '../offered-tools.ts';
import { guarded, invalidParams } from '../refusal.ts';
import type { OfferingServer, ServerLists } from '../server-lists.ts';
import type { ReadServer } from '../server-reads.ts';
import { portableNames, wholeName } from '../tool-names.ts';
import type { ToolSource } from '../tool-source.ts';

export interface PassThroughOptions {
  readonly tools: ToolSource;
  readonly scope: Scope;
  readonly lists: ServerLists;
  readonly read: ReadServer;
  /** How long a client waits for an answer at most, milliseconds. */
  readonly holdMs: number;
  readonly onError: (error: Error) => void;
}

export const PASSED_CAPABILITIES = {
  resources: { listChanged: true },
  prompts: { listChanged: true },
  completions: {},
} as const;

/** A person waits for it with each key that is pressed. */
const COMPLETION_MS = 5_000;
const MAX_ECHO_CHARACTERS = 200;

export function servePassThrough(server: Server, options: PassThroughOptions): void {
  serveResources(server, options);
  servePrompts(server, options);
  server.setRequestHandler(
    'completion/complete',
    guarded(options, async ({ params }, context) => complete(options, params, context)),
  );
}

function serveResources(server: Server, options: PassThroughOptions): void {
  server.setRequestHandler(
    'resources/list',
    guarded(options, async () => ({ resources: [...(await resourcesOf(options)).resources] })),
  );
  server.setRequestHandler(
    'resources/templates/list',
    guarded(options, async () => ({ resourceTemplates: [...(await resourcesOf(options)).templates] })),
  );
  server.setRequestHandler(
    'resources/read',
    guarded(options, async ({ params: { uri } }, context) => readResource(options, uri, context)),
  );
}

function servePrompts(server: Server, options: PassThroughOptions): void {
  server.setRequestHandler(
    'prompts/list',
    guarded(options, async () => ({ prompts: [...(await promptsOf(options)).prompts] })),
  );
  server.setRequestHandler(
    'prompts/get',
    guarded(options, async ({ params: { name, arguments: args } }, context) => {
      const { server: owner, prompt } = await promptNamed(options, name);
      const params = { name: prompt.name, ...(args === undefined ? {} : { arguments: args }) };
      return (await ask(options, owner, 'prompts/get', params, context)) as unknown as GetPromptResult;
    }),
  );
}

async function offering(
  { tools }: Pick<PassThroughOptions, 'tools'>,
  kind: 'resources' | 'prompts',
): Promise<readonly OfferingServer[]> {
  const { offering: servers } = await tools.current();
  return servers.filter(({ offers }) => offers[kind] === true);
}

async function resourcesOf(options: PassThroughOptions): Promise<OfferedResources> {
  const { lists, scope } = options;
  const listed = (await offering(options, 'resources')).map(async (server) => {
    const [resources, templates] = await Promise.all([lists.resources(server), lists.templates(server)]);
    const isKnown = resources !== null && templates !== null;
    return { server: server.name, resources: resources ?? [], templates: templates ?? [], isKnown };
  });
  return offeredResources(await Promise.all(listed), scope);
}

async function promptsOf(options: PassThroughOptions): Promise<OfferedPrompts> {
  const { lists, scope } = options;
  const listed = (await offering(options, 'prompts')).map(async (server) => ({
    server: server.name,
    prompts: (await lists.prompts(server)) ?? [],
  }));
  return offeredPrompts(await Promise.all(listed), scope);
}

async function readResource(
  options: PassThroughOptions,
  uri: string,
  context: ServerContext,
): Promise<ReadResourceResult> {
  const place = await placeOf(options, uri);
  const result = await ask(options, place.server, 'resources/read', { uri: place.uri }, context);
  const contents = result['contents'] as ReadResourceResult['contents'];
  if (!Array.isArray(contents)) throw internal(place.server);
  // A client may look for the URI that it has asked for.
  return { contents: contents.map((each) => (each?.uri === place.uri ? { ...each, uri } : each)) };
}

async function placeOf(options: PassThroughOptions, uri: string): Promise<ResourcePlace> {
  const { scope } = options;
  const servers = (await offering(options, 'resources')).map(({ name }) => name);
  const found =
    scope.kind === 'server' || servers.length === 0
      ? (servers.map((server) => ({ server, uri }))[0] ?? null)
      : // An address needs no lists: another server may be slow.
        (addressed(servers, uri) ?? (await resourcesOf(options)).find(uri));
  if (found === null) throw notFound(uri);
  if (!('server' in found)) throw severalHave(uri, found);
  return found;
}

async function promptNamed(options: PassThroughOptions, name: string) {
  const found = (await promptsOf(options)).find(name);
  if (found === undefined) throw invalidParams(`Unknown prompt: ${name.slice(0, MAX_ECHO_CHARACTERS)}`);
  return found;
}

async function complete(
  options: PassThroughOptions,
  { ref, argument, context: given }: CompleteRequestParams,
  context: ServerContext,
): Promise<CompleteResult> {
  const until = performance.now() + Math.min(options.holdMs, COMPLETION_MS);
  const owner = ref.type === 'ref/prompt' ? ownPrompt(options, ref.name) : ownResource(options, ref.uri);
  const [server, own] = await listedUntil(until, owner);
  const params = { ref: own, argument, ...(given === undefined ? {} : { context: given }) };
  const completing = { ...options, holdMs: Math.max(1, Math.floor(until - performance.now())) };
  return (await ask(completing, server, 'completion/complete', params, context)) as unknown as CompleteResult;
}

/** The server, and what is completed as that server names it. */
type Completing = readonly [server: string, ref: CompleteRequestParams['ref']];

/** Rejects where the lists take longer: a server that does not answer must not hold the completions of others. */
async function listedUntil(until: number, owner: Promise<Completing>): Promise<Completing> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const message = 'The lists of the MCP servers are still being read: try again in 10 s';
  const refuse = (): void => reject(new ProtocolError(ProtocolErrorCode.InternalError, message));
  const timer = setTimeout(refuse, until - performance.now());
  timer.unref();
  return Promise.race([owner, late]).finally(() => clearTimeout(timer));
}

async function ownPrompt(options: PassThroughOptions, name: string): Promise<Completing> {
  const { server, prompt } = await promptNamed(options, name);
  return [server, { type: 'ref/prompt', name: prompt.name }];
}

async function ownResource(options: PassThroughOptions, template: string): Promise<Completing> {
  const { server, uri } = await placeOf(options, template);
  return [server, { type: 'ref/resource', uri }];
}

async function ask(
  { read, holdMs: patienceMs }: PassThroughOptions,
  server: string,
  method: ServerRead,
  params: Readonly<Record<string, unknown>>,
  context: ServerContext,
): Promise<Readonly<Record<string, unknown>>> {
  const { signal } = context.mcpReq;
  return read({ server, method, params, patienceMs, signal, traceparent: traceparentOf(context) });
}

function notFound(uri: string): ProtocolError {
  const shown = uri.slice(0, MAX_ECHO_CHARACTERS);
  return invalidParams(`Resource not found: ${shown}`, { uri: shown });
}

/** A client repeats the read with one of the addresses. */
function severalHave(uri: string, places: readonly ResourcePlace[]): ProtocolError {
  const addresses = places.slice(0, 5).map(addressOf).join(', ');
  const shown = uri.slice(0, MAX_ECHO_CHARACTERS);
  return invalidParams(`Several servers may have ${shown}: read one of ${addresses}`, { uri: shown });
}

function internal(server: string): ProtocolError {
  const message = `The MCP server "${server}" has answered without contents`;
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}

interface ListedPrompts {
  readonly server: string;
  readonly prompts: readonly Prompt[];
}

interface OfferedPrompt {
  readonly server: string;
  /** As its server names it. */
  readonly prompt: Prompt;
}

interface OfferedPrompts {
  readonly prompts: readonly Prompt[];
  find(name: string): OfferedPrompt | undefined;
}

/** Named as the tools are, since hosts make commands of them. */
function offeredPrompts(lists: readonly ListedPrompts[], scope: Scope): OfferedPrompts {
  const all = lists.flatMap(({ server, prompts }) =>
    prompts.map((prompt) => ({ server, tool: prompt.name, prompt })),
  );
  const whole = new Map(all.map((each) => [wholeName(each), each]));
  // A server that lists a name twice means the last one.
  const each = [...whole.values()];
  const named = scope.kind === 'all' ? portableNames(each) : new Map(each.map((one) => [one.tool, one]));
  return {
    prompts: [...named].map(([name, { prompt }]) => ({ ...prompt, name })),
    find: (name) => named.get(name) ?? whole.get(name),
  };
}
