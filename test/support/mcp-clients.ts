/** Clients of the MCP server as strangers write them: the SDK's own, of the stateless protocol and of the older one.
 *  It must not import anything of the service. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import * as z from 'zod';

export const ERAS = ['modern', 'legacy'] as const;
export type Era = (typeof ERAS)[number];

export interface Answered {
  readonly content: readonly { readonly type: string; readonly text?: string }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly meta?: Readonly<Record<string, unknown>>;
  readonly onprogress?: (progress: { progress: number; total?: number; message?: string }) => void;
}

export interface Descriptor {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
  readonly outputSchema?: object | undefined;
  readonly annotations?: object | undefined;
}

export interface HostClient extends AsyncDisposable {
  list(): Promise<readonly Descriptor[]>;
  instructions(): string;
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Answered>;
  /** Any other request, whose result is not looked at. */
  ask(method: string, params?: Record<string, unknown>): Promise<Readonly<Record<string, unknown>>>;
}

const INFO = { name: 'host', version: '1' };

/** Where the server is: a URL, or a program that speaks on its standard streams. */
export type ServerPlace =
  | string
  | { readonly url: string; readonly key: string }
  | {
      readonly command: string;
      readonly args: string[];
      readonly env: Record<string, string>;
      readonly cwd?: string;
    };

/** What a client is asked, and how the person who uses it answers. */
export type Person = (
  asked: Readonly<Record<string, unknown>> & { readonly message: string },
  signal: AbortSignal,
) => Promise<object> | object;

const PERSON = { elicitation: { form: {}, url: {} } };

/** `listChanged`: hears that the list of tools has changed. `person`: declares that it can ask, and answers. */
export async function openHost(
  era: Era,
  place: ServerPlace,
  listChanged?: () => void,
  person?: Person,
): Promise<HostClient> {
  const open = era === 'modern' ? openModern : openLegacy;
  const client = await open(place, listChanged, person);
  return {
    list: async () => (await client.listTools()).tools,
    instructions: () => client.getInstructions() ?? '',
    call: async (name, args = {}, { meta, ...options } = {}) =>
      (await client.callTool(
        { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
        options,
      )) as Answered,
    ask: async (method, params = {}) => client.request({ method, params }, z.looseObject({})),
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

const TASKS = 'io.modelcontextprotocol/tasks';

export interface TaskHost extends AsyncDisposable {
  /** Resolves with the id of the task that the call became. */
  begin(name: string, args: Record<string, unknown>): Promise<string>;
  task(taskId: string): Promise<Readonly<Record<string, unknown>>>;
}

/** The SDK's client with the tasks extension: it refuses a task in place of a result, so the transport wraps it as one. */
export async function openTaskHost(place: ServerPlace): Promise<TaskHost> {
  const client = new ModernClient(INFO, {
    capabilities: { extensions: { [TASKS]: {} } },
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: 30_000 } },
  });
  const transport = modernTransport(place);
  await client.connect(transport);
  const deliver = transport.onmessage;
  transport.onmessage = (message) => deliver?.(asResult(message));
  return {
    async begin(name, args) {
      const { _meta } = await client.callTool({ name, arguments: args });
      const task = _meta?.['task'] as { taskId: string } | undefined;
      return task?.taskId ?? '';
    },
    task: async (taskId) => client.request({ method: 'tasks/get', params: { taskId } }, z.looseObject({})),
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

function asResult<Message extends object>(message: Message): Message {
  const { result } = message as { result?: { resultType?: string } };
  if (result?.resultType !== 'task') return message;
  return { ...message, result: { resultType: 'complete', content: [], _meta: { task: result } } };
}

/** The parts of both clients that are used here, with the same arguments. */
interface AnyClient {
  listTools(): Promise<{ tools: readonly Descriptor[] }>;
  getInstructions(): string | undefined;
  callTool(params: object, options: object): Promise<unknown>;
  request(request: object, schema: z.ZodType): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

async function openModern(place: ServerPlace, onChanged?: () => void, person?: Person): Promise<AnyClient> {
  const client = new ModernClient(INFO, {
    ...(person && { capabilities: PERSON }),
    versionNegotiation: { mode: 'auto', probe: { timeoutMs: 30_000 } },
    ...(onChanged && { listChanged: { tools: { onChanged, autoRefresh: false } } }),
  });
  if (person)
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }, { mcpReq }) => person(params as never, mcpReq.signal) as never,
    );
  await client.connect(modernTransport(place));
  return client as AnyClient;
}

function modernTransport(place: ServerPlace): ModernHttp | ModernStdio {
  const http = overHttp(place);
  return http === null
    ? new ModernStdio({ ...(place as Program), stderr: 'ignore' })
    : new ModernHttp(...http);
}

type Program = Extract<ServerPlace, { readonly command: string }>;

/** null: it is a program. */
function overHttp(place: ServerPlace): [url: URL, options: { requestInit: RequestInit }] | null {
  if (typeof place === 'string') return [new URL(place), { requestInit: {} }];
  if ('command' in place) return null;
  return [new URL(place.url), { requestInit: { headers: { authorization: `Bearer ${place.key}` } } }];
}

async function openLegacy(place: ServerPlace, onChanged?: () => void, person?: Person): Promise<AnyClient> {
  const client = new LegacyClient(INFO, person && { capabilities: PERSON });
  if (person)
    client.setRequestHandler(
      ElicitRequestSchema,
      async ({ params }, { signal }) => person(params, signal) as never,
    );
  if (onChanged) client.setNotificationHandler(ToolListChangedNotificationSchema, onChanged);
  const http = overHttp(place);
  const transport =
    http === null ? new LegacyStdio({ ...(place as Program), stderr: 'ignore' }) : new LegacyHttp(...http);
  await client.connect(transport as Transport);
  return {
    listTools: async () => client.listTools(),
    getInstructions: () => client.getInstructions(),
    callTool: async (params, options) => client.callTool(params as never, undefined, options),
    request: async (request, schema) =>
      (await client.request(request as never, schema as never)) as Record<string, unknown>,
    close: async () => client.close(),
  };
}

export function textOf({ content }: Answered): string {
  return content.map(({ text = '' }) => text).join('\n');
}
