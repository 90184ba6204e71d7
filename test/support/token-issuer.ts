/** An issuer of tokens for `access.jwt`: it publishes a key, and signs what a test asks for.
 *  It must never publish the key of another issuer. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export async function startTokenIssuer(subject: string) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }];
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const token = async (claims: object): Promise<string> => {
    const base = { iss: 'https://issuer.example', aud: 'adjutant', sub: subject, tenant: 'default' };
    const exp = Math.floor(Date.now() / 1_000) + 600;
    return new SignJWT({ ...base, exp, scope: 'read', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
  };
  const stop = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/jwks`, asked: () => asked, token, [Symbol.asyncDispose]: stop };
}
