// Who else may use the API beside keys: tokens of an issuer, and people who log in at one.
// Must never accept an address of keys that others on the way can change.
import * as z from 'zod';
import { SCOPES } from '../contract/access/access.ts';
import { isOrigin } from './http-url.ts';
import { notes } from './notes.ts';

/** http only to this machine. */
const KEYS_ADDRESS = /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/])/i;

const jwtSchema = z.strictObject({
  issuer: z
    .string()
    .min(1)
    .max(1_000)
    .register(notes, { description: 'The `iss` that a token must have, exactly.' }),
  audience: z
    .string()
    .min(1)
    .max(1_000)
    .register(notes, { description: 'The `aud` that a token must have, or have among others.' }),
  jwks_url: z
    .url()
    .regex(KEYS_ADDRESS, 'must begin with https://, or with http:// and an address of this machine')
    .register(notes, { description: 'Where the issuer publishes its public keys, as a JWK set.' }),
  scopes_claim: z.string().min(1).max(128).default('scope').register(notes, {
    description:
      'The claim that holds the scopes: words in a text or a list, as `submit` or `adjutant:submit`. Other words are ignored.',
  }),
  tenant_claim: z.string().min(1).max(128).optional().register(notes, {
    description:
      'The claim that names the tenant: `default`, or one that `tenants` names. A token of another one is refused.',
    fallback: 'every token is of `default`',
  }),
});

const LONGEST_SESSION_MS = 12 * 60 * 60 * 1_000;

const oidcSchema = z.strictObject({
  issuer: z
    .url()
    .regex(KEYS_ADDRESS, 'must begin with https://, or with http:// and an address of this machine')
    .register(notes, {
      description: 'Where people log in, exactly as its discovery document says it (`issuer`).',
    }),
  client_id: z.string().min(1).max(1_000).register(notes, {
    description: 'The client that is registered for this service at the issuer.',
  }),
  client_secret: z.string().min(1).optional().register(notes, {
    description: 'Its secret; write `${SECRET}`.',
    fallback: 'none: a public client, with PKCE alone',
  }),
  client_auth: z
    .enum(['client_secret_basic', 'client_secret_post'])
    .default('client_secret_basic')
    .register(notes, { description: 'How the secret is sent to the issuer: in a header, or in the body.' }),
  redirect_base: z
    .url()
    .regex(KEYS_ADDRESS, 'must begin with https://, or with http:// and an address of this machine')
    .refine(isOrigin, 'must be scheme, host and port alone, as https://adjutant.example.com')
    .register(notes, {
      description:
        'The address at which browsers see this service. Register it with the path `/console/login/oidc/callback` at the issuer.',
    }),
  name: z.string().min(1).max(64).optional().register(notes, {
    description: 'What the button on the sign-in page names, as in “Sign in with Example”.',
    fallback: 'the host of `issuer`',
  }),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]{1,256}$/, 'is not a scope'))
    .max(32)
    .default(['openid'])
    .refine((scopes) => scopes.includes('openid'), 'must hold openid')
    .register(notes, { description: 'OAuth scopes that a login asks for.' }),
  scopes_claim: z.string().min(1).max(128).default('scope').register(notes, {
    description: 'As `access.jwt.scopes_claim`, of the ID token; where that has it not, of userinfo.',
  }),
  tenant_claim: z.string().min(1).max(128).optional().register(notes, {
    description: 'As `access.jwt.tenant_claim`, likewise.',
    fallback: 'everyone is of `default`',
  }),
  name_claim: z.string().min(1).max(128).default('sub').register(notes, {
    description:
      'The claim by which a person is shown, and named in decisions. Take one that people cannot choose themselves.',
  }),
  session_ms: z.int().min(60_000).max(LONGEST_SESSION_MS).default(LONGEST_SESSION_MS).register(notes, {
    description: 'Lifetime of a session; a person locked out at the issuer keeps it until its end.',
    unit: 'ms',
  }),
  post_logout: z.enum(['here', 'issuer']).default('here').register(notes, {
    description: 'What signing out ends.',
    special:
      '`here` = the session of this service; `issuer` = then the browser goes to the issuer, which ends its own too',
  }),
});

const DAY_MS = 24 * 60 * 60 * 1_000;
const LONGEST_TOKEN_MS = 10 * 60 * 1_000;
/** The rights of administrators and workers are not for a host that reads what strangers write. */
const HOST_SCOPES = SCOPES.filter((scope) => scope !== 'admin' && scope !== 'work');

/** Scheme, host and port of this service as others see it. */
function publicUrl() {
  return z
    .url()
    .regex(KEYS_ADDRESS, 'must begin with https://, or with http:// and an address of this machine')
    .refine(isOrigin, 'must be scheme, host and port alone, as https://adjutant.example.com');
}

