/** /console/login/oidc: sends a browser to the issuer, and changes what comes back into a session.
 *  It must never send a browser anywhere else, nor put a code, token or reason into a URL. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LoginFailed, type OidcLogin, StrayCallback } from '../access/oidc.ts';
import { LOGIN_MS, type LoginSeal } from '../access/login-seal.ts';
import type { Principal } from '../access/principal.ts';
import { returnPath } from '../access/return-path.ts';
import type { Sessions } from '../access/sessions.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { App } from '../app.ts';
import { loginCookie, loginLeft, sessionCookie } from '../session-cookie.ts';

const LOGIN = '/console/login/oidc';
const HOME = '/console/';

/** The logins that the API knows. */
export interface LoginDoor {
  readonly oidc: OidcLogin;
  readonly seal: LoginSeal;
  /** On the button. */
  readonly name: string;
  /** Scheme, host and port of the service as browsers see it. */
  readonly base: string;
  readonly sessionMs: number;
  /** Whether signing out goes on to the issuer. */
  readonly endsAtIssuer: boolean;
  /** The cookie of a person who has logged in for an MCP host; null: the login was for the console. */
  readonly forHost?: (returnTo: string, principal: Principal) => Promise<string | null>;
}

export const LOGIN_PATH = LOGIN;
export const LOGOUT_PATH = `${LOGIN}/logout`;

/** A HEAD must not use up a code. */
const route = { schema: { hide: true }, exposeHeadRoute: false };

export function oidcRoutes(app: App, sessions: Sessions, door: LoginDoor): void {
  const { oidc, base } = door;
  /** Sends the browser to the address, or to the sign-in page that says why not. */
  async function to(request: FastifyRequest, reply: FastifyReply, address: () => Promise<string>) {
    const found = await whileAvailable(address).catch(async (error: unknown) => {
      if (!(error instanceof LoginFailed)) throw error;
      if (error instanceof StrayCallback) return HOME;
      const sealed = await whileAvailable(() => door.seal.seal({ kind: 'failed', text: error.message }));
      void reply.header('set-cookie', loginCookie(request, sealed, LOGIN_MS, isSecure(base)));
      return HOME;
    });
    void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    return reply.redirect(found, 303);
  }

  app.get(LOGIN, route, async (request, reply) =>
    to(request, reply, async () => {
      const { return: given, here } = request.query as Record<string, unknown>;
      const returnTo = returnPath(given);
      // The cookie must be set where the callback comes; once, as a proxy may change the host.
      if (request.headers.host !== new URL(base).host && here === undefined)
        return `${base}${LOGIN}?here=1&return=${encodeURIComponent(returnTo)}`;
      const { sealed, url } = await oidc.begin(returnTo);
      void reply.header('set-cookie', loginCookie(request, sealed, LOGIN_MS, isSecure(base)));
      return url;
    }),
  );
  app.get(`${LOGIN}/callback`, route, async (request, reply) =>
    to(request, reply, async () => finish(request, reply, { sessions, door })),
  );
  app.get(LOGOUT_PATH, route, async (request, reply) =>
    to(request, reply, async () => (await oidc.endUrl()) ?? HOME),
  );
}

/** Returns where to go. */
async function finish(
  request: FastifyRequest,
  reply: FastifyReply,
  { sessions, door: { oidc, base, sessionMs, forHost } }: { sessions: Sessions; door: LoginDoor },
): Promise<string> {
  const query = request.raw.url?.split('?', 2)[1] ?? '';
  const { principal, returnTo } = await oidc.finish(query, loginLeft(request));
  const forgotten = loginCookie(request, '', 0, isSecure(base));
  const ofHost = (await forHost?.(returnTo, principal)) ?? null;
  if (ofHost !== null) {
    // It opens no session of the console: the person consents to the host alone.
    void reply.header('set-cookie', [ofHost, forgotten]);
    return returnTo;
  }
  const opened = await sessions.openPerson(principal, 'oidc', Date.now() + sessionMs);
  if (opened === null) throw new LoginFailed('The session could not be opened: begin the login again.');
  void reply.header('set-cookie', [
    sessionCookie(request, opened.text, opened.lastsMs, isSecure(base)),
    forgotten,
  ]);
  return returnTo;
}

function isSecure(base: string): boolean {
  return base.startsWith('https:');
}
