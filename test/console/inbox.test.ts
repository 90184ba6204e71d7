/** The pages of tools, agents, approvals and dead letters in a real browser.
 *  It must not test the frame around them, nor the page of a request. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { shared, useRedis } from '../support/shared.ts';
import { startShownService } from '../support/shown-service.ts';

describeInBrowser('the console', () => {
  const redis = useRedis();
  // The service reads the built console at its start.
  const browser = shared(startBrowser);
  const service = shared(async () => startShownService(redis.url));
  const client = (): DirectiveClient => createHttpClient({ baseUrl: service.url });

  /** A run whose call of `mail.send` waits. */
  async function waitingRun(): Promise<string> {
    const { request_id } = await client().runs.start({ agent: 'clerk', query: 'Please mail the ledger' });
    for await (const { type } of client().signals(request_id))
      if (type === 'ai.tool.approval_requested') break;
    return request_id;
  }

  async function endOf(requestId: string): Promise<unknown> {
    let last: unknown = null;
    for await (const { type, data } of client().signals(requestId)) last = { type, data };
    return last;
  }

  const failing = async (): Promise<unknown> =>
    client().execute({ type: 'tool_exec', tool_name: 'mail.charge', arguments: {} });

  const focused = async (page: Page): Promise<unknown> => page.evaluate('document.activeElement.textContent');

  test('shows tools with hostile words as text, and calls one that only reads', async () => {
    await using shown = await browser.open(service.url, '/tools');
    const { page } = shown;
    await page.getByText('<img src=x onerror=alert(1)><script>').waitFor();
    await page.getByText('001b').first().waitFor();
    await expectAccessible(page);
    await page.getByRole('link', { name: 'hostile' }).click();
    await page.getByRole('button', { name: 'Call mail.hostile' }).click();
    await page.getByLabel('The call').getByText('https://evil.example/').waitFor();
    expect(await page.getByRole('link', { name: /evil/ }).count()).toBe(0);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  test('asks before it calls a tool that acts once, and names each field that is wrong', async () => {
    await using shown = await browser.open(service.url, '/tools/mail.send', { theme: 'light' });
    const { page } = shown;
    await page.getByRole('button', { name: 'Call mail.send' }).click();
    await page.getByText('is required').first().waitFor();
    await page.getByLabel('to', { exact: true }).fill('ana@example.org');
    await page.getByLabel('subject').fill('hello');
    await page.getByRole('button', { name: 'Add labels' }).click();
    await page.getByRole('textbox', { name: 'labels 1' }).fill('new');
    await expectAccessible(page);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await expect.poll(() => focused(page)).toBe('Cancel');
    await page.getByRole('button', { name: 'Call once' }).click();
    await page.getByText('sent "hello" to ana@example.org').waitFor();
  });

  test('shows pictures and sounds, and nothing that could run', async () => {
    await using shown = await browser.open(service.url, '/tools/mail.media', { width: 390 });
    const { page } = shown;
    await page.getByRole('button', { name: 'Call mail.media' }).click();
    await page.getByRole('link', { name: 'Download image.svg' }).waitFor();
    expect(await page.locator('main img').count()).toBe(1);
    expect(await page.locator('main img').getAttribute('src')).toMatch(/^blob:/);
    expect(await page.locator('main audio').count()).toBe(1);
    expect(await page.getByRole('link', { name: 'a link' }).count()).toBe(0);
    await page.getByText('javascript:alert(4)').waitFor();
    await expectAccessible(page);
  });

  test('tells the second of two people who decided first', async () => {
    const requestId = await waitingRun();
    const path = `/approvals?item=${requestId}%2Ftool-1-0`;
    await using one = await browser.open(service.url, path);
    await using other = await browser.open(service.url, path, {
      width: 390,
      theme: 'light',
      expected: [/status of 409/],
    });
    await one.page.getByText('I send the ledger to the people on call.').waitFor();
    await expectAccessible(one.page);
    await one.page.keyboard.press('a');
    await one.page.getByRole('dialog', { name: 'Approve mail.send?' }).waitFor();
    await expect.poll(() => focused(one.page)).toBe('Keep open');
    await one.page.keyboard.press('Enter');
    await one.page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect((await client().request(requestId))?.run?.waiting_for).toMatchObject([{ kind: 'approval' }]);

    await other.page.getByRole('button', { name: 'Deny' }).click();
    await other.page.getByLabel('Reason').fill('too late');
    await expectAccessible(other.page);
    await one.page.keyboard.press('a');
    await one.page.getByLabel('Your name').fill('Ana');
    await one.page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await one.page.getByRole('dialog').waitFor({ state: 'hidden' });
    await other.page.getByRole('dialog').getByRole('button', { name: 'Deny' }).click();
    await other.page.getByText(/^Approved .* ago by Ana$/).waitFor();
    await endOf(requestId);
    await other.page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await other.page.getByText('No pending approvals').waitFor();
  });

  test('approves a call with other arguments', async () => {
    const requestId = await waitingRun();
    await using shown = await browser.open(service.url, '/approvals');
    const { page } = shown;
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Arguments' }).fill('{"to": 1');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('is not JSON').waitFor();
    await page
      .getByRole('textbox', { name: 'Arguments' })
      .fill('{"to": "eve@example.org", "subject": "edited"}');
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByText('No pending approvals').waitFor();
    expect(JSON.stringify(await endOf(requestId))).toContain('edited');
  });

  test('counts dead letters live, and redrives those that were looked at', async () => {
    await failing();
    await using shown = await browser.open(service.url, '/dead-letters');
    const { page } = shown;
    const row = page.getByRole('row').filter({ hasText: 'tool_error' }).first();
    await row.getByRole('cell', { name: '1', exact: true }).waitFor();
    await failing();
    await row.getByRole('cell', { name: '2', exact: true }).waitFor();
    await row.getByRole('button', { name: 'tool_error' }).click();
    await page.getByRole('button', { name: 'mail.charge' }).first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByText('It failed.').waitFor();
    await page.keyboard.press('x');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Redrive 1 selected' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nothing has been done yet').waitFor();
    expect(await dialog.getByRole('button', { name: 'Redrive 1' }).isDisabled()).toBe(true);
    await dialog.getByRole('checkbox').check();
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Redrive 1' }).click();
    await dialog.getByText('1 redriven, 0 refused, 0 not there any more.').waitFor();
  });

  test('starts a run of an agent, and shows what it does until its end', async () => {
    await using shown = await browser.open(service.url, '/agents');
    const { page } = shown;
    await page.getByRole('link', { name: 'Start a run of clerk' }).click();
    await page.getByLabel('Task').fill('Please mail the ledger');
    // What was written is there again.
    await page.getByRole('link', { name: 'Tools' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Tools' }).waitFor();
    await page.goBack();
    await page.reload();
    expect(await page.getByLabel('Task').inputValue()).toBe('Please mail the ledger');
    await page.getByText('Model, tools, tags, conversation').click();
    await page.getByLabel('Tags').fill('night, support');
    await page.getByLabel('Overrides').fill('{"temperature": 0');
    await page.getByText('is not JSON').waitFor();
    await page.getByLabel('Overrides').fill('{"temperature": 0}');
    await expectAccessible(page);
    await page.getByLabel('Task').focus();
    await page.keyboard.press('Control+Enter');
    await page.getByText('A call waits for a decision').waitFor();
    await expectAccessible(page);
    const requestId = new URL(page.url()).searchParams.get('request') ?? '';
    const { requests } = await client().requests({ tag: 'night' });
    expect(requests.map(({ request_id: id, tags }) => [id, tags])).toEqual([
      [requestId, ['night', 'support']],
    ]);
    await client().runs.decide(requestId, 'tool-1-0', { decision: 'approve' });
    await page.getByText('The mail is out').first().waitFor();
    await page.getByLabel('Next message of this conversation').fill('and thanks');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('1 other run of this conversation').waitFor();
    expect(await page.getByLabel('Next message of this conversation').inputValue()).toBe('');
  });
});
