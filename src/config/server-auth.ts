// How the service logs in at an MCP server: OAuth, with what the operator fixes of it.
// Must never let a secret of a client go to an authorization server that the operator has not named.
import * as z from 'zod';
import { notes } from './notes.ts';

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384'] as const;

export const serverAuthSchema = z
  .strictObject({
    grant: z
      .enum(['authorization_code', 'client_credentials'])
      .default('authorization_code')
      .register(notes, {
        description: 'Who logs in.',
        special:
          '`authorization_code` = a person, once, with `adjutant mcp login`; `client_credentials` = the service, with an account of its own',
      }),
    login: z.enum(['shared', 'each']).default('shared').register(notes, {
      description: 'Whose login the calls of the server use.',
      special:
        '`shared` = the one of the service; `each` = the one of the caller, who is asked for it ([personal logins](personal-logins.md)); needs `access.personal_logins`',
    }),
    client_id: z.string().min(1).max(2_000).optional().register(notes, {
      description: 'The client that is registered at the authorization server.',
      fallback: 'the metadata document, else the client is registered at each login',
    }),
    client_secret: z.string().min(1).optional().register(notes, {
      description: 'Its secret; write `${SECRET}`. Needs `client_id` and `issuer`.',
      fallback: 'none',
    }),
    private_key: z.string().min(1).optional().register(notes, {
      description:
        'Instead of a secret: the private key that signs who the client is, PKCS #8 in PEM. Needs `client_id` and `issuer`.',
      fallback: 'none',
    }),
    private_key_algorithm: z.enum(ALGORITHMS).default('RS256').register(notes, {
      description: 'Algorithm of `private_key`.',
    }),
    client_metadata_url: z
      .url({ protocol: /^https$/ })
      .refine((url) => URL.canParse(url) && new URL(url).pathname !== '/', 'must have a path')
      .optional()
      .register(notes, {
        description:
          'Address of a client metadata document, which is the client’s id where the authorization server takes one.',
        fallback: 'none',
      }),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5B\x5D-\x7E]+$/, 'is not a scope'))
      .default([])
      .register(notes, {
        description: 'Scopes that a login asks for.',
        fallback: 'those that the server names',
      }),
    issuer: z
      .url({ protocol: /^https?$/ })
      .optional()
      .register(notes, {
        description: 'The only authorization server that is used. Required with a secret or a private key.',
        fallback: 'the one that the server names',
      }),
    redirect_port: z.int().min(0).max(65_535).default(0).register(notes, {
      description:
        'Port on 127.0.0.1 to which a login returns, for authorization servers that know no other.',
      special: '0 = any free port',
    }),
  })
  .superRefine((auth, context) => {
    for (const [path, message] of faultsOf(auth)) context.addIssue({ code: 'custom', path: [path], message });
  });

interface ReadAuth {
  readonly grant: 'authorization_code' | 'client_credentials';
  readonly login: 'shared' | 'each';
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  readonly private_key?: string | undefined;
  readonly issuer?: string | undefined;
}

function* faultsOf(auth: ReadAuth): Generator<readonly [path: string, message: string]> {
  const { grant, login, client_id, client_secret, private_key, issuer } = auth;
  if (login === 'each' && grant === 'client_credentials')
    yield ['login', 'excludes the grant client_credentials: no person logs in with it'];
  const hasSecret = client_secret !== undefined || private_key !== undefined;
  if (client_secret !== undefined && private_key !== undefined)
    yield ['private_key', 'and client_secret exclude each other'];
  if (hasSecret && client_id === undefined) yield ['client_id', 'is required with a secret or a private key'];
  if (hasSecret && issuer === undefined)
    yield ['issuer', 'is required with a secret or a private key: else the server would say who gets it'];
  if (grant === 'client_credentials' && !hasSecret)
    yield ['client_secret', 'or private_key is required for client_credentials'];
}
