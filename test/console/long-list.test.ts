/** 10,000 requests in the list of a real browser: filtered, chosen, followed, and scrolled to the end.
 *  It must not measure time: only what is shown, and how much the page holds of it. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { weigh } from '../support/page-weight.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const COUNT = 10_000;
const AT_ONCE = 32;
const TAGGED_EVERY = 100;
/** Rows in sight, those around them, and the frame. */
const MOST_ELEMENTS = 2_500;
const MOST_HEAP_BYTES = 80_000_000;

const idOf = (nth: number): string => `many-${String(nth).padStart(5, '0')}`;

describeInBrowser('a list of 10,000 requests', () => {
  const redis = useRedis();
  const service = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));
  const client = shared(async () => {
    const http = createHttpClient({ baseUrl: service.url });
    return Object.assign(http, { [Symbol.asyncDispose]: async () => http.close() });
  });
  const browser = shared(startBrowser);

  test('is filtered, chosen, followed and scrolled to its end, and the page does not grow', async () => {
    await submitAll(client);
    await using shown = await browser.open(service.url, '/requests');
    const { page } = shown;
    const grid = page.getByRole('grid', { name: 'Requests' });
    const rows = page.locator('.request-rows [role=row]');
    await rows.first().waitFor();
    const atFirst = await weigh(page);

    await grid.getByRole('checkbox', { name: 'Choose all 100' }).check();
    await page.getByText('100 chosen').waitFor();
    expect(await rows.first().getAttribute('aria-selected')).toBe('true');
    await page.keyboard.press('Escape');
    await page.getByText('100 chosen').waitFor({ state: 'hidden' });

    await submit(client, 'fresh-first');
    await rows.filter({ hasText: 'fresh-first' }).waitFor();

    await toTheEnd(page);
    await rows.filter({ hasText: idOf(0) }).waitFor();
    await expect(grid.getAttribute('aria-rowcount')).resolves.toBe(`${COUNT + 2}`);
    const atLast = await weigh(page);
    expect(atLast.elements).toBeLessThan(Math.min(MOST_ELEMENTS, atFirst.elements + 300));
    expect(atLast.heapBytes).toBeLessThan(MOST_HEAP_BYTES);

    // Whoever reads far down is not moved; what is new waits behind a button.
    await submit(client, 'fresh-second');
    await page.getByRole('button', { name: '1 new' }).click();
    await rows.filter({ hasText: 'fresh-second' }).waitFor();

    await grid.getByRole('checkbox', { name: /^Choose all/ }).check();
    const bar = page.getByRole('region', { name: 'Chosen requests' });
    await bar.getByText(/^\d{5} chosen$/).waitFor();
    expect(await bar.getByRole('button', { name: 'Redrive…' }).isDisabled()).toBe(true);
    expect((await weigh(page)).elements).toBeLessThan(MOST_ELEMENTS);
    await bar.getByRole('button', { name: 'Clear' }).click();

    await page.getByLabel('Filter').fill('tag:nightly error:unknown_tool');
    await page.keyboard.press('Enter');
    await page.waitForURL(/filter=tag%3Anightly/);
    await rows.filter({ hasText: idOf(COUNT - TAGGED_EVERY) }).waitFor();
    await eventually(async () => grid.getAttribute('aria-rowcount')).toBe(`${COUNT / TAGGED_EVERY + 1}`);
    await expectAccessible(page);
  });
});

/** Each ends when it is accepted: no worker is needed. */
async function submit(client: DirectiveClient, id: string, tags: readonly string[] = []): Promise<void> {
  const metadata = { tags };
  await client.submit({
    type: 'tool_exec',
    tool_name: 'none.at-all',
    arguments: {},
    request_id: id,
    metadata,
  });
}

async function submitAll(client: DirectiveClient): Promise<void> {
  let next = 0;
  const some = async (): Promise<void> => {
    for (let nth = next++; nth < COUNT; nth = next++)
      await submit(client, idOf(nth), nth % TAGGED_EVERY === 0 ? ['nightly'] : []);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, some));
  await eventually(async () => (await client.requests({ limit: 1 })).counts.total).toBe(COUNT);
}

/** Page by page, as a person does who drags the bar down again and again. */
async function toTheEnd(page: Page): Promise<void> {
  const count = async (): Promise<number> =>
    Number(await page.getByRole('grid', { name: 'Requests' }).getAttribute('aria-rowcount'));
  for (let rows = await count(); rows <= COUNT;) {
    await page.evaluate("document.querySelector('.requests-grid').scrollTo({ top: 1e9 })");
    await eventually(count).toBeGreaterThan(rows);
    rows = await count();
  }
  await page.evaluate("document.querySelector('.requests-grid').scrollTo({ top: 1e9 })");
}
