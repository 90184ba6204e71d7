// The session of a browser: who is signed in at the console, and until when.
// Must never hold the key, nor the secret of the cookie.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';

export const signInBodySchema = z.strictObject({
  key: z.string().min(1).max(8_192).describe('An API key, or the key of ADJUTANT_ADMIN_KEY.'),
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
});

export type SignInBody = z.infer<typeof signInBodySchema>;
export type SessionView = z.infer<typeof sessionViewSchema>;
