/** The Host names that requests may use: refuses a web page that rebinds its own name to the address of this service.
 *  Never counts as authentication: any client that reaches the port may send any name. */
import { DirectiveRefused, problem } from '../contract/problem.ts';
import type { App } from './app.ts';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export interface ListenNames {
  /** The host that the service listens on. */
  readonly host: string;
  /** Other names of the service, set by the operator. */
  readonly named: readonly string[];
}

/** null: any name. A service that is open to the network cannot know all its names. */
export function allowedHosts({ host, named }: ListenNames): ReadonlySet<string> | null {
  if (!isLoopback(host) && named.length === 0) return null;
  return new Set([...LOOPBACK_NAMES, bracketed(host), ...named].map((name) => name.toLowerCase()));
}

/** Whether only programs of this machine reach it. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** An IPv6 address as a Host header writes it. */
function bracketed(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

/** Register it before anything else that reads a request. Nothing here waits: each `async` hook costs a request a turn. */
export function refuseOtherHosts(app: App, { names: allowed, origins }: AllowedCallers): void {
  if (allowed === null) return;
  // Most requests name the host as the one before did.
  let lastAllowed: string | undefined;
  app.addHook('onRequest', ({ headers, url }, _reply, done) => {
    if (headers.host === undefined || headers.host !== lastAllowed) {
      if (!allowed.has(nameOf(headers.host ?? ''))) return done(refusal('Host'));
      lastAllowed = headers.host;
    }
    // Browsers send the Origin of the page: a page of another site may not even send requests blindly.
    const { origin } = headers;
    const isOther = origin !== undefined && !allowed.has(originName(origin));
    const isNamed = isOther && sharingAt(url, origins)?.origins.has(origin) === true;
    done(isOther && !isNamed ? refusal('Origin') : undefined);
  });
}

/** Origins of web pages that may call from a browser, each with scheme and port. */
export interface PageOrigins {
  /** For `/mcp`, and the login for it. */
  readonly mcp: ReadonlySet<string>;
  /** For `/v1`. */
  readonly api: ReadonlySet<string>;
}

interface AllowedCallers {
  /** Names from `allowedHosts`; null: any. */
  readonly names: ReadonlySet<string> | null;
  readonly origins: PageOrigins;
}

/** Rights of pages of some origins at a path (CORS). */
interface Sharing {
  readonly origins: ReadonlySet<string>;
  readonly methods: string;
  /** Headers of a request; null: any that the browser asks for. */
  readonly sent: string | null;
  readonly read: string;
}

/** null: pages of other origins cannot call the path. */
function sharingAt(url: string, { mcp, api }: PageOrigins): Sharing | null {
  if (isHostPath(url))
    // Arguments are mirrored in headers with names of the tool's own: no fixed list can hold them.
    return {
      origins: mcp,
      methods: 'GET, POST, DELETE',
      sent: null,
      read: 'mcp-session-id, www-authenticate',
    };
  if (!/^\/v1(?:[/?]|$)/.test(url)) return null;
  return {
    origins: api,
    methods: 'GET, POST, PUT, DELETE',
    sent: API_HEADERS,
    read: 'retry-after, location',
  };
}

const API_HEADERS = 'authorization, content-type, idempotency-key, last-event-id, traceparent';

/** Seconds that a browser keeps the answer to a preflight. */
const PREFLIGHT_SECONDS = 600;

/**
 * Lets pages call from the origins that the operator named. Cookies never count there: a page sends its key in `Authorization`.
 * Register it before keys are checked: a preflight has none.
 */
export function allowOrigins(app: App, origins: PageOrigins): void {
  if (origins.mcp.size + origins.api.size === 0) return;
  app.addHook('onRequest', (request, reply, done) => {
    const { method, url, headers } = request;
    const sharing = sharingAt(url, origins);
    if (sharing === null || sharing.origins.size === 0) return done();
    reply.header('vary', 'Origin');
    if (headers.origin === undefined || !sharing.origins.has(headers.origin)) return done();
    reply.header('access-control-allow-origin', headers.origin);
    reply.header('access-control-expose-headers', sharing.read);
    if (method !== 'OPTIONS') return done();
    reply.header('access-control-allow-methods', sharing.methods);
    const asked = headers['access-control-request-headers'] ?? '';
    reply.header('access-control-allow-headers', sharing.sent ?? asked);
    reply.header('access-control-max-age', PREFLIGHT_SECONDS).code(204).send();
  });
}

export function isMcpPath(url: string): boolean {
  return /^(?:\/runs\/[^/?]*)?\/mcp(?:[/?]|$)/.test(url);
}

/** `/mcp`, and where a host in a browser logs in for it. */
function isHostPath(url: string): boolean {
  return (
    isMcpPath(url) || /^\/(?:oauth\/(?:token|register|revoke)|\.well-known\/oauth-[\w/-]+)(?:\?|$)/.test(url)
  );
}

/** Without the port: one service may be reached through several. */
function nameOf(header: string): string {
  return header.replace(/:\d*$/, '').toLowerCase();
}

function originName(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : '';
}

function refusal(header: 'Host' | 'Origin'): DirectiveRefused {
  const detail = `This service is not known by the name in the ${header} header; ADJUTANT_ALLOWED_HOSTS adds names.`;
  return new DirectiveRefused(problem('forbidden', { detail }));
}