const hostLoginSchema = z.strictObject({
  public_url: publicUrl().register(notes, {
    description: 'The address at which hosts and browsers reach this service; hosts use it with `/mcp`.',
  }),
  authorization_server: z.enum(['adjutant', 'jwt']).default('adjutant').register(notes, {
    description: 'Where hosts get their tokens.',
    special:
      '`adjutant` = from this service; `jwt` = from the issuer of `access.jwt`, where `access.jwt.audience` is `public_url` with `/mcp`',
  }),
  scopes: z
    .array(z.enum(HOST_SCOPES))
    .min(1)
    .max(HOST_SCOPES.length)
    .default(['read', 'submit', 'cancel'])
    .register(notes, {
      description: 'Most scopes that a host can be granted; never more than its person has.',
    }),
  token_ms: z.int().min(300_000).max(LONGEST_TOKEN_MS).default(LONGEST_TOKEN_MS).register(notes, {
    description: 'Lifetime of an access token. Hosts renew it by themselves.',
    unit: 'ms',
  }),
  key_login_ms: z
    .int()
    .min(60_000)
    .max(90 * DAY_MS)
    .default(30 * DAY_MS)
    .register(notes, {
      description: 'Lifetime of a login with a key; revoking the key ends it at once.',
      unit: 'ms',
    }),
  person_login_ms: z
    .int()
    .min(60_000)
    .max(90 * DAY_MS)
    .default(LONGEST_SESSION_MS)
    .register(notes, {
      description:
        'Lifetime of a login through `access.oidc`; a person locked out at the issuer keeps it until its end.',
      unit: 'ms',
    }),
  private_addresses: z.boolean().default(false).register(notes, {
    description:
      'Whether metadata documents of hosts may be at addresses that are not on the public internet.',
    special: 'true = also loopback, private and link-local addresses',
  }),
});

const personalLoginsSchema = z.strictObject({
  public_url: publicUrl().register(notes, {
    description: 'The address at which browsers reach this service, for the links that ask for a login.',
  }),
  wait_ms: z
    .int()
    .min(60_000)
    .max(30 * DAY_MS)
    .default(DAY_MS)
    .register(notes, {
      description:
        'A call without a login ends as `auth` when its caller has not logged in after this time. Its deadline does not pass meanwhile.',
      unit: 'ms',
    }),
  person_login_ms: z
    .int()
    .min(60_000)
    .max(90 * DAY_MS)
    .default(30 * DAY_MS)
    .register(notes, {
      description:
        'Lifetime of a login that a caller of `access.jwt` or `access.oidc` has stored; one locked out at the issuer keeps it until its end. That of a key ends with the key.',
      unit: 'ms',
    }),
});

export const accessSections = {
  access: z
    .strictObject({
      jwt: jwtSchema.optional().register(notes, {
        description: 'Tokens that are accepted beside keys. With it, every call needs a key or a token.',
        fallback: 'none',
      }),
      oidc: oidcSchema.optional().register(notes, {
        description:
          'A login for the people who use the console. With it, every call needs a key, a token or a session.',
        fallback: 'none',
      }),
      host_login: hostLoginSchema.optional().register(notes, {
        description:
          'A [login for MCP hosts](host-login.md), as claude.ai and ChatGPT need it. With it, every call needs a key or a token.',
        fallback: 'none',
      }),
      personal_logins: personalLoginsSchema.optional().register(notes, {
        description:
          'Logins of callers at MCP servers with `"login": "each"` ([personal logins](personal-logins.md)).',
        fallback: 'none',
      }),
    })
    .superRefine(({ jwt, oidc, host_login: hosts, personal_logins: personal }, context) => {
      if (oidc !== undefined && personal !== undefined && oidc.redirect_base !== personal.public_url)
        context.addIssue({
          code: 'custom',
          path: ['personal_logins', 'public_url'],
          message: 'must be access.oidc.redirect_base, so that a login comes back to it',
        });
      if (hosts === undefined) return;
      const fault = (path: string, message: string): void =>
        context.addIssue({ code: 'custom', path: ['host_login', path], message });
      if (hosts.authorization_server === 'jwt' && jwt === undefined)
        fault('authorization_server', 'needs access.jwt, whose issuer gives the tokens');
      if (
        hosts.authorization_server === 'jwt' &&
        jwt !== undefined &&
        jwt.audience !== `${hosts.public_url}/mcp`
      )
        fault('authorization_server', 'needs an access.jwt.audience that is public_url with /mcp');
      if (oidc !== undefined && oidc.redirect_base !== hosts.public_url)
        fault('public_url', 'must be access.oidc.redirect_base, so that a login comes back to it');
    })
    .prefault({})
    .register(notes, { description: 'Who may use the API, beside keys.' }),
};
