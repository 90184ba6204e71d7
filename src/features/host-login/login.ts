// The part of a login that a person sees: sign in with a key or at the issuer, then allow or deny.
// Must never let a browser consent that has not both begun this login and signed in for it.
import { randomBytes } from 'node:crypto';
import type { Client, Interaction } from 'oidc-provider';
import type { Audit } from '../../http/access/audit.ts';
import { digestOf, sameDigest } from '../../http/access/key-text.ts';
import type { OidcLogin } from '../../http/access/oidc.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { ApiReply, ApiRequest } from '../../http/app.ts';
import { isSameOrigin, loginCookie, secretIn } from '../../http/session-cookie.ts';
import { LOGIN_MS } from '../../http/access/login-seal.ts';
import { isRedisAway } from '../../platform/redis/unavailable.ts';
import { INTERACTION_S, type LoadedServer, PATHS } from './authorization-server.ts';
import { type Account, accountEnd, type Holders } from './holder.ts';
import { innerRequest } from './inner-request.ts';
import { answer, consentPage, errorPage, onwardPage, type ShownHost, signInPage } from './page.ts';
import type { HostRecords } from './records.ts';

export interface HostLoginParts {
  readonly publicUrl: string;
  readonly server: () => Promise<LoadedServer>;
  readonly records: HostRecords;
  readonly holders: Holders;
  readonly audit: Pick<Audit, 'note'>;
  /** Names of the tools that the principal may use. */
  readonly toolsOf: (principal: Principal) => Promise<readonly string[]>;
  /** A login at the issuer of `access.oidc`; null: people have keys alone. */
  readonly issuer: { readonly oidc: OidcLogin; readonly name: string } | null;
}

/** A person who has signed in for one login, with the cookie that says so. */
interface SignedIn {
  readonly secret: string;
  readonly account: Account;
  readonly principal: Principal;
}

interface OpenLogin {
  readonly interaction: Interaction;
  readonly client: Client;
  readonly host: ShownHost;
  readonly action: string;
}

export type HostLoginPages = ReturnType<typeof createHostLoginPages>;

const COOKIE = 'adjutant_host_person';
const RETURN = /^\/oauth\/interaction\/(?<uid>[A-Za-z0-9_-]{10,64})$/;
const MOST_TOOLS = 20;
/** Most logins that one key or person allows in a day: each leaves a record until it ends. */
const MOST_ALLOWED = 200;
const DAY_MS = 86_400_000;
const EXPIRED = 'It was not begun in this browser within the last ten minutes, or it has ended.';

