/** A server that demands OAuth for tests, the person who logs in at it, and the place where logins are kept.
 *  It must never skip a step of a login: the browser is played, the rest is real. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createLoginRecords } from '../../src/store/access/login-records.ts';
import { keySpace } from '../../src/store/keys.ts';
import { challengeOf } from '../../src/mcp/oauth/challenge.ts';
import { listenForCallback } from '../../src/mcp/oauth/callback-listener.ts';
import { beginLogin } from '../../src/mcp/oauth/interactive-login.ts';
import type { Login } from '../../src/mcp/oauth/login.ts';
import { createLoginStore, type LoginStore } from '../../src/mcp/oauth/login-store.ts';
import { createSeal } from '../../src/mcp/oauth/seal.ts';
import type { HttpTransportOptions, McpServerOptions, OAuthOptions } from '../../src/mcp/server-options.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { spawnNode, type Child } from './process.ts';

export type OAuthServer = McpServerOptions & {
  readonly transport: HttpTransportOptions & { readonly auth: OAuthOptions };
};

interface Seen {
  /** Grants of the token requests. */
  readonly token: readonly string[];
  readonly registered: number;
  readonly calls: number;
  /** Scopes that were asked for. */
  readonly authorized: readonly string[];
  /** Each call of a tool, with the account of its token. */
  readonly made: readonly { readonly account?: string; readonly tool: string; readonly label?: string }[];
}

export interface OAuthPeer extends AsyncDisposable {
  readonly child: Child;
  readonly issuer: string;
  /** As configured with `"auth": {}`, or with `auth`. */
  server(auth?: Partial<OAuthOptions>): OAuthServer;
  seen(): Promise<Seen>;
  set(settings: {
    hold?: boolean;
    refuse?: boolean;
    outage?: boolean;
    person?: string;
    withdrawn?: string;
    barred?: string;
  }): Promise<void>;
}

export async function startOAuthPeer(env: Readonly<Record<string, string>> = {}): Promise<OAuthPeer> {
  const child = spawnNode([fileURLToPath(new URL('./servers/oauth-peer.mjs', import.meta.url))], { env });
  const line = await child.waitForLine(/^oauth /);
  const { issuer, origin, resource } = JSON.parse(line.slice('oauth '.length)) as Record<string, string>;
  const control = `${origin}/control`;
  return {
    child,
    issuer: issuer ?? '',
    server: (auth = {}) => ({
      name: 'crm',
      transport: {
        kind: 'http',
        url: resource ?? '',
        headers: {},
        auth: { grant: 'authorization_code', scopes: [], ...auth },
      },
    }),
    seen: async () => (await (await fetch(control)).json()) as Seen,
    set: async (settings) => void (await fetch(control, { method: 'POST', body: JSON.stringify(settings) })),
    [Symbol.asyncDispose]: async () => void (await child.kill9()),
  };
}

/** Opens the address as a browser does: keeps cookies, follows redirects. Returns the text of the last page. */
export async function browse(address: string): Promise<string> {
  const jar = new Map<string, string>();
  let url = address;
  for (let step = 0; step < 20; step += 1) {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ');
    const response = await fetch(url, { headers: { cookie }, redirect: 'manual' });
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split(/=(.*)/s);
      jar.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) return response.text();
    url = new URL(location, url).href;
  }
  throw new Error('The login goes round in circles.');
}

export interface LoginOptions {
  readonly scopes?: readonly string[];
  readonly before?: Login | null;
}

/** What `adjutant mcp login` does, without its terminal. */
export async function loginAt(
  server: OAuthServer,
  { scopes = [], before = null }: LoginOptions = {},
): Promise<Login> {
  const signal = AbortSignal.timeout(30_000);
  const listener = await listenForCallback(0);
  const { transport } = server;
  const { redirectUrl } = listener;
  try {
    const { challenge } = await challengeOf(server, signal);
    const begun = await beginLogin({
      transport,
      redirectUrl,
      scopes,
      before,
      challenge,
      signal,
      now: Date.now,
    });
    const answer = listener.answer(begun.state, signal);
    await browse(begun.url.href);
    return await begun.finish(await answer);
  } finally {
    await listener.close();
  }
}

export const TOKEN_KEY = randomBytes(32);

export function storeOn(
  connection: RedisConnection,
  prefix: string,
  key: Uint8Array = TOKEN_KEY,
  principal = 'default',
): LoginStore {
  const records = createLoginRecords(connection, keySpace(prefix), principal);
  return createLoginStore({ records, seal: createSeal([key]), principal });
}
