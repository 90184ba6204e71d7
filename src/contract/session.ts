// The session of a browser: who is signed in at the console, and until when.
// Must never hold the key, nor the secret of the cookie.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';

export const signInBodySchema = z.strictObject({
  key: z
    .string()
    .min(1, 'is empty: give an API key, or a token of the issuer')
    .max(8_192)
    .describe('An API key, the key of ADJUTANT_ADMIN_KEY, or a token of the issuer.'),
});

export const sessionViewSchema = z.object({
  /** `open`: nobody is asked for a key. */
  state: z.enum(['open', 'signed_in', 'signed_out']),
  // Of `signed_in`:
  /** The key's id and name. */
  key_id: z.string().optional(),
  name: z.string().optional(),
  tenant: z.string().optional(),
  scopes: z.array(z.string()).optional(),
  expires_at: instantSchema.optional(),
  /** To be sent in `X-Adjutant-CSRF` with each call by cookie that changes something. */
  csrf_token: z.string().optional(),
  /** Path to open after the session was ended here: it ends the one at the issuer too. Absent: there is none to end. */
  sign_out_path: z.string().optional(),
  // Of `signed_out`:
  /** How one can sign in. */
  sign_in: z
    .object({
      /** Whether there is any API key. */
      keys: z.boolean(),
      /** The button of a login at an issuer: its words and its path. Absent: there is none. */
      oidc: z.object({ name: z.string(), path: z.string() }).optional(),
      /** Why the last login of this browser failed. */
      failed: z.string().optional(),
    })
    .optional(),
});

export type SignInBody = z.infer<typeof signInBodySchema>;
export type SessionView = z.infer<typeof sessionViewSchema>;