export function createHostLoginPages(parts: HostLoginParts) {
  const { publicUrl, server, records, holders, audit, toolsOf, issuer } = parts;
  const isSecure = publicUrl.startsWith('https:');

  /** The login that this browser has begun; null: none. */
  async function opened(request: ApiRequest, reply: ApiReply): Promise<OpenLogin | null> {
    const { provider } = await server();
    const { uid } = request.params as { uid: string };
    const interaction = await provider
      .interactionDetails(innerRequest(request, { publicUrl }), reply.raw)
      .catch(unlessRedisIsAway);
    if (interaction === null || interaction.uid !== uid) return null;
    const client = await provider.Client.find(interaction.params.client_id).catch(unlessRedisIsAway);
    if (client === undefined || client === null) return null;
    const document = client.clientId.startsWith('https://') ? client.clientId : null;
    const redirect = interaction.params.redirect_uri;
    const host = { name: client.clientName ?? '', document, redirect };
    return { interaction, client, host, action: `${PATHS.interaction}/${uid}` };
  }

  async function signedIn(request: ApiRequest, uid: string): Promise<SignedIn | null> {
    const secret = secretIn(request, COOKIE);
    const text = secret === null ? null : await records.get('person', secret);
    if (secret === null || text === null) return null;
    const [forUid, account] = JSON.parse(text) as [string, Account];
    const principal = forUid === uid ? await holders.principalOf(account) : null;
    return principal === null ? null : { secret, account, principal };
  }

  /** The cookie of a person who has signed in for the login `uid`. */
  async function signIn(uid: string, account: Account): Promise<string> {
    const secret = randomBytes(32).toString('base64url');
    await records.put('person', secret, JSON.stringify([uid, account]), INTERACTION_S * 1_000);
    const path = `${PATHS.interaction}/${uid}`;
    const end = isSecure ? '; Secure' : '';
    return `${COOKIE}=${secret}; Path=${path}; Max-Age=${INTERACTION_S}; HttpOnly; SameSite=Lax${end}`;
  }

  async function show(request: ApiRequest, reply: ApiReply, fault: string | null = null) {
    const login = await opened(request, reply);
    if (login === null) return answer(reply, errorPage(EXPIRED), 400);
    const person = await signedIn(request, login.interaction.uid);
    const { host, action } = login;
    if (person === null)
      return answer(
        reply,
        signInPage({ host, action, issuer: issuer?.name ?? null, fault }),
        fault ? 401 : 200,
      );
    const { name, tenant } = person.principal;
    const scopes = grantable(login, person.principal).granted;
    if (scopes.length === 0)
      return answer(reply, errorPage(`“${name}” has none of the scopes that a host may have here.`), 403);
    const shown = {
      host,
      action,
      proof: proofOf(person),
      person: name,
      tenant,
      scopes,
      tools: await shownTools(login, person.principal),
      until: new Date(accountEnd(person.account)).toUTCString(),
    };
    return answer(reply, consentPage(shown));
  }

  async function shownTools({ interaction }: OpenLogin, principal: Principal): Promise<string> {
    const [, server] = /\/mcp\/([^/]+)$/.exec(interaction.params.resource) ?? [];
    const all = await toolsOf(principal);
    const names = all.filter((name) => server === undefined || name.startsWith(`${server}.`));
    const more = names.length - MOST_TOOLS;
    const shown = names.slice(0, MOST_TOOLS).join(', ') || 'none now';
    return `${shown}${more > 0 ? `, and ${more} more` : ''}; also those that are added later`;
  }

  async function act(request: ApiRequest, reply: ApiReply) {
    const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
    const login = await opened(request, reply);
    if (login === null) return answer(reply, errorPage(EXPIRED), 400);
    // The cookies of a login are not sent by a form of another site; this holds where a browser is older.
    if (!isSameOrigin(request.headers)) return answer(reply, errorPage(EXPIRED), 403);
    const { uid } = login.interaction;
    const what = form.get('act');
    if (what === 'deny') return onward(request, reply, { error: 'access_denied' });
    if (what === 'key') {
      const account = await holders.ofKey((form.get('key') ?? '').trim());
      if (account === null)
        return show(request, reply, 'The key is not known here; or it was revoked, or has expired.');
      return reply.header('set-cookie', await signIn(uid, account)).redirect(login.action, 303);
    }
    const person = await signedIn(request, uid);
    const proof = form.get('proof') ?? '';
    const isProven = person !== null && /^[0-9a-f]{64}$/.test(proof) && sameDigest(proof, proofOf(person));
    if (what !== 'allow' || !isProven) return answer(reply, errorPage(EXPIRED), 403);
    return allow(request, reply, { login, person });
  }

  async function allow(
    request: ApiRequest,
    reply: ApiReply,
    { login, person }: { login: OpenLogin; person: SignedIn },
  ) {
    const { account, principal, secret } = person;
    const { clientId } = login.client;
    const { granted, rest } = grantable(login, principal);
    if (granted.length === 0) return answer(reply, errorPage('Nothing is left to allow.'), 403);
    if (!(await records.within(`allow:${digestOf(principal.id)}`, MOST_ALLOWED, DAY_MS)))
      return answer(reply, errorPage('Too many hosts were allowed within a day.'), 429);
    const { provider } = await server();
    // First what ends by itself: a death between leaves a client without a login.
    await records.keepClient(clientId, accountEnd(account));
    const grant = new provider.Grant({ accountId: account, clientId });
    const resource = login.interaction.params.resource;
    grant.addResourceScope(resource, granted.join(' '));
    if (rest.length > 0) grant.rejectResourceScope(resource, rest.join(' '));
    const grantId = await grant.save();
    await records.remove('person', secret);
    await audit.note(principal, 'sign_in', { target: new URL(login.host.redirect).host || clientId });
    return onward(request, reply, { login: { accountId: account, remember: false }, consent: { grantId } });
  }

  async function onward(request: ApiRequest, reply: ApiReply, result: object) {
    const { provider } = await server();
    const url = await provider.interactionResult(innerRequest(request, { publicUrl }), reply.raw, result);
    return answer(reply, onwardPage(url));
  }

  return {
    show: async (request: ApiRequest, reply: ApiReply) => show(request, reply),
    act,
    /** Sends the browser to the issuer; only one that has begun this login. */
    async toIssuer(request: ApiRequest, reply: ApiReply) {
      const login = issuer === null ? null : await opened(request, reply);
      if (login === null || issuer === null) return answer(reply, errorPage(EXPIRED), 400);
      const { sealed, url } = await issuer.oidc.begin(login.action);
      const cookie = loginCookie(request, sealed, LOGIN_MS, isSecure);
      return reply.headers({ 'set-cookie': cookie, 'cache-control': 'no-store' }).redirect(url, 303);
    },
    /** The cookie for a person who comes back from the issuer; null: the login was not for a host. */
    async fromIssuer(returnTo: string, principal: Principal): Promise<string | null> {
      const uid = RETURN.exec(returnTo)?.groups?.['uid'];
      return uid === undefined ? null : signIn(uid, holders.ofPerson(principal));
    },
  };
}

/** Another error means that the login has ended, or that the host is not described any more. */
function unlessRedisIsAway(error: unknown): null {
  if (isRedisAway(error)) throw error;
  return null;
}

/** Never more than the principal has. */
function grantable({ interaction }: OpenLogin, { scopes }: Principal) {
  const asked = interaction.params.scope.split(' ');
  return {
    granted: asked.filter((each) => scopes.has(each)),
    rest: asked.filter((each) => !scopes.has(each)),
  };
}

/** A text that a page of this login holds, and no other page can. */
function proofOf({ secret }: SignedIn): string {
  return digestOf(`consent:${secret}`);
}
