/** A person logs in at a real OpenID provider, in a real browser, from the console's sign-in page.
 *  It must not test what the API refuses: `test/integration/http/oidc.test.ts` does. */
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
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
