// The session of a browser: who is signed in at the console, and until when.
// Must never hold the key, nor the secret of the cookie.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';

/** Schema of the body of a login with a key. */
export const signInBodySchema = z.strictObject({
  key: z
    .string()
    .min(1, 'is empty: give an API key, or a token of the issuer')
    .max(8_192)
    .describe('An API key, the key of ADJUTANT_ADMIN_KEY, or a token of the issuer.'),
});

/** Schema of the view of a session. */
export const sessionViewSchema = z.object({
  state: z
    .enum(['open', 'signed_in', 'signed_out'])
    .describe('State of the session. `open`: keys are not required.'),
  key_id: z.string().optional().describe('Id of the key. Present in `signed_in`.'),
  name: z.string().optional().describe('Name of the key. Present in `signed_in`.'),
  tenant: z.string().optional().describe('Tenant of the key. Present in `signed_in`.'),
  scopes: z.array(z.string()).optional().describe('Scopes of the key. Present in `signed_in`.'),
  expires_at: instantSchema
    .optional()
    .describe('Instant (UTC) at which the session expires. Present in `signed_in`.'),
  csrf_token: z
    .string()
    .optional()
    .describe('Token that each changing call by cookie sends in `X-Adjutant-CSRF`. Present in `signed_in`.'),
  sign_out_path: z
    .string()
    .optional()
    .describe('Path that ends the session at the issuer as well. Absent: the issuer has no session to end.'),
  sign_in: z
    .object({
      keys: z.boolean().describe('Whether any API key exists.'),
      oidc: z
        .object({
          name: z.string().describe('Label of the login.'),
          path: z.string().describe('Path of the login.'),
        })
        .optional()
        .describe('Login at an issuer. Absent: none is configured.'),
      failed: z.string().optional().describe('Reason why the last login of this browser failed.'),
    })
    .optional()
    .describe('Ways to sign in. Present in `signed_out`.'),
});

/** Body of a login with a key. */
export type SignInBody = z.infer<typeof signInBodySchema>;
/** View of a session. */
export type SessionView = z.infer<typeof sessionViewSchema>;
