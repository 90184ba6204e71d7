/** Clients of the MCP server as strangers write them: the SDK's own, of the stateless protocol and of the older one.
 *  It must not import anything of the service. */
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

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
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Answered>;
}

const INFO = { name: 'host', version: '1' };

export async function openHost(era: Era, url: string): Promise<HostClient> {
  const client = era === 'modern' ? await openModern(url) : await openLegacy(url);
  return {
    list: async () => (await client.listTools()).tools,
    call: async (name, args = {}, { meta, ...options } = {}) =>
      (await client.callTool(
        { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) },
        options,
      )) as Answered,
    [Symbol.asyncDispose]: async () => client.close(),
  };
}

/** The parts of both clients that are used here, with the same arguments. */
interface AnyClient {
  listTools(): Promise<{ tools: readonly Descriptor[] }>;
  callTool(params: object, options: object): Promise<unknown>;
  close(): Promise<void>;
}

async function openModern(url: string): Promise<AnyClient> {
  const client = new ModernClient(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new ModernHttp(new URL(url)));
  return client as AnyClient;
}

async function openLegacy(url: string): Promise<AnyClient> {
  const client = new LegacyClient(INFO);
  await client.connect(new LegacyHttp(new URL(url)) as Transport);
  return {
    listTools: async () => client.listTools(),
    callTool: async (params, options) => client.callTool(params as never, undefined, options),
    close: async () => client.close(),
  };
}

export function textOf({ content }: Answered): string {
  return content.map(({ text = '' }) => text).join('\n');
}
