/** A real OpenID provider (oidc-provider) on a port of 127.0.0.1, whose one person is logged in at once.
 *  It must never skip a step of a login. REDIRECT_URI, LOGOUT_URI: of its client. POST /control sets `claims` of the person, and
 *  `refuse` (consent is denied). */
import { createServer } from 'node:http';
import { Provider } from 'oidc-provider';

const { REDIRECT_URI = '', LOGOUT_URI = '' } = process.env;
const settings = { refuse: false, claims: {} };
const ACCOUNT = 'ada';

const server = createServer((request, response) => void handle(request, response));
const issuer = await new Promise((resolve) =>
  server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)),
);

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'adjutant',
      client_secret: 'secret-of-the-client',
      redirect_uris: [REDIRECT_URI],
      post_logout_redirect_uris: [LOGOUT_URI],
    },
  ],
  claims: { openid: ['sub'], rights: ['rights', 'company', 'nickname'] },
  scopes: ['openid', 'rights'],
  pkce: { required: () => true },
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...settings.claims }) }),
  cookies: { keys: ['test'] },
  features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
});
const answer = provider.callback();

async function handle(request, response) {
  const { pathname } = new URL(request.url, issuer);
  if (pathname === '/control') {
    Object.assign(settings, JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()));
    return response.end();
  }
  return pathname.startsWith('/interaction/') ? interact(request, response) : answer(request, response);
}

async function interact(request, response) {
  const { params, prompt } = await provider.interactionDetails(request, response);
  const finish = (result) =>
    provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
  if (settings.refuse) return finish({ error: 'access_denied', error_description: '<b>no</b>' });
  if (prompt.name === 'login') return finish({ login: { accountId: ACCOUNT } });
  const grant = new provider.Grant({ accountId: ACCOUNT, clientId: params.client_id });
  grant.addOIDCScope(params.scope);
  return finish({ consent: { grantId: await grant.save() } });
}

process.stderr.write(`issuer ${issuer}\n`);
