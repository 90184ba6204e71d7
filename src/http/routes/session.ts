/** /v1/session: changes an API key into the session of a browser, shows it, and ends it.
 *  It must never show the cookie to a script, nor say why a key is refused. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { looksLikeToken } from '../access/jwt.ts';
import { keyIdOf } from '../access/key-text.ts';
import type { Sessions } from '../access/sessions.ts';
import { csrfToken, readSession } from '../access/session-text.ts';
import { KEY_MARK } from '../../contract/access/access.ts';
import { type SessionView, signInBodySchema } from '../../contract/access/session.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { callerOf } from '../access-check.ts';
import type { App } from '../app.ts';
import { serve } from '../served-operation.ts';
import { isSameOrigin, loginLeft, sessionCookie, sessionOf } from '../session-cookie.ts';
import { LOGIN_PATH, type LoginDoor, LOGOUT_PATH } from './oidc.ts';

const NOT_KNOWN = 'The key or token is not known here; or it was revoked, or has expired.';
const NO_KEYS =
  'There are no API keys here: `adjutant keys create` makes one, as does an API that is started with ADJUTANT_ADMIN_KEY.';
const NOT_WHOLE = 'This begins as an API key does, but is not whole: copy all of it';

/** `sessions` null: no key is required. */
export function sessionRoutes(app: App, sessions: Sessions | null, login: LoginDoor | null = null): void {
  serve(app, 'readSession', async (request) => viewOf(request, sessions, login));
  serve(app, 'signIn', async (request, reply) => {
    if (sessions !== null) await signIn(request, reply, sessions, keyIn(request.body));
    return reply.code(204).send(null);
  });
  serve(app, 'signOut', async (request, reply) => {
    const text = sessionOf(request);
    if (text !== null && sessions !== null) await whileAvailable(() => sessions.close(text));
    return reply
      .code(204)
      .header('set-cookie', sessionCookie(request, '', 0))
      .send(null);
  });
}

function keyIn(body: unknown): string {
  return readInput(signInBodySchema, body, 'invalid_body').key;
}

/** The refusal of a key by its form only: discloses nothing that is known here. */
async function whyNot(key: string, sessions: Sessions): Promise<string> {
  if (key.startsWith(KEY_MARK) && keyIdOf(key) === null) return `${NOT_WHOLE} (${key.length} characters).`;
  return (await whileAvailable(() => sessions.hasKeys())) || looksLikeToken(key) ? NOT_KNOWN : NO_KEYS;
}

async function signIn(
  request: FastifyRequest,
  reply: FastifyReply,
  sessions: Sessions,
  key: string,
): Promise<void> {
  // A page of another site must not sign somebody in with its own key.
  if (request.headers.origin !== undefined && !isSameOrigin(request.headers))
    throw new DirectiveRefused(problem('forbidden', { detail: 'Only a page of this service may sign in.' }));
  const opened = await whileAvailable(() => sessions.open(key));
  if (opened === null)
    throw new DirectiveRefused(problem('unauthorized', { detail: await whyNot(key, sessions) }));
  void reply.header('set-cookie', sessionCookie(request, opened.text, opened.lastsMs));
}

async function viewOf(
  request: FastifyRequest,
  sessions: Sessions | null,
  login: LoginDoor | null,
): Promise<SessionView> {
  const caller = callerOf(request);
  if (sessions === null || caller === 'open') return { state: 'open' };
  if (caller === null) {
    // While Redis is away, nothing is said to be missing.
    const keys = await sessions.hasKeys().catch(() => true);
    return { state: 'signed_out', sign_in: { keys, ...(login !== null && (await waysOf(request, login))) } };
  }
  const { principal, untilAt, source } = caller;
  const { id, name, tenant, scopes } = principal;
  const session = readSession(sessionOf(request) ?? '');
  return {
    state: 'signed_in',
    key_id: id,
    name,
    tenant,
    scopes: [...scopes],
    ...(untilAt !== undefined && { expires_at: new Date(untilAt).toISOString() }),
    ...(session !== null && untilAt !== undefined && { csrf_token: csrfToken(session) }),
    ...(source === 'oidc' && login?.endsAtIssuer === true && { sign_out_path: LOGOUT_PATH }),
  };
}

/** The button, and why the last login failed. */
async function waysOf(request: FastifyRequest, { name, seal }: LoginDoor): Promise<Partial<Ways>> {
  const sealed = loginLeft(request);
  const left = sealed === null ? null : await seal.open(sealed).catch(() => null);
  return { oidc: { name, path: LOGIN_PATH }, ...(left?.kind === 'failed' && { failed: left.text }) };
}

type Ways = NonNullable<SessionView['sign_in']>;
