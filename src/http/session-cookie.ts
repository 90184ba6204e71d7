/** The cookie of a browser's session, and whether a call by it comes from a page of this service.
 *  It must never count as who calls where another site may have caused the call. */
import type { FastifyRequest } from 'fastify';
import { isCsrfToken, readSession } from './access/session-text.ts';
import { DirectiveRefused, problem } from '../contract/problem.ts';

const CSRF_HEADER = 'x-adjutant-csrf';
/** Only the API itself: neither pages nor what hosts of MCP call. */
const COUNTS_UNDER = '/v1/';

/** Cookies do not know ports, and one machine may have several services. */
function namesOf(
  host: string | undefined,
  what = 'adjutant_session',
): readonly [secure: string, plain: string] {
  const port = /:(\d{1,5})$/.exec(host ?? '')?.[1];
  const name = port === undefined ? what : `${what}_${port}`;
  return [`__Host-${name}`, name];
}

/** The text of the session; null: the request has none, or it does not count here. */
export function sessionOf({ headers, routeOptions }: FastifyRequest): string | null {
  const { cookie, host } = headers;
  if (cookie === undefined || routeOptions.url?.startsWith(COUNTS_UNDER) !== true) return null;
  const [secure, plain] = namesOf(host);
  return valueOf(cookie, secure) ?? valueOf(cookie, plain);
}

function valueOf(cookies: string, name: string): string | null {
  const pairs = cookies.split(';', 64).map((each) => each.trim());
  const values = pairs
    .filter((each) => each.startsWith(`${name}=`))
    .map((each) => each.slice(name.length + 1));
  // Whoever can set a cookie for a domain above must not end the session with one of the same name.
  return values.find((value) => readSession(value) !== null) ?? null;
}

/** `Set-Cookie` of a session that lasts; `lastsMs` 0 takes it away. */
export function sessionCookie(
  request: FastifyRequest,
  text: string,
  lastsMs: number,
  isSecure: boolean = isHttps(request),
): string {
  const [secure, plain] = namesOf(request.headers.host);
  const age = Math.floor(lastsMs / 1_000);
  const pair = `${isSecure ? secure : plain}=${text}`;
  return `${pair}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
}

const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The secret of 32 bytes in a cookie of a page; null: none. */
export function secretIn({ headers: { cookie = '' } }: FastifyRequest, name: string): string | null {
  const pairs = cookie.split(';', 64).map((each) => each.trim());
  const value = pairs.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
  return SECRET.test(value) ? value : null;
}

const LOGIN_NAME = 'adjutant_login';

/** `Set-Cookie` of what a login leaves; the issuer's page leads back to it, so it is Lax. */
export function loginCookie(
  { headers }: FastifyRequest,
  sealed: string,
  lastsMs: number,
  isSecure: boolean,
): string {
  const [secure, plain] = namesOf(headers.host, LOGIN_NAME);
  const pair = `${isSecure ? secure : plain}=${sealed}`;
  const age = Math.floor(lastsMs / 1_000);
  return `${pair}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}

const LONGEST_SEALED = 4_096;

/** The state that a login has left in a cookie; null: none. */
export function loginLeft({ headers: { cookie, host } }: FastifyRequest): string | null {
  const names = namesOf(host, LOGIN_NAME);
  const pairs = (cookie ?? '').split(';', 64).map((each) => each.trim());
  for (const name of names) {
    const value = pairs.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
    if (value !== undefined && value !== '') return value.length > LONGEST_SEALED ? null : value;
  }
  return null;
}

/** A proxy ends TLS; the origin of the page says it as well. A wrong claim only keeps the cookie from being sent. */
export function isHttps({ headers, protocol }: FastifyRequest): boolean {
  const forwarded = String(headers['x-forwarded-proto'] ?? '')
    .split(',')[0]
    ?.trim();
  return protocol === 'https' || forwarded === 'https' || headers.origin?.startsWith('https://') === true;
}

/** The refusal of a call by cookie that another site may have caused; undefined: it comes from a page of this service. */
export function crossSiteRefusal(request: FastifyRequest, text: string): DirectiveRefused | undefined {
  const { method, headers } = request;
  if (method === 'GET' || method === 'HEAD') return undefined;
  const session = readSession(text);
  const token = headers[CSRF_HEADER];
  const hasToken = session !== null && typeof token === 'string' && isCsrfToken(session, token);
  if (hasToken && isSameOrigin(headers)) return undefined;
  const detail =
    'A call by session that changes something comes from a page of this service, with the token of GET /v1/session in X-Adjutant-CSRF.';
  return new DirectiveRefused(problem('forbidden', { detail }));
}

/** Browsers say where a call comes from; one that says nothing is refused. */
export function isSameOrigin({ origin, host, ...headers }: FastifyRequest['headers']): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
}
