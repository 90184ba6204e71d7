/** A log of 100,000 signals in a real browser: read, scrolled, searched, followed live, and bounded in what the page holds.
 *  It must not measure time: only what is shown, and how much the page holds of it. */
import { expect, test } from 'vitest';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { openLongLog } from '../support/long-log.ts';
import { weigh } from '../support/page-weight.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const COUNT = 100_000;
const LONG = 90_000;
/** Lines in sight, those around them, and the frame. */
const MOST_ELEMENTS = 1_500;
const MOST_HEAP_BYTES = 250_000_000;

describeInBrowser('a log of 100,000 signals', () => {
  const redis = useRedis();
  const service = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));
  const log = shared(async () => openLongLog(redis.url, service.prefix, 'long-log'));
  const browser = shared(startBrowser);

  test(
    'is read, scrolled to its end, searched, and followed until its request ends',
    { timeout: LONG * 2 },
    async () => {
      await log.append(COUNT);
      await using shown = await browser.open(service.url, `/requests/${log.requestId}?tab=signals`);
      const { page } = shown;
      page.setDefaultTimeout(LONG);
      const line = (text: string) => page.locator('.signals-box').getByText(text, { exact: true });
      const box = page.getByRole('log', { name: 'Log' });
      const received = (count: number) => page.getByText(`${count.toLocaleString('en-GB')} received`);
      // The start of the call is the first.
      await received(COUNT + 1).waitFor();
      await page.getByRole('banner').getByText('Live').waitFor();
      await line(`piece-${COUNT - 1}`).waitFor();
      const whole = await weigh(page);
      expect(whole.elements).toBeLessThan(MOST_ELEMENTS);
      expect(whole.heapBytes).toBeLessThan(MOST_HEAP_BYTES);

      await box.focus();
      await page.keyboard.press('Home');
      await line('piece-1').waitFor();
      expect(await page.getByRole('checkbox', { name: 'Follow' }).isChecked()).toBe(false);
      await page.evaluate("document.querySelector('.signals-box').scrollTo({ top: 1_000_000 })");
      await line('piece-50001').waitFor();

      // Who reads in the middle stays there, and the end is one key away.
      await log.append(10);
      await received(COUNT + 11).waitFor();
      await line('piece-50001').waitFor();
      await page.keyboard.press('f');
      await line(`piece-${COUNT + 9}`).waitFor();
      await log.append(10);
      await line(`piece-${COUNT + 19}`).waitFor();

      await page.getByLabel('Find in the log').fill('piece-99999');
      await page.getByText(/^1 of 100 k$/).waitFor();
      await page.getByLabel('Find in the log').fill('');
      await expectAccessible(page);

      await page.getByRole('tab', { name: 'Raw' }).click();
      await page.getByRole('tree', { name: 'timeline' }).waitFor();
      await page.getByRole('tab', { name: 'Conversation' }).click();
      await page.getByText('piece-1 piece-2').first().waitFor();
      expect((await weigh(page)).elements).toBeLessThan(MOST_ELEMENTS);
      await log.end();
      await page.getByRole('banner').getByText('Ended').waitFor();
    },
  );
});
