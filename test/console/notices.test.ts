/** Who is notified of an end, on the page of a request in a real browser: while it waits, delivered, failed; and why a directive waits.
 *  It must never send to anybody but the receiver of the test. */
import { expect, test } from 'vitest';
import type { Locator } from 'playwright-core';
import { createHttpClient } from '../../src/client/http-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { eventually } from '../support/eventually.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';
import { newSecret, startReceiver } from '../support/webhook-receiver.ts';

const SECRET = newSecret();

describeInBrowser('notices on the page of a request', () => {
  const redis = useRedis();
  const receiver = shared(async () => startReceiver(SECRET));
  const browser = shared(startBrowser);
  const service = shared(async () => {
    const at = (path: string) => ({ url: receiver.url + path, secrets: [SECRET], private_addresses: true });
    const once = { max_retries: 1, retry_backoff_ms: 20 };
    const endpoints = {
      taken: at('/ok'),
      refused: { ...at('/fails'), ...once },
      later: { ...at('/held'), timeout_ms: 120_000 },
    };
    return startService({
      redisUrl: redis.url,
      config: {
        mcpServers: {},
        remote_directives: { score: {} },
        webhooks: { endpoints },
        providers: { scripted: { type: 'scripted' } },
        models: { scripted: 'scripted:any' },
        agents: { clerk: { model_alias: 'scripted' } },
      },
    });
  });

  const facts = (place: Locator) => place.locator('.notices');

  test('of a directive: how each stands, also as it changes, and the way to the delivery', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    const call = { type: 'tool_exec', tool_name: 'nowhere.echo', request_id: 'r', id: 'a' } as const;
    await client.submit({ ...call, on_end: ['taken', 'refused', 'later'] });
    await eventually(() => receiver.about('r').length).toBe(4);
    await using shown = await browser.open(service.url, '/requests/r?step=r%2Fa');
    const { page } = shown;
    const notices = facts(page.getByRole('complementary'));
    await notices.getByText('taken delivered, 1 attempt').waitFor();
    await notices
      .getByText('refused dead, 2 attempts (webhook_failed: the receiver answered with status')
      .waitFor();
    await notices.getByText('later waiting, 1 attempt').waitFor();
    await page.locator('.timeline-label').getByText('unknown_tool').waitFor();
    await expectAccessible(page);
    receiver.answerHeld();
    await notices.getByText('later delivered, 1 attempt').waitFor();
    await notices.getByRole('link', { name: 'refused' }).click();
    await page.getByRole('heading', { level: 1, name: /webhook_send/ }).waitFor();
    expect(new URL(page.url()).pathname).toMatch(/^\/console\/requests\/webhook\./);
  });

  test('a directive whose program is not there says so in the head of its page, and its lane in the overview', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    await client.submit({ type: 'score', request_id: 'unserved', id: 'work' } as never);
    await using shown = await browser.open(service.url, '/requests/unserved');
    const { page } = shown;
    await page.locator('.request-head').getByText('waits: no program asks').waitFor();
    await page.goto(`${service.url}/console`);
    const lane = page.getByRole('row').filter({ hasText: 'custom.score' });
    await lane.getByText('held up').waitFor();
  });

  test('of a run, in the head of its page', async () => {
    const client = createHttpClient({ baseUrl: service.url });
    await client.runs.start({ agent: 'clerk', query: 'hello', request_id: 'run', on_end: 'taken' });
    await using shown = await browser.open(service.url, '/requests/run');
    const head = facts(shown.page.locator('.request-head'));
    await head.getByText('taken delivered, 1 attempt').waitFor();
    expect(receiver.about('run').map(({ event }) => event.type)).toEqual(['run.ended']);
  });
});
