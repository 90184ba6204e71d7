/** Schedules, and what begins later, in a real browser: seen in the list, on their pages and in the timeline; created, edited, triggered, paused, resumed, deleted.
 *  It must not wait for an instant of a schedule: that is tested without a browser. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const HOUR_MS = 3_600_000;
const CONFIG = {
  agents: { clerk: { description: 'Answers', model_alias: 'fast', tools: [] } },
  providers: { scripted: { type: 'scripted' } },
  models: { fast: ['scripted:demonstration'] },
};
const HOSTILE = '<img src=x onerror=alert(1)>';

describeInBrowser('schedules and what begins later', () => {
  const redis = useRedis();
  const service = shared(async () => startService({ redisUrl: redis.url, config: CONFIG }));
  const client = shared(async () => {
    const http = createHttpClient({ baseUrl: service.url });
    return Object.assign(http, { [Symbol.asyncDispose]: async () => http.close() });
  });
  const browser = shared(startBrowser);
  const call = { type: 'tool_exec', tool_name: 'peer.none', arguments: {} } as const;

  test('a schedule is triggered, paused with a note and resumed, and its request leads back to it', async () => {
    await client.schedules.create({
      id: 'nightly',
      cron: '30 2 * * *',
      time_zone: 'Europe/Berlin',
      directives: [call],
    });
    await client.schedules.create({ id: 'hourly', every_ms: HOUR_MS, directives: [call] });
    await using shown = await browser.open(service.url, '/schedules');
    const { page } = shown;
    const list = page.getByRole('table', { name: 'Schedules' });
    await list.getByText('30 2 * * * · Europe/Berlin').waitFor();
    await list.getByText('every 1 h').waitFor();
    await expectAccessible(page);
    await list.getByRole('button', { name: 'nightly' }).click();
    const one = page.getByRole('region', { name: 'Schedule nightly' });
    await one.getByRole('button', { name: 'Trigger…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('submitted now').waitFor();
    await expectAccessible(page);
    // Enter takes the way out.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect((await client.schedules.get('nightly')).history).toEqual([]);
    await one.getByRole('button', { name: 'Trigger…' }).click();
    await dialog.getByRole('button', { name: 'Trigger', exact: true }).click();
    await one.getByRole('link', { name: 'triggered' }).waitFor();
    await one.getByRole('button', { name: 'Pause…' }).click();
    await dialog.getByLabel('Note').fill(HOSTILE);
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await list.getByText(HOSTILE).waitFor();
    expect(await page.locator('img[src=x]').count()).toBe(0);
    await expectAccessible(page);
    await one.getByRole('button', { name: 'Resume…' }).click();
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
    await one.getByRole('button', { name: 'Pause…' }).waitFor();
    await one.getByRole('link', { name: 'triggered' }).click();
    await page.getByRole('link', { name: 'nightly' }).click();
    await one.waitFor();
    const { history } = await client.schedules.get('nightly');
    expect(history.map(({ outcome }) => outcome)).toEqual(['triggered']);
  });

  test('a schedule is created, looks failing when its request fails, is edited without loss, and deleted', async () => {
    await using shown = await browser.open(service.url, '/schedules', { expected: [/status of 40[04]/] });
    const { page } = shown;
    await page.getByRole('button', { name: 'New schedule…' }).click();
    const form = page.getByRole('dialog', { name: 'New schedule' });
    await form.getByLabel('Id').fill('made-here');
    await form.getByRole('combobox', { name: 'Kind of the content' }).click();
    await page.getByRole('option', { name: /JSON/ }).click();
    await form
      .getByRole('textbox', { name: 'Content' })
      .fill(JSON.stringify({ directives: [{ ...call, arguments: { text: HOSTILE }, max_retries: 0 }] }));
    await form.getByLabel('Cron expression').fill('not a time');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('alert').getByText('cron', { exact: true }).waitFor();
    await form.getByLabel('Cron expression').fill('15 3 1 1 *');
    await expectAccessible(page);
    await form.getByRole('button', { name: 'Create' }).click();
    const one = page.getByRole('region', { name: 'Schedule made-here' });
    await one.getByText('15 3 1 1 * · UTC').waitFor();
    await client.schedules.trigger('made-here', { key: 'now' });
    const list = page.getByRole('table', { name: 'Schedules' });
    await list.getByText('its last request failed').waitFor();
    await list.getByText('active, failing').waitFor();
    await one.getByRole('cell', { name: 'failed' }).waitFor();
    await expectAccessible(page);
    await one.getByRole('button', { name: 'Edit…' }).click();
    const edit = page.getByRole('dialog', { name: 'Edit made-here' });
    await edit.getByRole('combobox', { name: 'Kind of the timing' }).click();
    await page.getByRole('option', { name: 'at an interval' }).click();
    await edit.getByLabel('Interval').fill('6h');
    await edit.getByRole('button', { name: 'Save' }).click();
    await one.getByText('every 6 h').waitFor();
    const { template, every_ms: every } = await client.schedules.get('made-here');
    expect([every, template.directives?.[0]?.['arguments']]).toEqual([6 * HOUR_MS, { text: HOSTILE }]);
    await one.getByRole('button', { name: 'Delete…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await one.waitFor({ state: 'hidden' });
    expect((await client.schedules.list()).schedules.map(({ id }) => id)).not.toContain('made-here');
  });

  test('a schedule that is not there is said to be, and the others stay', async () => {
    await using shown = await browser.open(service.url, '/schedules?schedule=gone', {
      width: 390,
      theme: 'light',
      expected: [/status of 404/],
    });
    await shown.page.getByRole('alert').getByText('not_found').waitFor();
    await shown.page.getByRole('table', { name: 'Schedules' }).waitFor();
    await expectAccessible(shown.page);
  });

  test('what begins later says when, in the list, on its page and in its timeline', async () => {
    await client.submit({
      ...call,
      request_id: 'later-call',
      id: 'one',
      delay_ms: HOUR_MS,
      start_by_ms: HOUR_MS,
    });
    await client.runs.start({ request_id: 'later-run', agent: 'clerk', query: 'Hi', delay_ms: HOUR_MS });
    await using shown = await browser.open(service.url, '/requests');
    const { page } = shown;
    const rows = page.locator('.request-rows [role=row]').filter({ hasText: 'begins at' });
    for (const id of ['later-run', 'later-call']) await rows.filter({ hasText: id }).waitFor();
    await page.getByRole('link', { name: 'later-run' }).click();
    await page.locator('.request-facts').getByText('begins at').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'later-call' }).click();
    await page.locator('.request-facts').getByText('begins at').waitFor();
    const row = page.locator('.timeline-row').filter({ hasText: 'begins at' });
    await row.click();
    const facts = page.getByRole('complementary', { name: 'Inspector' });
    for (const text of ['It begins at', 'May begin', 'Begins by']) await facts.getByText(text).waitFor();
    expect(await page.locator('.segment-later.segment-open').count()).toBe(1);
    expect(await page.locator('.timeline-row .segment').count()).toBe(1);
    expect(await facts.getByText('queued').count()).toBe(0);
    await expectAccessible(page);
    await client.cancel('later-call');
    await page.locator('.request-facts').getByText('begins at').waitFor({ state: 'hidden' });
  });

  test('what has not begun in time says why, and what to do', async () => {
    await using idle = await startService({ redisUrl: redis.url, roles: { api: true, engine: true } });
    const caller = createHttpClient({ baseUrl: idle.url });
    await caller.submit({ ...call, request_id: 'late', id: 'one', start_by_ms: 1 });
    await caller.close();
    await using shown = await browser.open(idle.url, '/requests/late?step=late%2Fone');
    await shown.page.getByText('No attempt began within').first().waitFor();
    await shown.page.getByText('Check for a free worker').first().waitFor();
    await expectAccessible(shown.page);
  });
});
