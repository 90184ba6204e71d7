/** Real MCP servers for tests: how to start each over stdio, and those over HTTP already started on 127.0.0.1.
 *  It must never let one listen on another interface. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { McpServerOptions } from '../../src/mcp/server-options.ts';
import { programOf } from './program.ts';
import { type Child, freePort, spawnNode } from './process.ts';

type Env = Readonly<Record<string, string>>;
type StdioServer = McpServerOptions & {
  transport: Extract<McpServerOptions['transport'], { kind: 'stdio' }>;
};

const require = createRequire(import.meta.url);
const LOOPBACK = ownServer('loopback.mjs');
const EVERYTHING = packageFile(
  require.resolve('@modelcontextprotocol/server-everything/package.json'),
  'dist/index.js',
);

function ownServer(file: string): string {
  return fileURLToPath(new URL(`./servers/${file}`, import.meta.url));
}

function packageFile(packageJson: string, file: string): string {
  return join(dirname(packageJson), file);
}

/** A server gets no variable that it was not given: with this one it starts with a third less work. */
const { NODE_COMPILE_CACHE: cache } = process.env;
const COMPILED: Env = cache === undefined ? {} : { NODE_COMPILE_CACHE: cache };

function stdio(name: string, args: readonly string[], env: Env = {}): StdioServer {
  return {
    name,
    transport: { kind: 'stdio', command: process.execPath, args, env: { ...COMPILED, ...env } },
  };
}

/** Its tools ask; `era`: which protocol it speaks. */
export const askingPeer = (era: 'modern' | 'legacy', env: Env = {}): StdioServer => ({
  ...stdio('asking', [programOf(ownServer('asking-peer.ts')), 'stdio'], { ASKING_ERA: era, ...env }),
  questions: true,
});

/** A server of test/support/servers, as an entry of `mcpServers` in adjutant.json. */
export function ownServerEntry(file: string, env: Env = {}) {
  return {
    command: process.execPath,
    args: [programOf(ownServer(file)), 'stdio'],
    env: { ...COMPILED, ...env },
  };
}

export const everything = (): StdioServer => stdio('everything', [EVERYTHING, 'stdio']);

export const filesystem = (folder: string): StdioServer =>
  stdio('filesystem', [
    packageFile(require.resolve('@modelcontextprotocol/server-filesystem/package.json'), 'dist/index.js'),
    folder,
  ]);

export const memory = (file: string): StdioServer =>
  stdio(
    'memory',
    [packageFile(require.resolve('@modelcontextprotocol/server-memory/package.json'), 'dist/index.js')],
    {
      MEMORY_FILE_PATH: file,
    },
  );

export const helloWorld = (): StdioServer =>
  stdio('hello', [packageFile(require.resolve('mcp-hello-world/package.json'), 'build/stdio.js')]);

export const legacyPeer = (env: Env = {}): StdioServer =>
  stdio('legacy', [programOf(ownServer('legacy-peer.ts')), 'stdio'], env);

export const modernPeer = (env: Env = {}): StdioServer =>
  stdio('modern', [programOf(ownServer('modern-peer.ts')), 'stdio'], env);

/** The same server, which reads nothing for a while: as one that a package runner or a slow interpreter starts. */
export function slowly({ transport, ...server }: StdioServer, seconds: number): StdioServer {
  const args = ['-c', `sleep ${seconds}; exec "$@"`, 'sh', transport.command, ...transport.args];
  return { ...server, transport: { ...transport, command: '/bin/sh', args } };
}

export const rudePeer = (habit: string): StdioServer => stdio('rude', [ownServer('rude-peer.mjs'), habit]);

export const hostilePeer = (habit = 'polite'): StdioServer =>
  stdio('hostile', [ownServer('hostile-peer.mjs'), 'stdio', habit]);

/** `elsewhere`: the target of its redirect. */
export async function startHostilePeer(habit = 'polite', elsewhere = ''): Promise<HttpServer> {
  const child = spawnNode([ownServer('hostile-peer.mjs'), 'http', habit, elsewhere]);
  const line = await child.waitForLine(/^port \d+$/);
  return httpServer('hostile', child, `http://127.0.0.1:${line.split(' ')[1]}`, '/mcp');
}

export const malformedPeer = (habit = ''): StdioServer =>
  stdio('malformed', [ownServer('malformed-peer.mjs'), 'stdio', habit]);

/** `over`: by Streamable HTTP with JSON or with events, or by the older SSE transport. */
export async function startMalformedPeer(): Promise<
  AsyncDisposable & { over(way: string): McpServerOptions }
> {
  const child = spawnNode([ownServer('malformed-peer.mjs'), 'http']);
  const line = await child.waitForLine(/^port \d+$/);
  const url = `http://127.0.0.1:${line.split(' ')[1]}`;
  return {
    over: (way) => ({ name: 'malformed', transport: { kind: 'http', url: `${url}/${way}`, headers: {} } }),
    [Symbol.asyncDispose]: async () => void (await child.kill9()),
  };
}

/** Tools by name, or by definition with what they answer; `raw` ones as they stand. */
export const namedTools = (tools: readonly unknown[], ...nextCursor: readonly unknown[]): StdioServer =>
  stdio('named', [
    ownServer('named-tools.mjs'),
    ...[tools, ...nextCursor].map((each) => JSON.stringify(each)),
  ]);

export interface HttpServer extends AsyncDisposable {
  readonly child: Child;
  readonly origin: string;
  readonly options: McpServerOptions;
}

export const startEverything = async (transport: 'streamableHttp' | 'sse', port = '0'): Promise<HttpServer> =>
  startHttp('everything', [EVERYTHING, transport], transport === 'sse' ? '/sse' : '/mcp', { PORT: port });

export const startLegacyPeer = async (env: Env = {}): Promise<HttpServer> =>
  startHttp('legacy', [programOf(ownServer('legacy-peer.ts')), 'http'], '/mcp', env);

export const startModernPeer = async (env: Env = {}): Promise<HttpServer> =>
  startHttp('modern', [programOf(ownServer('modern-peer.ts')), 'http'], '/mcp', env);

export const startTraced = async (env: Env): Promise<HttpServer> =>
  startHttp('traced', [programOf(ownServer('traced.ts')), 'http'], '/mcp', env);

/** mcp-proxy in front of server-everything: both eras on one endpoint. */
export async function startProxy(): Promise<HttpServer> {
  const port = await freePort();
  const proxy = packageFile(require.resolve('mcp-proxy/package.json'), 'dist/bin/mcp-proxy.mjs');
  const args = ['--host', '127.0.0.1', '--port', String(port), '--', process.execPath, EVERYTHING, 'stdio'];
  return startHttp('proxy', [proxy, ...args], '/mcp', {});
}

async function startHttp(name: string, args: readonly string[], path: string, env: Env): Promise<HttpServer> {
  const child = spawnNode(['--import', LOOPBACK, ...args], { env });
  const line = await child.waitForLine(/^loopback port \d+$/);
  return httpServer(name, child, `http://127.0.0.1:${line.split(' ').at(-1)}`, path);
}

function httpServer(name: string, child: Child, origin: string, path: string): HttpServer {
  const options: McpServerOptions = {
    name,
    transport: { kind: 'http', url: origin + path, headers: {} },
  };
  return { child, origin, options, [Symbol.asyncDispose]: async () => void (await child.kill9()) };
}
