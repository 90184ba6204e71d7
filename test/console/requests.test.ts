/** Overview and list of requests in a real browser: live, by keys, with hostile names, and what is done with chosen ones.
 *  It must not wait for a time: only for what is shown. */
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const HOSTILE = '<img src=x onerror=alert(1)> \u202egnp.exe http://evil.example';

describeInBrowser('overview and requests', () => {
  const redis = useRedis();
  const service = shared(async () => startService({ redisUrl: redis.url }));
  const client = shared(async () => {
    const http = createHttpClient({ baseUrl: service.url });
    return Object.assign(http, { [Symbol.asyncDispose]: async () => http.close() });
  });
  const browser = shared(startBrowser);

  test('the list follows, filters by its URL, is used by keys, and redrives what is chosen', async () => {
    await fail(client, 'first');
    await using shown = await browser.open(service.url, '/requests');
    const { page } = shown;
    const rows = page.locator('.request-rows [role=row]');
    await rows.filter({ hasText: 'first' }).waitFor();
    await fail(client, 'second', [HOSTILE]);
    await rows.filter({ hasText: `second` }).getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('img[src=x], a[href*=evil]').count()).toBe(0);
    await expectAccessible(page);
    await page.getByRole('button', { name: /failed/ }).click();
    await page.waitForURL(/filter=status%3Afailed/);
    await page.reload();
    await rows.filter({ hasText: 'second' }).waitFor();
    for (const key of ['j', 'x', 'j', 'Shift+X']) await page.keyboard.press(key);
    const bar = page.getByRole('region', { name: 'Chosen requests' });
    await bar.getByText('2 chosen').waitFor();
    await bar.getByRole('button', { name: 'Redrive…' }).click();
    const dialog = page.getByRole('dialog');
    const act = dialog.getByRole('button', { name: 'Redrive 2 failed directives' });
    await act.waitFor();
    // Enter takes the way out.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect((await client.request('first'))?.directives).toHaveLength(1);
    await bar.getByRole('button', { name: 'Redrive…' }).click();
    await act.click();
    await page.getByText('2 redriven').waitFor();
    await bar.waitFor({ state: 'hidden' });
  });

  // Issue 35, point 14: the service orders all requests, and says how far back it compared them.
  test('duration and cost order the list at the service, in the URL', async () => {
    for (const id of ['short', 'shorter']) await fail(client, id);
    await using shown = await browser.open(service.url, '/requests');
    const { page } = shown;
    await page.getByText('newest first').waitFor();
    await page.getByRole('button', { name: 'Took' }).click();
    await page.waitForURL(/sort=duration/);
    await page.getByText('longest first').waitFor();
    const { requests } = await client.requests({ sort: 'duration', limit: 100 });
    const ids = requests.map(({ request_id: id }) => id);
    const links = page.locator('.request-rows [role=row] a');
    await expect.poll(async () => links.allTextContents()).toEqual(ids);
    await page.route(/requests\?.*sort=cost/, async (route) => {
      const listing = (await (await route.fetch()).json()) as object;
      await route.fulfill({ json: { ...listing, searched_until: '2026-11-01T10:00:00.000Z' } });
    });
    await page.getByRole('button', { name: 'Cost' }).click();
    await page.getByText('highest cost first · compared back to 1 Nov 10:00:00').waitFor();
    await expectAccessible(page);
    await page.unrouteAll({ behavior: 'wait' });
    await page.getByRole('button', { name: 'At', exact: true }).click();
    await page.getByText('newest first').waitFor();
    expect(page.url()).not.toContain('sort=');
  });

  test('a list that is turned off is said to be, and how it is turned on', async () => {
    const config = { search: { enabled: false } };
    await using off = await startService({ redisUrl: redis.url, roles: { api: true }, config });
    await using shown = await browser.open(off.url, '/requests', { expected: [/status of 409/] });
    await shown.page.getByText('keeps no list of requests').waitFor();
    expect(await shown.page.getByRole('alert').count()).toBe(0);
    await expectAccessible(shown.page);
    for (const place of ['Approvals', 'Overview']) {
      await shown.page.getByRole('link', { name: place, exact: true }).first().click();
      await shown.page.getByRole('heading', { level: 1, name: place }).waitFor();
      await shown.page.getByText('keeps no list of requests').waitFor();
      expect(await shown.page.getByText(/^No (?:pending approvals|open problems|failures)$/).count()).toBe(0);
    }
    await shown.page.getByRole('link', { name: 'who waits for a person is not known' }).waitFor();
  });

  test('a list that is incomplete is said to be, and nothing that waits is denied', async () => {
    await using built = await startService({ redisUrl: redis.url });
    await using connection = open(redis.url);
    // As a newer version beside this one has begun to build it: this one leaves it alone.
    await connection.hset(`${built.prefix}:list-build`, { format: 99, state: 'building' });
    await using shown = await browser.open(built.url, '/approvals');
    const { page } = shown;
    const notice = page.getByText('The list is built anew');
    await notice.waitFor();
    await page.getByText('No pending approvals are known yet.').waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'Overview', exact: true }).first().click();
    await page.getByRole('link', { name: 'who waits for a person is not known' }).waitFor();
    await page.getByText('No failures are known yet.').waitFor();
    await page.getByText('No pending approvals are known yet.').waitFor();
    expect(await notice.count()).toBe(1);
    expect(await page.getByText(/^No (?:pending approvals|open problems|failures)$/).count()).toBe(0);
    await page.getByText('No budgets').waitFor();
    await expectAccessible(page);
  });

  test('what begins later stands apart from what is retried', async () => {
    await client.submit({ type: 'tool_exec', tool_name: 'peer.none', arguments: {}, delay_ms: 3_600_000 });
    await using shown = await browser.open(service.url, '/');
    const table = shown.page.getByRole('table', { name: 'Lanes' });
    const lane = table.getByRole('row').filter({ hasText: 'tool.peer' });
    await lane.getByRole('cell', { name: '1', exact: true }).first().waitFor();
    const heads = await table.getByRole('columnheader').allTextContents();
    const cells = await lane.getByRole('cell').allTextContents();
    expect(cells[heads.indexOf('Delayed')]).toBe('1');
    expect(cells[heads.indexOf('Retries')]).toBe('0');
  });

  test('the overview says what is wrong, and leads to it', async () => {
    await fail(client, 'third');
    await using shown = await browser.open(service.url, '/');
    const { page } = shown;
    await page.getByRole('table', { name: 'Last failures' }).getByRole('link', { name: 'third' }).waitFor();
    await page.getByRole('table', { name: 'Processes' }).getByText('working').waitFor();
    await page.getByText('No budgets').waitFor();
    await expectAccessible(page);
    await page
      .getByRole('link', { name: /dead letter/ })
      .first()
      .click();
    await page.waitForURL(/dead-letters/);
  });
});

function open(url: string) {
  const connection = new Redis(url);
  return Object.assign(connection, { [Symbol.asyncDispose]: async () => connection.disconnect() });
}

/** A request of this id whose call has failed. */
async function fail(client: DirectiveClient, id: string, tags: readonly string[] = []): Promise<void> {
  await client.submit({
    type: 'tool_exec',
    tool_name: 'peer.none',
    arguments: {},
    request_id: id,
    metadata: { tags },
  });
  for await (const _ of client.signals(id));
}
