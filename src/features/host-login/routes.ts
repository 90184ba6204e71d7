// The routes of the login of hosts: metadata by which they find it, the authorization server, and its pages.
// Must never take an address of this service from a request.
import type { ApiFeature } from '../../http/api.ts';
import type { ApiReply, ApiRequest, App } from '../../http/app.ts';
import { keepHeaders } from '../../http/page-headers.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { hostMetadata, MetadataFault } from './client-metadata.ts';
import { type LoadedServer, PATHS, resourceOf } from './authorization-server.ts';
import { innerRequest } from './inner-request.ts';
import type { HostLoginPages } from './login.ts';
import { answer, errorPage } from './page.ts';
import type { HostRecords } from './records.ts';

export interface HostRoutesOptions {
  readonly publicUrl: string;
  /** The issuer that hosts are sent to. */
  readonly issuer: string;
  readonly scopes: readonly string[];
  /** null: the issuer is another service. */
  readonly own: {
    readonly server: () => Promise<LoadedServer>;
    readonly pages: HostLoginPages;
    readonly records: HostRecords;
  } | null;
}

type Own = NonNullable<HostRoutesOptions['own']>;

const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';
const SERVER_METADATA = '/.well-known/oauth-authorization-server';
/** Some hosts search under the path of the resource, or where OpenID providers have it (claude-ai-mcp 376). */
const SERVER_METADATA_PATHS = [
  SERVER_METADATA,
  `${SERVER_METADATA}/mcp`,
  '/.well-known/openid-configuration',
];
const MINUTE_MS = 60_000;
/** Calls in a minute over all processes; each leaves a record that ends by itself. */
const MOST = {
  register: { all: 300, address: 30 },
  authorize: { all: 240, address: 120 },
  sign_in: { all: 600, address: 300 },
  token: { all: 1_200, address: 600 },
} as const;
const LONGEST_QUERY = 4_096;

export function hostLoginRoutes(options: HostRoutesOptions): ApiFeature {
  return {
    beforeAccess: (app) => challenge(app, options),
    routes(app) {
      resourceMetadata(app, options);
      const { own } = options;
      if (own === null) return;
      get(app, SERVER_METADATA_PATHS, () => serverMetadata(options));
      app.register(async (scope: App) => {
        takeForms(scope);
        serverRoutes(scope, options, own);
        pageRoutes(scope, own);
      });
    },
  };
}

/** An address of `/mcp` itself, or of one of its servers; the runs of other programs are not for hosts. */
const MCP_URL = /^\/mcp(?:\/[^/?]+)?(?=\/?(?:\?|$))/;

/** Tells a host without a valid token where to log in (RFC 9728, section 5.1). */
function challenge(app: App, { publicUrl, scopes, own }: HostRoutesOptions): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    const path = reply.statusCode === 401 ? MCP_URL.exec(request.url)?.[0] : undefined;
    if (path === undefined) return done();
    const fault = request.headers.authorization === undefined ? '' : 'error="invalid_token", ';
    const scope = own === null ? '' : `, scope="${scopes.join(' ')}"`;
    const at = `${publicUrl}${RESOURCE_METADATA}${encodeURI(decoded(path))}`;
    void reply.header('www-authenticate', `Bearer ${fault}resource_metadata="${at}"${scope}`);
    done();
  });
}

/** A path from outside as one that may be in a header. */
function decoded(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : '/mcp';
}

const hidden = { schema: { hide: true }, config: { rule: 'public' } } as const;

function get(app: App, urls: readonly string[], document: (request: ApiRequest) => object): void {
  for (const url of urls)
    app.route({
      ...hidden,
      method: 'GET',
      url,
      handler: async (request: ApiRequest, reply: ApiReply) =>
        reply
          .headers({ 'access-control-allow-origin': '*', 'cache-control': 'max-age=300' })
          .serializer(JSON.stringify)
          .type('application/json')
          .send(document(request)),
    } as never);
}

