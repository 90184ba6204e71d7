// The login of a caller at a server, in a browser: sign in here, confirm for whom it is stored, log in there, come back.
// Must never store a login for another caller than the one who began it in this browser and confirmed it.
import { randomBytes, randomUUID } from 'node:crypto';
import type { Audit } from '../../http/access/audit.ts';
import { digestOf, sameDigest } from '../../http/access/key-text.ts';
import { LOGIN_MS } from '../../http/access/login-seal.ts';
import type { OidcLogin } from '../../http/access/oidc.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { ApiReply, ApiRequest } from '../../http/app.ts';
import { isSameOrigin, loginCookie, secretIn } from '../../http/session-cookie.ts';
import { challengeOf } from '../../mcp/oauth/challenge.ts';
import { beginLogin, finishLogin, type KeptLogin } from '../../mcp/oauth/interactive-login.ts';
import type { Login } from '../../mcp/oauth/login.ts';
import { loginFailureOf } from '../../mcp/oauth/login-failure.ts';
import type { Seal } from '../../mcp/oauth/seal.ts';
import type { Account, Holders } from '../host-login/holder.ts';
import { answer } from '../host-login/page.ts';
import type { HostRecords } from '../host-login/records.ts';
import { accountOfPrincipal, actorOfPrincipal } from './own-logins.ts';
import type { LoginPlace, PersonalLogins, PersonalServer } from './logins.ts';
import { confirmPage, endPage, loginUrl, onwardPage, PATH, type ShownServer, signInPage } from './pages.ts';

export interface LoginParts {
  readonly publicUrl: string;
  readonly logins: PersonalLogins;
  readonly records: Pick<HostRecords, 'put' | 'get' | 'remove' | 'isSpare'>;
  readonly holders: Holders;
  readonly seal: Seal;
  readonly audit: Pick<Audit, 'note'>;
  /** A login at the issuer of `access.oidc`; null: people have keys alone. */
  readonly issuer: { readonly oidc: OidcLogin; readonly name: string } | null;
  /** A login was stored: the calls that wait for it continue. */
  readonly onStored: (place: LoginPlace) => Promise<void>;
}

/** A person who has signed in, with the cookie that says so. */
interface SignedIn {
  readonly secret: string;
  readonly principal: Principal;
  readonly account: string;
}

interface Begun {
  readonly server: string;
  readonly account: string;
  /** Digest of the cookie of the browser that began it. */
  readonly browser: string;
  readonly kept: KeptLogin;
}

/** How long a person may take. */
export const LASTS_MS = 600_000;

/** The browser takes the first from this host alone, and from no other one of its domain. */
const COOKIES = { secure: '__Host-adjutant_upstream_person', plain: 'adjutant_upstream_person' };
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const RETURN = /^\/login\/upstream\/(?<server>[^/?]{1,256})$/;
const ANSWER_MS = 30_000;
const NOT_BEGUN = 'It was not begun in this browser within the last ten minutes, or it has ended.';
/** The use of the seal. */
const SEALED = `${PATH}/callback`;

export type LoginPages = ReturnType<typeof createLoginPages>;

