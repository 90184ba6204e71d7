/** The console on a phone: what can be touched is large enough, nothing is wider than the window, and each request has its time.
 *  It must not look at colours: the other tests do. */
import { expect, test } from 'vitest';
import { describeInBrowser, startBrowser } from '../support/browser.ts';
import { startScene } from '../support/console-scene.ts';
import { shared } from '../support/shared.ts';

/** As text: this file knows no browser. What lies in a row of requests is as large as its row. */
const TOO_SMALL = `[...document.querySelectorAll('a:not(.skip, .request-row a), button, input, select, textarea, summary, [role=tab]')]
  .filter((each) => each.checkVisibility() && each.disabled !== true)
  .map((each) => ({ box: (each.closest('label') ?? each).getBoundingClientRect(), name: each.ariaLabel ?? each.textContent }))
  .filter(({ box }) => box.width > 1 && box.height > 1 && box.height < 43.5)
  .map(({ box, name }) => Math.round(box.height) + ' px: ' + name.slice(0, 60))`;

describeInBrowser('the console on a phone', () => {
  const scene = shared(startScene);
  const browser = shared(startBrowser);

  test.each([
    ['/', 'everything.get-sum'],
    ['/requests', 'careful-sum'],
    ['/approvals', 'wants to be called'],
    ['/dead-letters', 'tool.filesystem'],
    ['/tools', 'get-sum'],
    ['/tools/everything.get-sum', 'Edit as JSON'],
    ['/agents', 'Start a run'],
    ['/agents/default', 'Task'],
    ['/requests/careful-sum', 'Legend'],
    ['/requests/example-files?tab=conversation', 'Result'],
    ['/requests/example-files?tab=signals', 'received'],
  ])('%s is touched with a thumb', async (path, words) => {
    await using shown = await browser.open(scene.url, path, { width: 390, height: 844 });
    const { page } = shown;
    await page.locator('main').getByText(words).first().waitFor();
    expect(await page.evaluate(TOO_SMALL)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  test('each request has its time, and a touch of its row opens it', async () => {
    await using shown = await browser.open(scene.url, '/requests', { width: 390, height: 844 });
    const { page } = shown;
    const row = page.locator('.request-rows [role=row]').filter({ hasText: 'read-missingmd' });
    await row.locator('time').waitFor();
    const box = await row.boundingBox();
    await page.mouse.click((box?.x ?? 0) + 250, (box?.y ?? 0) + 50);
    await page.waitForURL(/requests\/read-missingmd/);
  });
});
