/** One login of a person: from what the server asks for to the address to open, and from the answer to a stored login.
 *  It must never reuse an old token or client: a strict authorization server binds them to what was asked before. */
import { randomBytes } from 'node:crypto';
import {
  auth as authorize,
  computeScopeUnion,
  type FetchLike,
  type OAuthClientInformationContext,
  type OAuthClientMetadata,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { HttpTransportOptions, OAuthOptions } from '../server-options.ts';
import { createAuthFetch, requireReachable, withSlash } from './auth-fetch.ts';
import { endpointsSchema, isSameIssuer, type Login } from './login.ts';
import { LoginFault } from './login-fault.ts';
import { loginOf } from './login-tokens.ts';
import { type Challenge, signedClient } from './renewal.ts';

export interface LoginRequest {
  readonly transport: HttpTransportOptions & { readonly auth: OAuthOptions };
  /** Where the browser comes back to. */
  readonly redirectUrl: string;
  /** Asked for beside those of the configuration and of the login before. */
  readonly scopes: readonly string[];
  /** null: no login. */
  readonly before: Login | null;
  readonly challenge: Challenge;
  /** Ends everything. */
  readonly signal: AbortSignal;
  readonly now: () => number;
}

/** A login that has begun, as it is kept until the browser comes back. It has secrets. */
export type KeptLogin = Readonly<{
  state: string;
  client: StoredOAuthClientInformation | undefined;
  discovery: OAuthDiscoveryState | undefined;
  verifier: string;
  address: string;
  resource: string | null;
  resourceMetadataUrl: string | null;
}>;

export interface BegunLogin {
  /** For the browser. */
  readonly url: URL;
  readonly issuer: string;
  readonly state: string;
  /** All parameters of the address that the browser came back to; `state` is compared before. Rejects. */
  finish(params: URLSearchParams): Promise<Login>;
  /** For `finishLogin` in another process. */
  kept(): KeptLogin;
}

/** `finish` of a login that perhaps another process has begun. Rejects as `finish` does. */
export async function finishLogin(
  request: Omit<LoginRequest, 'scopes' | 'before' | 'challenge'>,
  kept: KeptLogin,
  params: URLSearchParams,
): Promise<Login> {
  const { transport, signal } = request;
  const { url: serverUrl, auth } = transport;
  const { resourceMetadataUrl: metadata } = kept;
  const challenge = { resourceMetadataUrl: metadata === null ? undefined : new URL(metadata) };
  const flow = new LoginFlow({ ...request, scopes: [], before: null, challenge }, kept);
  return flow.finish(params, createAuthFetch({ serverUrl, issuer: auth.issuer, signal }));
}

/** Rejects with what the SDK, the network or the rules about addresses say. */
export async function beginLogin(request: LoginRequest): Promise<BegunLogin> {
  const { transport, challenge, signal } = request;
  const { url: serverUrl, auth } = transport;
  const fetchFn = createAuthFetch({ serverUrl, issuer: auth.issuer, signal });
  const flow = new LoginFlow(request);
  const scope = scopeOf(request);
  const { resourceMetadataUrl } = challenge;
  await authorize(flow, {
    serverUrl: withSlash(serverUrl),
    fetchFn,
    forceReauthorization: true,
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  });
  const url = flow.address();
  await requireReachable(url, { serverUrl, issuer: auth.issuer, signal });
  return {
    url,
    issuer: flow.issuer(),
    state: flow.state(),
    finish: (params) => flow.finish(params, fetchFn),
    kept: () => flow.kept(),
  };
}

/** Never less than before: a server that lacks one scope still needs the others. */
function scopeOf({ transport: { auth, url }, scopes, before, challenge }: LoginRequest): string | undefined {
  const asked = auth.scopes.length > 0 ? auth.scopes.join(' ') : challenge.scope;
  const known = before?.serverUrl === url ? (before.scope ?? undefined) : undefined;
  return computeScopeUnion(asked, known, scopes.join(' '));
}

class LoginFlow implements OAuthClientProvider {
  readonly #request: LoginRequest;
  readonly #state: string;
  readonly addClientAuthentication?: NonNullable<OAuthClientProvider['addClientAuthentication']>;
  #client: StoredOAuthClientInformation | undefined;
  #tokens: StoredOAuthTokens | undefined;
  #discovery: OAuthDiscoveryState | undefined;
  #verifier = '';
  #address: URL | null = null;
  #resource: string | null = null;

  /** `kept`: of the process that began it. Default: it begins. */
  constructor(request: LoginRequest, kept: KeptLogin | null = null) {
    this.#request = request;
    this.#state = kept?.state ?? randomBytes(32).toString('base64url');
    if (kept !== null) {
      this.#discovery = kept.discovery;
      this.#verifier = kept.verifier;
      this.#address = new URL(kept.address);
      this.#resource = kept.resource;
      this.#client = kept.client;
    }
    const { clientId, clientSecret, privateKey, issuer } = request.transport.auth;
    if (clientId === undefined) return;
    const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
    this.#client = { client_id: clientId, ...secret, ...(issuer === undefined ? {} : { issuer }) };
    if (privateKey !== undefined) this.addClientAuthentication = signedClient(clientId, privateKey);
  }

  kept(): KeptLogin {
    return {
      state: this.#state,
      // The secret of the configuration stays there.
      client: this.#request.transport.auth.clientId === undefined ? this.#client : undefined,
      discovery: this.#discovery,
      verifier: this.#verifier,
      address: this.address().href,
      resource: this.#resource,
      resourceMetadataUrl: this.#request.challenge.resourceMetadataUrl?.href ?? null,
    };
  }

  get redirectUrl(): string {
    return this.#request.redirectUrl;
  }

  get clientMetadataUrl(): string {
    return this.#request.transport.auth.clientMetadataUrl ?? '';
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Adjutant',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    };
  }

  state(): string {
    return this.#state;
  }

  /** A client of the configuration without an issuer belongs to the one that the person sees and consents to. */
  clientInformation(context?: OAuthClientInformationContext): StoredOAuthClientInformation | undefined {
    const client = this.#client;
    return client === undefined || context === undefined || client.issuer !== undefined
      ? client
      : { ...client, issuer: context.issuer };
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  tokens(): undefined {
    return undefined;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  redirectToAuthorization(address: URL): void {
    this.#address = address;
  }

  /** Before any registration: nothing goes to an issuer that the operator has not named. */
  saveDiscoveryState(discovery: OAuthDiscoveryState): void {
    this.#discovery = discovery;
    const { issuer } = this.#request.transport.auth;
    if (issuer !== undefined && !isSameIssuer(issuer, this.issuer()))
      throw new LoginFault('auth', 'the server names another issuer than the configuration');
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  saveResourceUrl(resource: string): void {
    this.#resource = resource;
  }

  issuer(): string {
    const { authorizationServerMetadata, authorizationServerUrl = '' } = this.#discovery ?? {};
    return authorizationServerMetadata?.issuer ?? authorizationServerUrl;
  }

  address(): URL {
    if (this.#address === null)
      throw new LoginFault('auth', 'the authorization server names no address to log in at');
    return this.#address;
  }

  async finish(params: URLSearchParams, fetchFn: FetchLike): Promise<Login> {
    const { transport } = this.#request;
    const answer = new URLSearchParams(params);
    const iss = answer.get('iss');
    if (iss !== null && isSameIssuer(iss, this.issuer())) answer.set('iss', this.issuer());
    await new StreamableHTTPClientTransport(new URL(withSlash(transport.url)), {
      authProvider: this,
      fetch: fetchFn,
    }).finishAuth(answer);
    if (this.#tokens === undefined || this.#client === undefined)
      throw new LoginFault('auth', 'the authorization server gave no token');
    return loginOf({ tokens: this.#tokens, before: this.#begun(this.#client), now: this.#request.now() });
  }

  #begun(client: StoredOAuthClientInformation): Parameters<typeof loginOf>[0]['before'] {
    const { transport, challenge, now } = this.#request;
    const { authorizationServerMetadata: metadata } = this.#discovery ?? {};
    const { client_id, client_secret } = client;
    const method = 'token_endpoint_auth_method' in client ? client.token_endpoint_auth_method : undefined;
    return {
      serverUrl: transport.url,
      issuer: this.issuer(),
      endpoints: metadata === undefined ? null : endpointsSchema.parse(metadata),
      client: {
        client_id,
        // The secret of the configuration stays there.
        ...(client_secret === undefined || transport.auth.clientSecret !== undefined
          ? {}
          : { client_secret }),
        ...(typeof method === 'string' ? { token_endpoint_auth_method: method } : {}),
      },
      resource: this.#resource,
      resourceMetadataUrl: challenge.resourceMetadataUrl?.href ?? null,
      scope: this.address().searchParams.get('scope'),
      account: null,
      loggedInAt: now(),
      refused: null,
    };
  }
}
