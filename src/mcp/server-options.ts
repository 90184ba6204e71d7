/** How to reach one MCP server, and its limits.
 *  It must never hold a live connection or read the environment: values arrive with `${ENV}` already filled in. */
import { basename } from 'node:path';

/** A server that this process starts and reaches over stdin and stdout. */
export interface StdioTransportOptions {
  readonly kind: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  /** Added to the variables that the SDK passes on (PATH, HOME, …). No other variable of this process is passed. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Most time from the start to the answer of the handshake. Milliseconds. Default 90 000. */
  readonly startMs?: number;
  /** The user that the process runs as, without any other group. Default: as this process. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** A server that runs elsewhere: Streamable HTTP, or the older SSE transport when it supports nothing else. */
export interface HttpTransportOptions {
  readonly kind: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: every address, and redirects are followed. Else whether it may have an address that is not on the public internet; redirects are not followed. */
  readonly privateAddresses?: boolean;
  /** How this process gets a token for the server. Default: it needs none beside the headers. */
  readonly auth?: OAuthOptions;
}

/** A REST API, as its OpenAPI document describes it. */
export interface OpenApiTransportOptions {
  readonly kind: 'openapi';
  /** Path or URL of the document. */
  readonly document: string;
  /** null: the first server of the document. */
  readonly baseUrl: string | null;
  /** Names of tools, in which `*` matches any characters; null: all. */
  readonly operations: readonly string[] | null;
  /** Sent with every request to the API. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the API may have an address that is not on the public internet. */
  readonly privateAddresses: boolean;
}

/** OAuth, as an operator fixes it. What is left out, the server and its authorization server say. */
export interface OAuthOptions {
  /** `authorization_code`: a person logs in, once. `client_credentials`: the service has an account of its own. */
  readonly grant: 'authorization_code' | 'client_credentials';
  /** Each account has a login of its own, and calls without an account are refused. Default: one login for all. */
  readonly login?: 'each';
  /** Default: the address of the metadata document, else the client is registered at each login. */
  readonly clientId?: string;
  readonly clientSecret?: string;
  /** PKCS #8 in PEM; signs who the client is, instead of a secret. */
  readonly privateKey?: { readonly pem: string; readonly algorithm: string };
  readonly clientMetadataUrl?: string;
  readonly scopes: readonly string[];
  /** The only authorization server that gets the secret of the client. Required with one. */
  readonly issuer?: string;
}

export interface McpServerOptions {
  readonly name: string;
  readonly transport: StdioTransportOptions | HttpTransportOptions | OpenApiTransportOptions;
  /** One call at a time over all workers. The lane enforces it, and the pool sends one at a time. Default false. */
  readonly serial?: boolean;
  /** How long the probe for the modern protocol may take before the legacy one is tried. Milliseconds. Default 10 000. */
  readonly probeTimeoutMs?: number;
  /** Its tools may ask a person. Default false: the client does not declare it, and servers do not ask. */
  readonly questions?: boolean;
  /** Its tools may ask a model. Default false, with the same effect. */
  readonly sampling?: boolean;
  /** Known secrets are redacted in its successful results, too. Default false: results pass as its tools wrote them. */
  readonly redactResults?: boolean;
  /** How many calls may be on the wire at once; the rest wait. Default 64. */
  readonly maxInFlight?: number;
}

/**
 * A server that refuses the probe does so at once. One that is still starting needs a while; only one that ignores what
 * it does not know costs this whole time, once. Milliseconds.
 */
export const PROBE_MS = 10_000;

const DOWNLOADERS: ReadonlySet<string> = new Set(['npx', 'bunx', 'pnpx', 'uvx', 'pipx', 'docker', 'podman']);

/** Name of a command that downloads the program that it runs; null: the command is the server itself. */
export function downloaderOf(command: string): string | null {
  const name = basename(command).replace(/\.(?:cmd|exe)$/i, '');
  return DOWNLOADERS.has(name) ? name : null;
}
