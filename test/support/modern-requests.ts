/** Requests of the stateless protocol, byte for byte: for what the SDK's client does by itself, or cannot do.
 *  It must not import anything of the service. */

const VERSION = '2026-07-28';
const PREFIX = 'io.modelcontextprotocol/';

export interface ModernAnswer {
  readonly status: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface ModernRequest {
  readonly method: string;
  /** The tool or the task. */
  readonly name: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Extensions that the client declares. Default: none. */
  readonly extensions?: readonly string[];
  /** Other capabilities. Default: none. */
  readonly capabilities?: object;
  /** Default: none. */
  readonly key?: string;
  /** Ends the connection. */
  readonly signal?: AbortSignal;
}

export async function askModern(
  url: string,
  { method, name, params, extensions = [], capabilities = {}, key, signal }: ModernRequest,
): Promise<ModernAnswer> {
  const declared = Object.fromEntries(extensions.map((extension) => [extension, {}]));
  const _meta = {
    ...(params['_meta'] as object | undefined),
    [`${PREFIX}protocolVersion`]: VERSION,
    [`${PREFIX}clientInfo`]: { name: 'raw', version: '1' },
    [`${PREFIX}clientCapabilities`]: {
      ...capabilities,
      ...(extensions.length === 0 ? {} : { extensions: declared }),
    },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': name,
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
    signal: signal ?? null,
  });
  const body = (await response.json()) as Omit<ModernAnswer, 'status'>;
  return { ...body, status: response.status };
}
