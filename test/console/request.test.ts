/** The page of a request in a real browser: live text, an API that is killed, hostile output, an approval while the engine restarts.
 *  It must not test the frame: that has its own file. */
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { HOSTILE_TEXT, openConsoleRuns } from '../support/console-run.ts';
import { follow, get, post, untilClosed } from '../support/public-api.ts';
import { freePort } from '../support/process.ts';
import { shared } from '../support/shared.ts';

/** What the browser writes while the service is away. */
const AWAY = [
  /ERR_CONNECTION_REFUSED/,
  /ERR_INCOMPLETE_CHUNKED_ENCODING/,
  /ERR_EMPTY_RESPONSE/,
  /ERR_CONNECTION_RESET/,
];

async function untilAsked(url: string, requestId: string): Promise<void> {
  for await (const { type } of follow(url, requestId)) if (type === 'ai.tool.approval_requested') return;
}

describeInBrowser('the page of a request', () => {
  const runs = shared(async () => {
    const installation = await openConsoleRuns();
    const port = await freePort();
    const parts = { api: await installation.start('api', port), engine: await installation.start('engine') };
    await installation.start('worker');
    return { ...installation, port, parts };
  });
  const browser = shared(startBrowser);

  test('a run that is under way goes on after the API was killed, with nothing lost or doubled', async () => {
    const { api } = runs.parts;
    const id = await runs.run(api.url, 'teller', 'tell a long story');
    await using shown = await browser.open(api.url, `/requests/${id}?tab=conversation`, { expected: AWAY });
    const { page } = shown;
    const text = page.locator('.entry-step .entry-text');
    await page.getByText('word20', { exact: false }).waitFor();
    await page.getByRole('banner').getByText('Live').waitFor();
    await api.kill9();
    await page.getByText('Reconnecting').waitFor();
    runs.parts.api = await runs.start('api', runs.port);
    await untilClosed(api.url, id);
    await page.getByRole('banner').getByText('Ended').waitFor({ timeout: 60_000 });
    const words = Array.from({ length: 600 }, (_, index) => `word${index}`).join(' ');
    await expect.poll(async () => text.textContent()).toBe(words);
    await page.getByRole('tab', { name: 'Signals' }).click();
    const { body } = await get<{ sequence: number }>(`${api.url}/v1/requests/${id}`);
    await page.getByText(`${body.sequence.toLocaleString('en-GB')} received`).waitFor();
  });

  test('each page says that the API was killed, and is right again when it is back', async () => {
    const { url } = runs.parts.api;
    const asking = await runs.run(url, 'librarian', 'Reconcile the ledger');
    await untilAsked(url, asking);
    const places = ['/', '/requests', '/approvals', '/dead-letters', '/tools'];
    const pages = await Promise.all(places.map(async (at) => browser.open(url, at, { expected: AWAY })));
    await using stack = new AsyncDisposableStack();
    for (const shown of pages) stack.use(shown);
    const eachSays = async (text: string | RegExp): Promise<unknown> =>
      Promise.all(pages.map(async ({ page }) => page.getByText(text).first().waitFor({ timeout: 60_000 })));
    await eachSays(/^Live$/);
    await runs.parts.api.kill9();
    await eachSays('The service does not answer');
    await eachSays(/^Reconnecting$/);
    // Issue 36: one box says it, and no server is shown as healthy meanwhile.
    for (const { page } of pages) {
      expect(await page.getByRole('alert').count()).toBe(1);
      expect(await page.locator('.frame.is-away').count()).toBe(1);
    }
    runs.parts.api = await runs.start('api', runs.port);
    await eachSays(/^Live$/);
    const [overview, requests, approvals, , tools] = pages.map(({ page }) => page);
    await overview?.getByRole('table', { name: 'Lanes' }).getByText('tool.counting').waitFor();
    const later = await runs.run(url, 'librarian', 'hostile after the return');
    await requests?.getByText('hostile after the return').waitFor();
    await requests?.keyboard.press('j');
    await requests?.keyboard.press('Enter');
    await requests?.waitForURL(/console\/requests\/./);
    await expect
      .poll(async () => {
        await requests?.keyboard.press('Escape');
        return requests?.url();
      })
      .toMatch(/console\/requests$/);
    await approvals?.getByRole('heading', { name: /counting\.once/ }).waitFor();
    await tools?.getByRole('link', { name: 'idempotent' }).waitFor();
    for (const { page } of pages) expect(await page.getByText('The service does not answer').count()).toBe(0);
    await untilClosed(url, later);
    await post(`${url}/v1/requests/${asking}/cancel`, {});
  });

  test('hostile output is text in every view', async () => {
    const { url } = runs.parts.api;
    const id = await runs.run(url, 'librarian', `hostile ${HOSTILE_TEXT}`);
    await untilClosed(url, id);
    await using shown = await browser.open(url, `/requests/${id}?step=${id}%2Ftool-1-0`);
    const { page } = shown;
    await page.getByRole('treegrid', { name: 'Timeline' }).waitFor();
    for (const name of ['Conversation', 'Signals', 'Raw']) {
      await page.getByRole('tab', { name, exact: true }).click();
      await page.getByText('<script>alert(2)</script>').first().waitFor();
      await page.getByText('U+202E').first().waitFor();
      expect(await page.locator('main img, main script, main a[href^="javascript"]').count()).toBe(0);
      expect(await page.locator('main a[href*="evil"]').count()).toBe(0);
    }
  });

  test('a call is approved from the page while the engine restarts, and the timeline says what happened', async () => {
    const { url } = runs.parts.api;
    const id = await runs.run(url, 'librarian', 'Reconcile the ledger');
    await untilAsked(url, id);
    await using shown = await browser.open(url, `/requests/${id}`);
    const { page } = shown;
    const box = page.getByRole('region', { name: 'Approval of counting.once' });
    await box.waitFor();
    await expectAccessible(page);
    await runs.parts.engine.kill9();
    await page.keyboard.press('a');
    const dialog = page.getByRole('dialog', { name: 'Approve: counting.once' });
    await dialog.waitFor();
    // The way out has the focus: Enter decides nothing.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    await box.getByRole('button', { name: 'Approve…' }).click();
    await dialog.getByLabel('Reason').fill('the sums are right');
    await dialog.getByRole('button', { name: 'Approve the call' }).click();
    await dialog.waitFor({ state: 'hidden' });
    runs.parts.engine = await runs.start('engine');
    await untilClosed(url, id);
    await page.getByText('completed (final_answer)').waitFor();
    const grid = page.getByRole('treegrid', { name: 'Timeline' });
    await grid
      .getByRole('gridcell', {
        name: /counting\.once, succeeded.*waits for approval .*\(approve\).*attempt 1 succeeded/,
      })
      .waitFor();
    await grid
      .getByRole('gridcell', {
        name: /counting\.read.*attempt 1 retry: execution_error.*backoff 300 ms.*attempt 2 succeeded/,
      })
      .waitFor();
  });

  test('everything has a URL: tab, selected step, zoom; the keys move and zoom', async () => {
    const { url } = runs.parts.api;
    const id = await runs.run(url, 'librarian', 'hostile again');
    await untilClosed(url, id);
    await using shown = await browser.open(url, `/requests/${id}`, {
      width: 390,
      height: 844,
      theme: 'light',
    });
    const { page } = shown;
    await page.getByRole('treegrid').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('+');
    await page.waitForURL(/step=.*zoom=|zoom=.*step=/);
    await page.reload();
    await page.locator('[role=row][aria-selected=true]').waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page
      .getByRole('group', { name: 'Show only' })
      .getByRole('button', { name: /^tools/ })
      .click();
    await page.waitForURL(/only=tools/);
    await page.keyboard.press('0');
    await page.waitForURL((address) => !address.search.includes('zoom='));
    await page.getByRole('tab', { name: 'Conversation' }).click();
    await page.waitForURL(/tab=conversation/);
    await expectAccessible(page);
  });
});
