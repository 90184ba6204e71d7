// Who else may use the API beside keys: tokens of an issuer.
// Must never accept an address of keys that others on the way can change.
import * as z from 'zod';
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

export const accessSections = {
  access: z
    .strictObject({
      jwt: jwtSchema.optional().register(notes, {
        description: 'Tokens that are accepted beside keys. With it, every call needs a key or a token.',
        fallback: 'none',
      }),
    })
    .prefault({})
    .register(notes, { description: 'Who may use the API, beside keys.' }),
};
