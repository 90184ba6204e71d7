/** The official suite for authorization servers, against the login of hosts.
 *  It must never answer for the suite: the person only follows the address that the suite prints. */
import { consent, startHostService } from '../support/host-login.ts';
import { createStranger } from '../support/oidc.ts';
import { freePort } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { authorizationRun } from './suite-run.ts';

/** Resolves with what has to be looked at. */
export async function asAuthorizationServer(print: (line: string) => void): Promise<string[]> {
  print('\nAdjutant as an authorization server');
  const redis = await startRedis();
  try {
    await using service = await startHostService(redis.url);
    const { url } = service;
    const port = await freePort();
    const registered = await fetch(`${url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
    });
    const { client_id: client } = (await registered.json()) as { client_id: string };
    const { key } = await service.key();
    const run = await authorizationRun({ url, client, port }, async (authorize) => {
      await (await fetch(await consent(createStranger(), authorize, key))).text();
    });
    print(`${run.passed ? 'passed' : 'NOT PASSED'}  authorization  ${run.summary}`);
    if (run.passed) return [];
    print(run.output);
    return ['The login of hosts does not pass the suite for authorization servers.'];
  } finally {
    await redis.stop();
  }
}
