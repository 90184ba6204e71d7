// The authorization server of hosts: the library `oidc-provider`, with this service's records, people and resources.
// Must never be loaded before a host asks, nor give a token for another resource than `/mcp`.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { digestOf } from '../../http/access/key-text.ts';
import { KEY_MARK } from '../../contract/access/access.ts';
import { asError } from '../../platform/lifecycle.ts';
import { isRedisAway, whyAway } from '../../platform/redis/unavailable.ts';
import { createDocumentFetch, type DocumentRules } from './client-metadata.ts';
import { accountEnd, type Holders } from './holder.ts';
import { errorPage, PAGE_HEADERS } from './page.ts';
import { type HostRecords, type RecordAdapter, UseRefused } from './records.ts';

export const PATHS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
  keys: '/oauth/jwks',
  interaction: '/oauth/interaction',
} as const;

export interface ServerRules {
  /** Scheme, host and port: the issuer, and the beginning of each resource. */
  readonly publicUrl: string;
  readonly scopes: readonly string[];
  readonly tokenMs: number;
  readonly documents: DocumentRules;
}

export interface ServerParts {
  readonly rules: ServerRules;
  readonly records: HostRecords;
  readonly holders: Holders;
  /** The secret that all processes of the installation share. */
  readonly secret: () => Promise<string>;
  /** A fault of this service, for the log. */
  readonly onError: (error: Error) => void;
}

export interface LoadedServer {
  readonly provider: Provider;
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
}

const OK = 200;
const SERVER_ERROR = 500;
const CODE_S = 60;
/** Time to sign in and to consent. */
export const INTERACTION_S = 600;
/** The longest that an assertion of a host may be valid: it leaves a record until its end. */
const LONGEST_ASSERTION_S = 900;
const DOCUMENT_CACHE = { min: 60, max: 3_600 };

/** A text that is hidden in logs as API keys are, and is none. */
function tokenText(mark: 'host' | 'renew'): string {
  return `${KEY_MARK}${randomBytes(6).toString('hex')}_${mark}_${randomBytes(32).toString('base64url')}`;
}

const ACCESS_TOKEN = new RegExp(`^${KEY_MARK}[0-9a-f]{12}_host_[A-Za-z0-9_-]{43}$`);

export function isAccessToken(text: string): boolean {
  return ACCESS_TOKEN.test(text);
}

/** The canonical resource of an address that a host names; null: it is no resource of this service. */
export function resourceOf(publicUrl: string, address: string): string | null {
  const { origin, pathname } = URL.parse(address) ?? { origin: '', pathname: '' };
  const path = /^\/mcp(?:\/[^/]{1,256})?(?=\/?$)/.exec(pathname)?.[0];
  return origin === publicUrl && path !== undefined ? publicUrl + path : null;
}

/** The library is loaded at the first request of a host. */
export function createAuthorizationServer(parts: ServerParts): () => Promise<LoadedServer> {
  let loaded: Promise<LoadedServer> | undefined;
  return async () => {
    loaded ??= load(parts).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  };
}

async function load(parts: ServerParts): Promise<LoadedServer> {
  const library = await import('oidc-provider');
  const secret = digestOf(`hosts\n${await parts.secret()}`);
  const provider = new library.Provider(parts.rules.publicUrl, configuration(parts, library, secret));
  // Behind the service's own request, which says where the service is: see `innerRequest`.
  provider.proxy = true;
  provider.AccessToken.prototype.generateTokenId = function opaque() {
    this.format = 'opaque';
    return tokenText('host');
  };
  provider.RefreshToken.prototype.generateTokenId = () => tokenText('renew');
  provider.use(async (context, next) => {
    await next();
    const rotated = context.oidc?.entities.RotatedRefreshToken;
    if (rotated === undefined || context.status !== OK) return;
    try {
      // Before the answer: until then the host cannot have it, and may ask again.
      await parts.records.answered(rotated.jti);
    } catch (error) {
      if (!isRedisAway(error)) parts.onError(asError(error));
      Object.assign(context, unavailable(error));
    }
  });
  provider.on('server_error', (context, error) => {
    if (!isRedisAway(error)) return parts.onError(error);
    if (context.status === SERVER_ERROR) Object.assign(context, unavailable(error));
  });
  return { provider, answer: provider.callback() };
}

/** The answer where a host may try again later. */
function unavailable(error: unknown): { status: number; body: object } {
  const why = isRedisAway(error) ? whyAway(asError(error)) : 'the service could not note the answer';
  return { status: 503, body: { error: 'temporarily_unavailable', error_description: why } };
}

type Library = typeof import('oidc-provider');