export function createLoginPages(parts: LoginParts) {
  const { publicUrl, logins, records, holders, seal, audit, issuer, onStored } = parts;
  const isSecure = publicUrl.startsWith('https:');
  const name = isSecure ? COOKIES.secure : COOKIES.plain;
  // One address a server: an answer that is meant for another server is not taken, although its issuer sends no `iss` (RFC 9700, 4.4.2).
  const redirectUrlOf = (server: string): string => `${loginUrl(publicUrl, server)}/callback`;

  async function signedIn(request: ApiRequest): Promise<SignedIn | null> {
    const secret = secretIn(request, name);
    const text = secret === null ? null : await records.get('person', secret);
    const principal = text === null ? null : await holders.principalOf(text);
    if (secret === null || principal === null) return null;
    return { secret, principal, account: accountOfPrincipal(principal) };
  }

  /** The cookie of a person who has signed in. */
  async function signIn(account: Account): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    await records.put('person', secret, account, LASTS_MS);
    return cookie(secret, LASTS_MS / 1_000);
  }

  function cookie(secret: string, seconds: number): string {
    const place = isSecure ? 'Path=/; Secure' : `Path=${PATH}`;
    return `${name}=${secret}; ${place}; Max-Age=${seconds}; HttpOnly; SameSite=Lax`;
  }

  function shown({ name, transport }: PersonalServer): ShownServer {
    return { name, host: new URL(transport.url).host, action: new URL(loginUrl(publicUrl, name)).pathname };
  }

  async function show(request: ApiRequest, reply: ApiReply, fault: string | null = null): Promise<ApiReply> {
    const server = serverOf(request);
    if (server === undefined) return answer(reply, endPage('Unknown server', NO_SERVER), 404);
    const person = await signedIn(request);
    if (person === null)
      return answer(
        reply,
        signInPage(shown(server), issuer?.name ?? null, fault),
        fault === null ? 200 : 401,
      );
    const { principal, account } = person;
    const stored = await logins.read({ account, server: server.name });
    const { name, id, tenant } = principal;
    const proof = proofOf(person, server);
    const about = { server: shown(server), person: name, id, tenant, proof, hasLogin: stored !== null };
    return answer(reply, confirmPage(about));
  }

  function serverOf({ params }: ApiRequest): PersonalServer | undefined {
    return logins.servers.get((params as { server: string }).server);
  }

  async function act(request: ApiRequest, reply: ApiReply): Promise<ApiReply> {
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    const server = serverOf(request);
    if (server === undefined) return answer(reply, endPage('Unknown server', NO_SERVER), 404);
    if (!isSameOrigin(request.headers)) return answer(reply, endPage('Login refused', NOT_BEGUN), 403);
    const { action } = shown(server);
    const what = form.get('act');
    if (what === 'key') {
      const text = (form.get('key') ?? '').trim();
      const account = (await holders.ofToken(text)) ?? (await holders.ofKey(text));
      if (account === null)
        return show(request, reply, 'The key or token is not known here; or it was revoked, or has expired.');
      return reply.header('set-cookie', await signIn(account)).redirect(action, 303);
    }
    const person = await signedIn(request);
    if (person === null || !isProven(form.get('proof'), person, server))
      return answer(reply, endPage('Login refused', NOT_BEGUN), 403);
    if (what === 'begin') return begin(reply, person, server);
    await records.remove('person', person.secret);
    if (what === 'leave') return reply.header('set-cookie', cookie('', 0)).redirect(action, 303);
    await logins.storeOf(person.account).remove(server.name);
    await audit.note(person.principal, 'sign_out', { target: server.name });
    return answer(reply, endPage('Login forgotten', `No call acts for you at ${server.name} any more.`));
  }

  /** Sends the browser to the authorization server of the server. */
  async function begin(reply: ApiReply, person: SignedIn, server: PersonalServer): Promise<ApiReply> {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const { name, transport } = server;
    try {
      const { challenge } = await challengeOf(server, signal);
      const asked = {
        transport,
        redirectUrl: redirectUrlOf(name),
        scopes: [],
        before: null,
        challenge,
        signal,
        now: Date.now,
      };
      const begun = await beginLogin(asked);
      const { account, secret } = person;
      const kept: Begun = { server: name, account, browser: digestOf(secret), kept: begun.kept() };
      await records.put('begun', begun.state, seal.seal(JSON.stringify(kept), SEALED), LASTS_MS);
      return await answer(reply, onwardPage(begun.url.href));
    } catch (error) {
      return failed(reply, error, name);
    }
  }

  function failed(reply: ApiReply, error: unknown, server: string): ApiReply {
    const { what } = loginFailureOf(error, server);
    return answer(reply, endPage('Login failed', `${what} Open the link again to repeat the login.`), 502);
  }

  async function finish(request: ApiRequest, reply: ApiReply): Promise<ApiReply> {
    const params = new URLSearchParams(request.url.split('?', 2)[1] ?? '');
    const state = params.get('state') ?? '';
    const person = await signedIn(request);
    const begun = await begunAs(state);
    // @guard same-browser
    const isSame = begun !== null && person !== null && sameDigest(begun.browser, digestOf(person.secret));
    const server = serverOf(request);
    // @guard same-server
    const isOfServer = server !== undefined && server.name === begun?.server;
    // @guard same-account
    if (!isSame || !isOfServer || person.account !== begun.account)
      return answer(reply, endPage('Login refused', NOT_BEGUN), 403);
    // @guard code-once +1
    if (!(await records.remove('begun', state)))
      return answer(reply, endPage('Login refused', NOT_BEGUN), 403);
    const { account } = person;
    const { name, transport } = server;
    const signal = AbortSignal.timeout(ANSWER_MS);
    try {
      const asked = { transport, redirectUrl: redirectUrlOf(name), signal, now: Date.now };
      const login = await finishLogin(asked, begun.kept, params);
      if (!(await store(person, name, login)))
        return await answer(reply, endPage('Login refused', KEY_ENDED), 403);
    } catch (error) {
      return failed(reply, error, name);
    }
    await records.remove('person', person.secret);
    await audit.note(person.principal, 'sign_in', { target: name });
    await onStored({ account, server: name });
    const text = `Calls and runs of ${person.principal.name} act for you at ${name} from now on; those that waited continue. You can close this page.`;
    return answer(reply, endPage('Logged in', text));
  }

  /** false: the caller counts no longer, perhaps since the server was asked. */
  async function store({ principal, account }: SignedIn, server: string, login: Login): Promise<boolean> {
    const actor = actorOfPrincipal(principal);
    const place = logins.storeOf(account);
    await place.put(server, { version: randomUUID(), login }, await logins.endOf(actor));
    // Asked afterwards: a revocation from now on removes the login.
    // @guard key-counts
    if ((await logins.callerFault(principal.tenant, actor)) === null) return true;
    await place.remove(server);
    return false;
  }

  async function begunAs(state: string): Promise<Begun | null> {
    const sealed = SECRET.test(state) ? await records.get('begun', state) : null;
    const text = sealed === null ? null : seal.open(sealed, SEALED);
    return text === null ? null : (JSON.parse(text) as Begun);
  }

  return {
    show: async (request: ApiRequest, reply: ApiReply) => show(request, reply),
    act,
    finish,
    async toIssuer(request: ApiRequest, reply: ApiReply): Promise<ApiReply> {
      const server = serverOf(request);
      if (server === undefined || issuer === null)
        return answer(reply, endPage('Unknown server', NO_SERVER), 404);
      const { sealed, url } = await issuer.oidc.begin(shown(server).action);
      const left = loginCookie(request, sealed, LOGIN_MS, isSecure);
      return reply.headers({ 'set-cookie': left, 'cache-control': 'no-store' }).redirect(url, 303);
    },
    /** The cookie for a person who comes back from the issuer; null: the login was for something else. */
    async fromIssuer(returnTo: string, principal: Principal): Promise<string | null> {
      return RETURN.test(returnTo) ? signIn(holders.ofPerson(principal)) : null;
    },
    isSpare: async (address: string): Promise<boolean> => records.isSpare('login', address, MOST_IN_MINUTE),
  };
}

const KEY_ENDED = 'The key or token that you have signed in with counts no longer.';
const NO_SERVER = 'No server of this name asks callers for logins.';
const MOST_IN_MINUTE = { all: 300, address: 150 };

/** A text that a page of this browser holds, and no other page can. */
function proofOf({ secret }: SignedIn, { name }: PersonalServer): string {
  return digestOf(`upstream:${name}:${secret}`);
}

function isProven(given: string | null, person: SignedIn, server: PersonalServer): boolean {
  return given !== null && /^[0-9a-f]{64}$/.test(given) && sameDigest(given, proofOf(person, server));
}
