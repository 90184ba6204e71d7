// The state of a login in the browser between its two steps, sealed: state, nonce and verifier, or the cause of its
// failure. Readable and writable only here, and invalid after its time.
import { createHash } from 'node:crypto';
import * as z from 'zod';

const begunSchema = z.object({
  kind: z.literal('begun'),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
});

const leftSchema = z.discriminatedUnion('kind', [
  begunSchema,
  z.object({ kind: z.literal('failed'), text: z.string() }),
]);

export type BegunLogin = z.infer<typeof begunSchema>;
export type LeftLogin = z.infer<typeof leftSchema>;

export interface LoginSeal {
  seal(left: LeftLogin): Promise<string>;
  /** The stored login; null: this installation has not sealed it, or it has expired. */
  open(sealed: string): Promise<LeftLogin | null>;
}

/** Time to log in at the issuer, with a second factor. */
export const LOGIN_MS = 10 * 60 * 1_000;
const AUDIENCE = 'adjutant login';

/** `secret`: what all processes of the installation share; the callback may reach another one. */
export function createLoginSeal(secret: () => Promise<string>, now: () => number = Date.now): LoginSeal {
  const keyOf = async (): Promise<Uint8Array> =>
    createHash('sha256')
      .update(`${AUDIENCE}\n`)
      .update(await secret())
      .digest();
  return {
    async seal(left) {
      const { EncryptJWT } = await import('jose');
      return new EncryptJWT({ left })
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
        .setAudience(AUDIENCE)
        .setExpirationTime(Math.floor((now() + LOGIN_MS) / 1_000))
        .encrypt(await keyOf());
    },
    async open(sealed) {
      const { errors, jwtDecrypt } = await import('jose');
      const key = await keyOf();
      const options = {
        audience: AUDIENCE,
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        requiredClaims: ['exp'],
        currentDate: new Date(now()),
      };
      try {
        const read = leftSchema.safeParse((await jwtDecrypt(sealed, key, options)).payload['left']);
        return read.success ? read.data : null;
      } catch (error) {
        if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
        throw error;
      }
    },
  };
}