/** The document without a path is that of `/mcp`: some hosts leave the path out (kernel-mcp-server 91). */
function resourceMetadata(app: App, { publicUrl, issuer, scopes, own }: HostRoutesOptions): void {
  get(
    app,
    ['', '/mcp', '/mcp/:server'].map((path) => RESOURCE_METADATA + path),
    (request) => {
      const { server } = request.params as { server?: string };
      const path = server === undefined ? '/mcp' : `/mcp/${encodeURIComponent(server)}`;
      return {
        resource: publicUrl + path,
        authorization_servers: [issuer],
        ...(own !== null && { scopes_supported: scopes }),
        bearer_methods_supported: ['header'],
        resource_name: 'Adjutant',
      };
    },
  );
}

/** Written here and not by the library, so that reading it loads nothing (RFC 8414). */
function serverMetadata({ publicUrl, scopes }: HostRoutesOptions): object {
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + PATHS.authorize,
    token_endpoint: publicUrl + PATHS.token,
    registration_endpoint: publicUrl + PATHS.register,
    revocation_endpoint: publicUrl + PATHS.revoke,
    jwks_uri: publicUrl + PATHS.keys,
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['ES256', 'RS256', 'PS256', 'EdDSA'],
    revocation_endpoint_auth_methods_supported: ['none', 'private_key_jwt'],
    client_id_metadata_document_supported: true,
    authorization_response_iss_parameter_supported: true,
    // Only for readers that take it for the document of an OpenID provider.
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
}

/** Bodies as text: each route reads its own. */
function takeForms(scope: App): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    ['application/x-www-form-urlencoded', 'application/json'],
    { parseAs: 'string' },
    (_request, body, done) => done(null, body),
  );
}

function serverRoutes(app: App, options: HostRoutesOptions, own: Own): void {
  const { publicUrl } = options;
  const route = (method: 'GET' | 'POST', url: string, handler: Handler): void => {
    app.route({
      ...hidden,
      method,
      url,
      exposeHeadRoute: false,
      handler: async (request: ApiRequest, reply: ApiReply) =>
        whileAvailable(async () => handler(request, reply)),
    } as never);
  };
  const pass: Pass = async (request, reply, inner) => {
    const { answer } = await own.server();
    reply.hijack();
    keepHeaders(reply);
    await answer(innerRequest(request, { publicUrl, ...inner }), reply.raw);
    return reply;
  };

  route('GET', PATHS.authorize, async (request, reply) => {
    if (request.url.length > LONGEST_QUERY) return refusedPage(reply, 'The request is too long', 400);
    if (!(await isSpare(own.records, 'authorize', request.ip))) return refusedPage(reply, BUSY, 429);
    const query = authorizeQuery(request.url, options);
    return pass(request, reply, { url: `${PATHS.authorize}?${query}`, isFresh: true });
  });
  route('GET', `${PATHS.authorize}/:uid`, async (request, reply) => pass(request, reply, {}));
  route('GET', PATHS.keys, async (request, reply) => pass(request, reply, {}));
  route('POST', PATHS.register, async (request, reply) => {
    if (!(await isSpare(own.records, 'register', request.ip)))
      return fault(reply, 429, 'temporarily_unavailable', BUSY);
    try {
      const body = JSON.stringify(hostMetadata(JSON.parse(textOf(request))));
      return await pass(request, reply, { body });
    } catch (error) {
      if (!(error instanceof MetadataFault || error instanceof SyntaxError)) throw error;
      return fault(reply, 400, 'invalid_client_metadata', error.message);
    }
  });
  for (const url of [PATHS.token, PATHS.revoke])
    route('POST', url, async (request, reply) => {
      const body = tokenBody(textOf(request), options);
      if (!(await isHeld(own.records, body)) && !(await isSpare(own.records, 'token', request.ip)))
        return fault(reply, 429, 'temporarily_unavailable', BUSY);
      return pass(request, reply, { body: body.toString() });
    });
}

