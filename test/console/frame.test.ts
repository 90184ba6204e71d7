/** The frame of the console in a real browser: policy, keys, sessions, themes, widths.
 *  It must not test a page: each has its own file. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { useKeyedService } from '../support/keyed-service.ts';
import { startService } from '../support/running-service.ts';
import { shared } from '../support/shared.ts';

describeInBrowser('the frame of the console', () => {
  const { redis, service, make, adminAt, ADMIN } = useKeyedService();
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
    // The keys of schedules and statistics worked, and were not listed.
    await list.getByText('overview, requests, approvals, dead letters, statistics, schedules').waitFor();
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

  test('an operator sees one tenant, or all, in the URL, and changes nothing there; another key has no choice', async () => {
    const acme = await make({ name: 'acme', tenant: 'acme' });
    const submit = async (apiKey: string, id: string): Promise<void> => {
      const client = createHttpClient({ baseUrl: service.url, apiKey });
      await client.submit({ type: 'tool_exec', tool_name: 'peer.add', arguments: {}, request_id: id });
      await client.close();
    };
    await submit(ADMIN, 'same-id');
    await submit(acme.key, 'same-id');
    await submit(acme.key, 'theirs');
    await using shown = await browser.open(service.url, '/requests', { expected: [/status of 401/] });
    const { page } = shown;
    await page.getByLabel('API key').fill(ADMIN);
    await page.keyboard.press('Enter');
    const rows = page.locator('.request-rows [role=row]');
    await rows.filter({ hasText: 'same-id' }).waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole('button', { name: 'Tenant: default' }).click();
    await expectAccessible(page);
    await page.getByRole('menuitem', { name: 'All tenants' }).click();
    await expect.poll(async () => rows.count()).toBe(3);
    await page.waitForURL(/tenant=\*|tenant=%2A/);
    await rows.filter({ hasText: 'theirs' }).getByText('tenant acme').waitFor();
    await expectAccessible(page);
    await rows.filter({ hasText: 'theirs' }).getByRole('link').click();
    await page.waitForURL(/of=acme/);
    const cancel = page.getByRole('button', { name: 'Cancel…' });
    await cancel.waitFor();
    expect(await cancel.isDisabled()).toBe(true);
    expect(await cancel.getAttribute('title')).toBe(
      'The tenant acme is shown. A key of default cannot change its data.',
    );
    await page.getByRole('button', { name: 'Tenant: All tenants' }).click();
    await page.getByRole('menuitem', { name: 'acme' }).click();
    await page.getByRole('link', { name: 'Requests', exact: true }).first().click();
    await page.waitForURL(/tenant=acme/);
    await expect.poll(async () => rows.count()).toBe(2);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await using other = await browser.open(service.url, '/requests?tenant=*', {
      expected: [/status of 40[13]/],
    });
    await other.page.getByLabel('API key').fill(acme.key);
    await other.page.keyboard.press('Enter');
    await other.page
      .getByRole('alert')
      .getByText(/tenant "acme"/)
      .first()
      .waitFor();
    expect(await other.page.getByRole('button', { name: /^Tenant/ }).count()).toBe(0);
  });
});
