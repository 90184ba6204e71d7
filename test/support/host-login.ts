/** A service that MCP hosts log in at, hosts that use the SDK's own OAuth, and the person before the browser.
 *  It must never take a step of a login that a host or browser does not take. */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformation, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { createAccessClient } from '../../src/client/http-client.ts';
import type { SubmittedKey } from '../../src/contract/access/access.ts';
import { createStranger, type Stranger } from './oidc.ts';
import { freePort } from './process.ts';
import { type RunningService, startService } from './running-service.ts';

export const REDIRECT = 'http://127.0.0.1:4711/callback';

export async function startHostService(redisUrl: string, rules: object = {}, more: object = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const admin = randomBytes(32).toString('hex');
  const config = { access: { host_login: { public_url: url, ...rules } }, ...more };
  const environment = { ADJUTANT_ADMIN_KEY: admin };
  const service: RunningService = await startService({ redisUrl, port, config, environment });
  const { prefix } = service;
  const access = createAccessClient({ baseUrl: url, apiKey: admin });
  return {
    url,
    admin,
    prefix,
    access,
    key: async (key: Partial<SubmittedKey> = {}) =>
      access.create({ name: 'ada', scopes: ['read', 'submit', 'cancel'], ...key }),
    /** Another API of the same installation. */
    another: async () => startService({ redisUrl, prefix, roles: { api: true }, config, environment }),
    [Symbol.asyncDispose]: async () => service.stop(),
  };
}

export interface Host extends OAuthClientProvider {
  /** The address of its last authorization request. */
  readonly sentTo: () => URL;
  readonly held: { client?: OAuthClientInformation; tokens?: OAuthTokens; verifier: string };
}

export function createHost(metadata: object = {}): Host {
  const held: Host['held'] = { verifier: '' };
  let sentTo = new URL('http://unset.invalid');
  return {
    held,
    sentTo: () => sentTo,
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'A host', redirect_uris: [REDIRECT], ...metadata },
    state: () => 'state-of-the-host',
    clientInformation: () => held.client,
    saveClientInformation: (client) => void (held.client = client),
    tokens: () => held.tokens,
    saveTokens: (tokens) => void (held.tokens = tokens),
    redirectToAuthorization: (url) => void (sentTo = url),
    saveCodeVerifier: (verifier) => void (held.verifier = verifier),
    codeVerifier: () => held.verifier,
  };
}

/** From the authorization request to the page of the login. */
export async function openLogin(browser: Stranger, authorize: string | URL): Promise<string> {
  return browser.follow(String(authorize), /\/oauth\/interaction\//);
}

export function proofIn(html: string): string {
  return /name="proof" value="([0-9a-f]{64})"/.exec(html)?.[1] ?? '';
}

/** Signs in with the key and allows; returns the address that the browser is sent to. */
export async function consent(browser: Stranger, authorize: string | URL, key: string): Promise<URL> {
  const page = await openLogin(browser, authorize);
  await browser.post(page, { act: 'key', key });
  const proof = proofIn(await (await browser.get(page)).text());
  return onward(browser, await browser.post(page, { act: 'allow', proof }));
}

/** The way back to the host, after the last form. */
export async function onward(browser: Stranger, answer: Response): Promise<URL> {
  const html = await answer.text();
  const resume = /content="0;url=([^"]+)"/.exec(html)?.[1];
  if (resume === undefined) throw new Error(`no way back: ${answer.status} ${html}`);
  const back = await browser.get(resume.replaceAll('&amp;', '&'));
  return new URL(back.headers.get('location') ?? 'about:blank');
}

/** A host that has logged in with the key. */
export async function loggedIn(url: string, key: string, host: Host = createHost()): Promise<Host> {
  await auth(host, { serverUrl: `${url}/mcp` });
  const back = await consent(createStranger(), host.sentTo(), key);
  await auth(host, { serverUrl: `${url}/mcp`, authorizationCode: back.searchParams.get('code') ?? '' });
  return host;
}

/** A call of `/mcp` with a token; the status. */
export async function statusOf(url: string, token: string | undefined): Promise<number> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'h', version: '1' } };
  const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params };
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify(body),
  });
  await answer.text();
  return answer.status;
}

type Document = (own: string) => [status: number, body: string];

/** Documents of clients, over TLS with a certificate that this process trusts. */
export async function startDocuments() {
  const folder = mkdtempSync(join(tmpdir(), 'adjutant-documents-'));
  const files = ['-keyout', 'key.pem', '-out', 'cert.pem', '-days', '2'];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...names], {
    cwd: folder,
    stdio: 'pipe',
  });
  const [key = '', cert = ''] = ['key.pem', 'cert.pem'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  );
  rmSync(folder, { recursive: true });
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  const served = new Map<string, { document: Document; asked: number }>();
  const server = createServer({ key, cert }, ({ url = '' }, response) => {
    const found = served.get(url);
    if (found === undefined) return void response.writeHead(404).end();
    found.asked += 1;
    const [status, body] = found.document(base + url);
    response.writeHead(status, { 'content-type': 'application/json', location: `${base}/client` }).end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    /** Returns the address. */
    serve(path: string, document: Document): string {
      served.set(path, { document, asked: 0 });
      return base + path;
    },
    asked: (path: string) => served.get(path)?.asked ?? 0,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}
