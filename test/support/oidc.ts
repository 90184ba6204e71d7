/** A service whose people log in at a real OpenID provider, and a browser without pages that follows redirects.
 *  It must never hand a cookie of one address to another. */
import { fileURLToPath } from 'node:url';
import { freePort, spawnNode } from './process.ts';
import { type RunningService, startService } from './running-service.ts';

export interface OidcScene extends AsyncDisposable {
  readonly issuer: string;
  readonly service: RunningService;
  /** Another API of the same installation. */
  another(config?: object): Promise<RunningService>;
  set(settings: { refuse?: boolean; claims?: object }): Promise<void>;
}

/** `hosts`: settings of `access.host_login`; null: hosts cannot log in. */
export async function startOidcScene(
  redisUrl: string,
  rules: object = {},
  hosts: object | null = null,
): Promise<OidcScene> {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const env = { REDIRECT_URI: `${base}/console/login/oidc/callback`, LOGOUT_URI: `${base}/console/` };
  const child = spawnNode([fileURLToPath(new URL('./servers/oidc-issuer.mjs', import.meta.url))], { env });
  const issuer = (await child.waitForLine(/^issuer /)).slice('issuer '.length).trim();
  const oidc = {
    issuer,
    client_id: 'adjutant',
    client_secret: 'secret-of-the-client',
    redirect_base: base,
    name: 'Example',
    scopes: ['openid', 'rights'],
    scopes_claim: 'rights',
    tenant_claim: 'company',
    name_claim: 'nickname',
    post_logout: 'issuer',
    ...rules,
  };
  const hostLogin = hosts === null ? {} : { host_login: { public_url: base, ...hosts } };
  const config = { access: { oidc, ...hostLogin }, tenants: { acme: {} } };
  const roles = { api: true };
  const service = await startService({ redisUrl, roles, port, config });
  const { prefix } = service;
  return {
    issuer,
    service,
    another: async (other = config) => startService({ redisUrl, roles, prefix, config: { ...other } }),
    set: async (settings) =>
      void (await fetch(`${issuer}/control`, { method: 'POST', body: JSON.stringify(settings) })),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await child.kill9();
    },
  };
}

export interface Stranger {
  /** One step; nothing is followed. */
  get(url: string): Promise<Response>;
  /** One form, sent by a page of the same address. */
  post(url: string, form: Readonly<Record<string, string>>): Promise<Response>;
  /** Until an address of the service that is no step of a login; `stopAt`: before it is asked. */
  follow(url: string, stopAt?: RegExp): Promise<string>;
  cookie(name: RegExp): readonly [name: string, value: string] | undefined;
  put(name: string, value: string, url: string): void;
  readonly set: string[];
}

const MOST_STEPS = 20;

export function createStranger(): Stranger {
  const jars = new Map<string, Map<string, string>>();
  const set: string[] = [];
  const jarOf = (url: string): Map<string, string> => {
    const { host } = new URL(url);
    const jar = jars.get(host) ?? new Map<string, string>();
    jars.set(host, jar);
    return jar;
  };

  async function send(
    url: string,
    init: RequestInit = {},
    more: Record<string, string> = {},
  ): Promise<Response> {
    const jar = jarOf(url);
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...more, ...(cookie !== '' && { cookie }) };
    const response = await fetch(url, { ...init, redirect: 'manual', headers });
    for (const line of response.headers.getSetCookie()) {
      set.push(line);
      const [pair = ''] = line.split(';');
      const at = pair.indexOf('=');
      const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name);
      else jar.set(name, value);
    }
    return response;
  }

  const get = async (url: string): Promise<Response> => send(url);

  return {
    get,
    post: async (url, form) =>
      send(url, { method: 'POST', body: new URLSearchParams(form) }, { origin: new URL(url).origin }),
    set,
    async follow(url, stopAt = /\/console\/(?!login)/) {
      for (let left = MOST_STEPS, at = url; left > 0; left -= 1) {
        const response = await get(at);
        const next = response.headers.get('location');
        if (next === null) throw new Error(`${at} answers ${response.status}: ${await response.text()}`);
        at = new URL(next, at).href;
        if (stopAt.test(at)) return at;
      }
      throw new Error('redirects without end');
    },
    cookie: (name) => [...jars.values()].flatMap((jar) => [...jar]).find(([each]) => name.test(each)),
    put: (name, value, url) => void jarOf(url).set(name, value),
  };
}
