/** Proxies of the environment: what leaves this machine goes through them, and what stays on it does not.
 *  It must never leave the machine: the proxy of these tests sends every name to 127.0.0.1. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Env, startCli } from '../support/cli.ts';
import { startModernPeer } from '../support/mcp-servers.ts';

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends a request on to a port of this machine, whatever host it names. */
function forwardTo(port: number, seen: (address: string) => void = () => {}): RequestListener {
  return (incoming: IncomingMessage, response) => {
    seen(incoming.url ?? '');
    const path = (incoming.url ?? '').replace(/^https?:\/\/[^/]*/, '');
    const { method, headers } = incoming;
    const onward = request({ port, host: '127.0.0.1', path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    incoming.pipe(onward);
  };
}

/** A proxy as companies have it: absolute addresses without TLS, tunnels with it. */
async function proxyTo({ plain, tls }: { plain: number; tls: number }) {
  const seen: string[] = [];
  const server = createServer(forwardTo(plain, (address) => seen.push(address)));
  server.on('connect', ({ url = '' }, socket) => {
    seen.push(`CONNECT ${url}`);
    const onward = connect(tls, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    onward.on('error', () => socket.destroy());
    socket.on('error', () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  });
  return { seen, url: `http://127.0.0.1:${await listening(server)}` };
}

async function folderOf(url: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-proxies-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  const host = new URL(url).hostname;
  const server = { url, headers: { host } };
  await writeFile(join(folder, 'adjutant.json'), JSON.stringify({ mcpServers: { it: server } }));
  return folder;
}

async function doctor(cwd: string, env: Env): Promise<string> {
  const { stdout, stderr } = await startCli(['doctor'], { cwd, env }).ended;
  return `${stdout}${stderr}`;
}

test('an MCP server is reached through the proxy of the environment, with the certificates of NODE_EXTRA_CA_CERTS', async () => {
  const peer = await startModernPeer();
  onTestFinished(async () => void (await peer.child.kill9()));
  const address = 'url' in peer.options.transport ? new URL(peer.options.transport.url) : null;
  const plain = Number(address?.port);
  const folder = await folderOf('http://mcp.example/mcp');
  const openssl = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=mcp.example'];
  const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-addext', 'subjectAltName=DNS:mcp.example'];
  execFileSync('openssl', [...openssl, ...files], { cwd: folder, stdio: 'pipe' });
  const [key, cert] = ['key.pem', 'cert.pem'].map((file) => readFileSync(join(folder, file)));
  const tls = await listening(createTlsServer({ key, cert }, forwardTo(plain)));
  const { seen, url } = await proxyTo({ plain, tls });
  const NODE_EXTRA_CA_CERTS = join(folder, 'cert.pem');

  expect(await doctor(folder, { HTTP_PROXY: url })).toContain('connected over http');
  expect(seen).toContain('http://mcp.example/mcp');
  expect(seen.join()).not.toContain('CONNECT');

  const secure = await folderOf('https://mcp.example/mcp');
  expect(await doctor(secure, { https_proxy: url, NODE_EXTRA_CA_CERTS })).toContain('connected over http');
  expect(seen).toContain('CONNECT mcp.example:443');
  expect(await doctor(secure, { https_proxy: url })).toMatch(/self.signed|certificate/i);

  const before = seen.length;
  expect(await doctor(folder, { HTTP_PROXY: url, NO_PROXY: 'mcp.example' })).not.toContain(
    'connected over http',
  );
  const local = await folderOf(address?.href ?? '');
  expect(await doctor(local, { HTTP_PROXY: url, HTTPS_PROXY: url })).toContain('connected over http');
  expect(seen).toHaveLength(before);
});

test('a proxy without an address stops the command, and its value is not shown', async () => {
  const folder = await folderOf('http://mcp.example/mcp');
  const { code, stderr } = await startCli(['doctor'], {
    cwd: folder,
    env: { HTTPS_PROXY: 'socks5://u:hunter2@h:1' },
  }).ended;
  expect(code).not.toBe(0);
  expect(stderr).toContain('HTTPS_PROXY is not the address of an HTTP proxy');
  expect(stderr).not.toContain('hunter2');
});
