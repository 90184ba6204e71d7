// The issuer of logins as its discovery document describes it, and every question to it: bounded in bytes, time and how often.
// Must never follow a redirect of it, nor send a browser to an address that is not of the web.
import type * as openid from 'openid-client';
import { boundedText } from './issuer-fetch.ts';

export type Library = typeof openid;

export interface OidcRules {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret?: string | undefined;
  readonly client_auth: 'client_secret_basic' | 'client_secret_post';
  /** Scheme, host and port of this service as browsers see it. */
  readonly redirect_base: string;
  readonly scopes: readonly string[];
  readonly scopes_claim: string;
  readonly tenant_claim?: string | undefined;
  readonly name_claim: string;
}

const CALLBACK = '/console/login/oidc/callback';
const MOST_BYTES = 1024 * 1024;
const ASK_MS = 5_000;
const CLOCK_TOLERANCE_S = 30;
/** Time for which the issuer's metadata counts, and after a failure the time without further attempts. */
const KNOWN_MS = 10 * 60 * 1_000;
const PAUSE_MS = 5_000;

type Known = readonly [Library, openid.Configuration];

export function callback({ redirect_base: base }: OidcRules): string {
  return base + CALLBACK;
}

export interface IssuerTimes {
  /** The longest wait for one answer. */
  readonly askMs?: number;
  readonly now?: () => number;
}

/** Loads the library and contacts the issuer only at a login. */
export function createIssuer(rules: OidcRules, times: IssuerTimes = {}): () => Promise<Known> {
  const { askMs = ASK_MS, now = () => performance.now() } = times;
  let known: Promise<Known> | undefined;
  let until = -Infinity;
  return async () => {
    if (known === undefined || now() >= until) {
      until = now() + KNOWN_MS;
      known = discover(rules, askMs).catch((error: unknown) => {
        until = now() + PAUSE_MS;
        throw error;
      });
    }
    return known;
  };
}

async function discover(rules: OidcRules, askMs: number): Promise<Known> {
  const library: Library = await import('openid-client');
  const { issuer, client_id: id, client_secret: secret, client_auth: way } = rules;
  const withSecret = way === 'client_secret_post' ? library.ClientSecretPost : library.ClientSecretBasic;
  const auth = secret === undefined ? library.None() : withSecret(secret);
  const isPlain = new URL(issuer).protocol === 'http:';
  const config = await library.discovery(
    new URL(issuer),
    id,
    { [library.clockTolerance]: CLOCK_TOLERANCE_S },
    auth,
    {
      timeout: askMs / 1_000,
      [library.customFetch]: boundedAnswer,
      // The signature is checked too: who speaks on the way to the issuer must not decide who somebody is.
      execute: [library.enableNonRepudiationChecks, ...(isPlain ? [library.allowInsecureRequests] : [])],
    },
  );
  for (const address of addressesOf(config)) requireWeb(address, isPlain);
  return [library, config];
}

function addressesOf(config: openid.Configuration): (string | undefined)[] {
  const { authorization_endpoint: login, end_session_endpoint: end } = config.serverMetadata();
  return [login ?? '', end];
}

/** Browsers are sent there. */
function requireWeb(address: string | undefined, isPlain: boolean): void {
  if (address === undefined) return;
  const protocol = URL.canParse(address) ? new URL(address).protocol : '';
  if (protocol === 'https:' || (isPlain && protocol === 'http:')) return;
  throw new Error('the issuer names an address for browsers that is not https');
}

/** The signal bounds the time, with the body. */
async function boundedAnswer(url: string, init: openid.CustomFetchOptions): Promise<Response> {
  const response = await fetch(url, init as RequestInit);
  const { status, headers, body } = response;
  const text = await boundedText(body, MOST_BYTES);
  const kept = ['content-type', 'www-authenticate'].flatMap((name) => {
    const value = headers.get(name);
    return value === null ? [] : [[name, value] as [string, string]];
  });
  return new Response(text === '' ? null : text, { status, headers: kept });
}
