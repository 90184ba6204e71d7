/** The frame of the console in a real browser: policy, keys, sessions, themes, widths.
 *  It must not test a page: each has its own file. */
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { useKeyedService } from '../support/keyed-service.ts';
import { startService } from '../support/running-service.ts';
import { shared } from '../support/shared.ts';

describeInBrowser('the frame of the console', () => {
  const { redis, service, make, adminAt } = useKeyedService();
  const open = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));
  const browser = shared(startBrowser);

  test('shows the places, goes by keys, and lists them', async () => {
    await using shown = await browser.open(open.url, '/');
    const { page } = shown;
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press('g');
    await page.keyboard.press('d');
    await page.getByRole('heading', { level: 1, name: 'Dead letters' }).waitFor();
    expect(page.url()).toBe(`${open.url}/console/dead-letters`);
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keys' });
    await list.waitFor();
    await expectAccessible(page);
    await list.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await list.waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('tool');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    expect(await page.getByRole('dialog', { name: 'Keys' }).count()).toBe(0);
  });

  test('has a bottom bar where it is narrow, and keeps the chosen theme', async () => {
    await using shown = await browser.open(open.url, '/agents', { width: 390, height: 844, theme: 'light' });
    const { page } = shown;
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Tools' }).click();
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Theme, keys and session' }).click();
    await page.getByRole('menuitem', { name: 'Dark theme' }).click();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect(width).toBe(390);
  });

  test('changes a key into a session, and ends it when the key is revoked', async () => {
    const { key, id } = await make({ name: 'ana', scopes: ['read'] });
    const expected = [/status of 401/];
    await using shown = await browser.open(service.url, '/requests', { expected });
    const { page, context } = shown;
    const field = page.getByLabel('API key');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('The field is empty').waitFor();
    await field.fill(key.slice(0, -1));
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('not whole').waitFor();
    await field.fill(`${key.slice(0, -6)}AAAAAA`);
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The key or token is not known here').waitFor();
    await expectAccessible(page);
    await field.fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/' });
    expect(await page.evaluate('document.cookie')).toBe('');
    expect(JSON.stringify(await context.storageState())).not.toContain(key);
    await adminAt(service.url).revoke(id);
    await field.waitFor();
    await page.getByText(/Your session ended at .*, before its time.*: sign in again/).waitFor();
    await expectAccessible(page);
  });
});