type Handler = (request: ApiRequest, reply: ApiReply) => Promise<ApiReply>;
type Pass = (
  request: ApiRequest,
  reply: ApiReply,
  inner: { url?: string; body?: string; isFresh?: boolean },
) => Promise<ApiReply>;

function pageRoutes(app: App, { pages, records }: Own): void {
  const route = (method: 'GET' | 'POST', path: string, handler: Handler): void => {
    app.route({
      ...hidden,
      method,
      url: PATHS.interaction + path,
      exposeHeadRoute: false,
      handler: async (request: ApiRequest, reply: ApiReply) =>
        whileAvailable(async () => {
          if (!(await isSpare(records, 'sign_in', request.ip))) return refusedPage(reply, BUSY, 429);
          return handler(request, reply);
        }),
    } as never);
  };
  route('GET', '/:uid', pages.show);
  route('POST', '/:uid', pages.act);
  route('GET', '/:uid/issuer', pages.toIssuer);
}

/** The body, as `takeForms` leaves it. */
function textOf({ body }: ApiRequest): string {
  return typeof body === 'string' ? body : '';
}

async function isSpare(records: HostRecords, what: keyof typeof MOST, address: string): Promise<boolean> {
  return records.isSpare(what, address, MOST[what]);
}

const HELD = [
  ['code', 'AuthorizationCode'],
  ['refresh_token', 'RefreshToken'],
  ['token', 'RefreshToken'],
  ['token', 'AccessToken'],
] as const;

/** Whether the host holds a code or token of this service: strangers must not keep it from its renewal, which has a bound of its own. */
async function isHeld(records: HostRecords, body: URLSearchParams): Promise<boolean> {
  const kept = await Promise.all(
    HELD.map(async ([member, kind]) => {
      const text = body.get(member);
      return text !== null && (await records.get(kind, text)) !== null;
    }),
  );
  return kept.includes(true);
}

const BUSY = 'Too many hosts log in at once: try again in a minute';

/** In the form of OAuth: a host that reads it as a fault of the server would begin a new login. */
function fault(reply: ApiReply, status: number, error: string, text: string): ApiReply {
  if (status === 429) void reply.header('retry-after', MINUTE_MS / 1_000);
  const body = { error, error_description: text };
  return reply.code(status).serializer(JSON.stringify).type('application/json').send(body);
}

function refusedPage(reply: ApiReply, text: string, status: number): ApiReply {
  return answer(reply, errorPage(`${text}.`), status);
}

const AUTHORIZE_MEMBERS = [
  'response_type',
  'client_id',
  'redirect_uri',
  'state',
  'code_challenge',
  'code_challenge_method',
];

/** Other members are left out: OpenID scopes, prompts, nonces. A host without a known scope asks for all. */
function authorizeQuery(url: string, { publicUrl, scopes }: HostRoutesOptions): string {
  const given = new URL(url, publicUrl).searchParams;
  const taken = new URLSearchParams();
  for (const name of AUTHORIZE_MEMBERS) for (const value of given.getAll(name)) taken.append(name, value);
  const asked = new Set(given.getAll('scope').join(' ').split(' '));
  const known = scopes.filter((scope) => asked.has(scope));
  taken.set('scope', (known.length === 0 ? scopes : known).join(' '));
  // Of several the first: a token is for one resource.
  const resource = given.get('resource') ?? `${publicUrl}/mcp`;
  taken.set('resource', resourceOf(publicUrl, resource) ?? resource);
  return taken.toString();
}

/** Hosts write a resource with a slash or a query, and scopes that they asked for and did not get. */
function tokenBody(text: string, { publicUrl, scopes }: HostRoutesOptions): URLSearchParams {
  const body = new URLSearchParams(text);
  const resource = body.get('resource');
  if (resource !== null) body.set('resource', resourceOf(publicUrl, resource) ?? resource);
  const scope = scopes.filter((each) => body.get('scope')?.split(' ').includes(each) === true);
  if (scope.length > 0) body.set('scope', scope.join(' '));
  else body.delete('scope');
  return body;
}