function configuration({ rules, records, holders }: ServerParts, library: Library, secret: string): object {
  const { publicUrl, scopes, tokenMs, documents } = rules;
  const endS = (_context: unknown, { accountId }: { accountId?: string }): number =>
    Math.max(1, Math.floor((accountEnd(accountId) - Date.now()) / 1_000));
  return {
    adapter: (kind: string) => refusing(records.adapter(kind), library),
    // Origins of hosts in browsers are those of `/mcp`: the API allows them before this.
    clientBasedCORS: () => false,
    clientAuthMethods: ['none', 'private_key_jwt'],
    assertJwtClientAuthClaimsAndHeader: (_context: unknown, { exp }: { exp: number }) => {
      if (exp <= Date.now() / 1_000 + LONGEST_ASSERTION_S) return;
      throw new library.errors.InvalidClientAuth(
        `an assertion is valid for ${LONGEST_ASSERTION_S} s at most`,
      );
    },
    cookies: {
      keys: [secret],
      names: { session: 'adjutant_host', interaction: 'adjutant_host_login', resume: 'adjutant_host_back' },
    },
    jwks: { keys: [signingKey()] },
    responseTypes: ['code'],
    scopes: [],
    claims: {},
    pkce: { required: () => true },
    fetch: createDocumentFetch(documents),
    findAccount: async (_context: unknown, accountId: string) =>
      (await holders.principalOf(accountId)) === null
        ? undefined
        : { accountId, claims: () => ({ sub: accountId }) },
    expiresWithSession: () => false,
    issueRefreshToken: () => true,
    rotateRefreshToken: () => true,
    ttl: {
      AccessToken: (context: unknown, token: { accountId?: string }) =>
        Math.max(1, Math.min(Math.floor(tokenMs / 1_000), endS(context, token))),
      AuthorizationCode: CODE_S,
      Grant: endS,
      RefreshToken: endS,
      Interaction: INTERACTION_S,
      Session: INTERACTION_S,
    },
    routes: {
      authorization: PATHS.authorize,
      token: PATHS.token,
      registration: PATHS.register,
      revocation: PATHS.revoke,
      jwks: PATHS.keys,
    },
    interactions: {
      url: (_context: unknown, { uid }: { uid: string }) => `${PATHS.interaction}/${uid}`,
      policy: alwaysAsking(library),
    },
    // Each login asks anew: nothing that was granted before is taken for granted.
    loadExistingGrant: async (context: GrantContext) => {
      const { result, provider } = context.oidc;
      const id = result?.consent?.grantId;
      return id === undefined ? undefined : provider.Grant.find(id);
    },
    renderError: (context: ErrorContext, { error, error_description: text }: Record<string, string>) => {
      context.type = 'html';
      context.set(PAGE_HEADERS);
      context.body = errorPage(`${text ?? error ?? 'The login failed'}.`);
    },
    features: features({ publicUrl, scopes, tokenMs }, library),
  };
}

interface GrantContext {
  readonly oidc: {
    readonly result?: { consent?: { grantId?: string } };
    readonly provider: { Grant: { find(id: string): Promise<unknown> } };
  };
}

interface ErrorContext {
  type: string;
  body: unknown;
  set(headers: object): void;
}

function features(
  { publicUrl, scopes, tokenMs }: Pick<ServerRules, 'publicUrl' | 'scopes' | 'tokenMs'>,
  { errors }: Library,
): object {
  return {
    devInteractions: { enabled: false },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
    registration: { enabled: true, issueRegistrationAccessToken: false },
    revocation: {
      enabled: true,
      allowedPolicy: (_context: unknown, client: { clientId: string }, token: { clientId?: string }) =>
        token.clientId === client.clientId,
    },
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02', cacheDuration: DOCUMENT_CACHE },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => `${publicUrl}/mcp`,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context: unknown, resource: string) => {
        if (resourceOf(publicUrl, resource) !== resource)
          throw new errors.InvalidTarget(`the resource is ${publicUrl}/mcp`);
        return {
          scope: scopes.join(' '),
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: Math.floor(tokenMs / 1_000),
        };
      },
    },
  };
}

/** Nothing is signed with it: tokens are opaque. The library asks for one. */
function signingKey(): object {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' };
}

/** A cookie that is left from the login before never signs a person in. */
function alwaysAsking({ interactionPolicy: { base, Check } }: Library): unknown {
  const policy = base();
  policy
    .get('login')
    .checks.add(
      new Check(
        'each_login',
        'each login asks who consents',
        'login_required',
        ({ oidc }) => !oidc.result?.login,
      ),
    );
  return policy;
}

/** Refusals of the records as errors of the protocol. */
function refusing(adapter: RecordAdapter, { errors }: Library): RecordAdapter {
  return {
    ...adapter,
    async consume(id) {
      try {
        await adapter.consume(id);
      } catch (error) {
        if (!(error instanceof UseRefused)) throw error;
        if (error.isForNow) throw new errors.TemporarilyUnavailable(error.message);
        throw new errors.InvalidGrant(error.message);
      }
    },
  };
}
