/** A person logs in at a real OpenID provider, in a real browser, from the console's sign-in page.
 *  It must not test what the API refuses: `test/integration/http/oidc.test.ts` does. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { createHost } from '../support/host-login.ts';
import { startOidcScene } from '../support/oidc.ts';
import { shared, useRedis } from '../support/shared.ts';

describeInBrowser('a login in the console', () => {
  const redis = useRedis();
  const scene = shared(async () => startOidcScene(redis.url, { post_logout: 'here' }));
  const browser = shared(startBrowser);

  test('says which claim is missing, then goes back to the page that was asked for, and ends', async () => {
    await scene.set({ claims: { company: 'acme' } });
    await using shown = await browser.open(scene.service.url, '/requests?status=failed');
    const { page, context } = shown;
    const button = page.getByRole('link', { name: 'Sign in with Example' });
    await button.click();
    await page.getByRole('alert').getByText('has no claim "rights"').waitFor();
    await expectAccessible(page);
    await scene.set({ claims: { company: 'acme', rights: 'read', nickname: 'Ada L.' } });
    await page.goto(`${scene.service.url}/console/agents`);
    await button.click();
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    expect(page.url()).toBe(`${scene.service.url}/console/agents`);
    expect(await page.evaluate('document.cookie')).toBe('');
    const own = (await context.cookies()).filter(({ name }) => name.startsWith('adjutant_'));
    expect(own).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }]);
    await page.getByRole('button', { name: 'Theme, keys and session' }).click();
    await page.getByRole('menuitem', { name: 'Sign out Ada L.' }).click();
    await button.waitFor();
  });
});

describeInBrowser('a login for an MCP host', () => {
  const redis = useRedis();
  const scene = shared(async () => startOidcScene(redis.url, {}, {}));
  const browser = shared(startBrowser);

  // Browsers block a form whose answer redirects elsewhere (form-action), and cookies of another site's navigation.
  test('asks who it is, names host and tenant, and returns to the host with a code', async () => {
    await scene.set({ claims: { company: 'acme', rights: 'read submit', nickname: 'Ada L.' } });
    const answered: string[] = [];
    const listener = createServer(({ url = '' }, response) => {
      answered.push(url);
      response.end('<!doctype html><title>Done</title>Connected');
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const callback = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/callback`;
    const host = { ...createHost({ redirect_uris: [callback] }), redirectUrl: callback };
    await auth(host, { serverUrl: `${scene.service.url}/mcp` });
    await using shown = await browser.open(scene.service.url, '/');
    const { page } = shown;
    await page.goto(host.sentTo().href);
    await page.getByRole('heading', { level: 1, name: 'A host asks for access to your tools' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Sign in with Example' }).click();
    await page.getByText('acme', { exact: true }).waitFor();
    await page.getByText('a program on this computer').waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByText('Connected').waitFor();
    listener.close();
    expect(answered[0]).toMatch(/^\/callback\?code=[\w-]+&state=state-of-the-host&iss=/);
  });
});
