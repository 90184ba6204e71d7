/** What follows a failed or finished run on the pages of the console, in a real browser: resume, run again, fork, compare, and what the
 *  model was asked (issue 35, sections A and C). The provider of the test counts what it is asked. */
import { Redis } from 'ioredis';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { createHttpClient } from '../../src/client/http-client.ts';
import { keySpace } from '../../src/store/keys.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { HOSTILE_TEXT } from '../support/console-run.ts';
import { eventually } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { json, startProvider } from '../support/provider-server.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
const usage = { prompt_tokens: 120, completion_tokens: 40, total_tokens: 160 };

interface Asked {
  readonly model: string;
  readonly messages: readonly {
    readonly role: string;
    readonly content?: unknown;
    readonly tool_calls?: unknown;
  }[];
}

let isAway = false;

/** The first answer calls a tool, the second one answers. While it is away, every call is refused. */
const answer = (index: number, { model, messages }: Asked) => {
  const hasCalled = messages.some(({ role }) => role === 'tool');
  const call = {
    id: `c${index}`,
    type: 'function',
    function: { name: 'peer_add', arguments: '{"a":1,"b":2}' },
  };
  const message = hasCalled
    ? { content: `The sum is 3. ${HOSTILE_TEXT}` }
    : { content: 'I add them.', tool_calls: [call] };
  const choice = { index: 0, finish_reason: hasCalled ? 'stop' : 'tool_calls', message };
  return { id: 'a', object: 'chat.completion', model, choices: [choice], usage };
};

describeInBrowser('after a run', () => {
  const redis = useRedis();
  const provider = shared(async () =>
    startProvider(async (response, request, index) =>
      isAway
        ? json(400, { error: { message: `away ${HOSTILE_TEXT}` } })(response, request, index)
        : json(200, answer(index, request.body as Asked))(response, request, index),
    ),
  );
  const browser = shared(startBrowser);
  const folder = shared(async () => {
    const path = await mkdtemp(join(tmpdir(), 'adjutant-console-archive-'));
    return { path, [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true }) };
  });
  const service = shared(async () => {
    const price = { input: 1, output: 5 };
    const main = {
      type: 'openai-compatible',
      base_url: `${provider.url}/v1`,
      models: { first: { price }, second: { price } },
    };
    const clerk = {
      model: 'main:first',
      system_prompt: 'You add numbers.',
      tools: ['peer.*'],
      stream: false,
      model_call: { max_retries: 0 },
    };
    const peer = ownServerEntry('legacy-peer.ts');
    const asking = { ...ownServerEntry('asking-peer.ts'), questions: true };
    const mcpServers = { peer, guarded: { ...peer, approve: ['*'] }, asking };
    return startService({
      redisUrl: redis.url,
      config: { mcpServers, providers: { main }, agents: { clerk }, archive: { folder: folder.path } },
    });
  });
  const client = shared(async () => {
    const http = createHttpClient({ baseUrl: service.url });
    return Object.assign(http, { [Symbol.asyncDispose]: async () => http.close() });
  });

  async function failed(id: string): Promise<void> {
    isAway = true;
    await client.runs.run({ agent: 'clerk', query: `add them, ${id}`, request_id: id });
    isAway = false;
  }

  const failure = (page: Page) => page.getByRole('region', { name: 'How it failed' });

  test('the error, its advice and the button are under the title, the failed step is chosen, and resuming completes the run', async () => {
    await failed('fails');
    await using shown = await browser.open(service.url, '/requests/fails', WIDE);
    const { page } = shown;
    await failure(page).getByText('away <img src=x').waitFor();
    await page.waitForURL(/step=fails%2Fmodel-1/);
    await page
      .getByRole('region', { name: 'Step model-1' })
      .getByText('You add numbers.')
      .waitFor({ state: 'attached' });
    await page.getByRole('list', { name: 'Messages as sent' }).getByText('add them, fails').waitFor();
    await expectAccessible(page);
    await failure(page).getByRole('button', { name: 'Resume…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resume the run?' });
    await dialog.getByLabel('Message').fill('try again');
    await dialog.getByRole('textbox', { name: 'Model optional' }).fill('main:second');
    await expectAccessible(page);
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('completed (final_answer)').waitFor();
    await failure(page).waitFor({ state: 'hidden' });
    const { run } = (await client.request('fails')) ?? {};
    expect([run?.resumed, run?.status]).toEqual([1, 'completed']);
    expect(provider.seen.map(({ body }) => (body as Asked).model)).toEqual(['first', 'second', 'second']);
  });

  test('a call of unknown outcome is decided about before the run resumes', async () => {
    await failed('unsure');
    await using shown = await browser.open(service.url, '/requests/unsure', { ...WIDE, expected: [/409/] });
    const { page } = shown;
    const calls = [{ id: 'tool-1-0', tool_name: 'pay.send', message: 'lost' }];
    const refusal = { type: 'about:blank', title: 'Conflict', status: 409, code: 'outcome_unknown', calls };
    const bodies: unknown[] = [];
    // The service would need a worker that dies during a `once` call: its refusal is tested without a browser.
    await page.route('**/v1/requests/unsure/resume', async (route) => {
      bodies.push(route.request().postDataJSON());
      await route.fulfill({ status: 409, json: refusal });
    });
    await failure(page).getByRole('button', { name: 'Resume…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Resume the run?' });
    const act = dialog.getByRole('button', { name: 'Resume', exact: true });
    await act.click();
    await dialog.getByText('pay.send').waitFor();
    expect(await act.isDisabled()).toBe(true);
    await dialog.getByRole('combobox', { name: 'Decision about tool-1-0' }).click();
    await page.getByRole('option', { name: /It was done/ }).click();
    await dialog.getByLabel('Result of tool-1-0').fill('{"paid": true}');
    await expectAccessible(page);
    await act.click();
    await expect
      .poll(() => bodies)
      .toEqual([
        { decisions: {} },
        { decisions: { 'tool-1-0': { action: 'done', result: { paid: true } } } },
      ]);
  });

  test('a run is run again with changes, forked at a turn, and both are compared with the original', async () => {
    await client.runs.run({ agent: 'clerk', query: `add 1 and 2 ${HOSTILE_TEXT}`, request_id: 'original' });
    await using shown = await browser.open(service.url, '/requests/original?step=original%2Fmodel-2', WIDE);
    const { page } = shown;
    const step = page.getByRole('region', { name: 'Step model-2' });
    await step.getByText('120 → 40').waitFor();
    await step.getByText('stop', { exact: true }).waitFor();
    await step.getByText('not streamed').waitFor();
    await step.getByText('The sum is 3.').waitFor();
    await page.getByRole('button', { name: 'Run again…' }).click();
    const again = page.getByRole('dialog', { name: 'Run this again?' });
    await again.getByLabel('Task').fill('add them anew');
    await again.getByRole('textbox', { name: 'Model' }).fill('main:second');
    await expectAccessible(page);
    await again.getByRole('button', { name: 'Run again', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'add them anew' }).waitFor();
    await page.getByText('run again from original').waitFor();
    await page.getByText('completed (final_answer)').waitFor();
    await page.locator('.request-head').getByRole('link', { name: 'original' }).click();
    await page.getByText('copied to console-').waitFor();

    await page.goto(`${service.url}/console/requests/original?step=original%2Fmodel-2`);
    await page.getByRole('button', { name: 'Fork here…' }).click();
    const fork = page.getByRole('dialog', { name: 'Fork at turn 2?' });
    await fork.getByLabel('Message').fill('say it in a word');
    await fork.getByRole('combobox', { name: 'Change the result of a call' }).click();
    await page.getByRole('option', { name: 'tool-1-0' }).click();
    await fork.getByLabel('Result of tool-1-0').fill('{"sum": 4}');
    await fork.getByText('Dry: call none').click();
    await expectAccessible(page);
    await fork.getByRole('button', { name: 'Fork', exact: true }).click();
    await page.getByText('forked at turn 2 of original').waitFor();
    await page.getByText('completed (final_answer)').waitFor();
    const asked = provider.seen.at(-1)?.body as Asked | undefined;
    expect(asked?.messages.filter(({ role }) => role !== 'system').map(({ content }) => content)).toEqual([
      `add 1 and 2 ${HOSTILE_TEXT}`,
      'I add them.',
      '{"sum":4}',
      'say it in a word',
    ]);

    await page.getByRole('link', { name: 'compare' }).click();
    await page.getByRole('heading', { name: 'They part at turn 2, messages[2].content' }).waitFor();
    const turns = page.getByRole('region', { name: 'Turns' });
    await turns.getByText('taken over by the fork').waitFor();
    const turn = turns.locator('details').filter({ hasText: 'Turns 2 and 1' }).first();
    await turn.locator('summary').first().click();
    await turn.getByText('First: ').first().waitFor();
    await expectAccessible(page);
    expect(await page.locator('main img, main script').count()).toBe(0);
  });

  test('approvals of runs and of calls without an agent are decided together, beside the task of the user', async () => {
    const asks = { approvals: { 'peer.add': 'ask' } } as const;
    for (const id of ['ask-1', 'ask-2']) {
      await client.runs.start({
        agent: 'clerk',
        query: `add them for ${id}`,
        request_id: id,
        overrides: asks,
      });
      for await (const { type } of client.signals(id)) if (type === 'ai.tool.approval_requested') break;
    }
    const call = { type: 'tool_exec', tool_name: 'guarded.say', id: 'call', request_id: 'lone' } as const;
    await client.submit({ ...call, arguments: { texts: ['<img src=x onerror=alert(1)>'] } });
    for await (const { type } of client.signals('lone')) if (type === 'ai.tool.input_requested') break;
    await using shown = await browser.open(service.url, '/approvals?item=ask-1%2Ftool-1-0', WIDE);
    const { page } = shown;
    await page.getByText('The user asked').waitFor();
    await page
      .getByRole('region', { name: 'What is to be decided' })
      .getByText('add them for ask-1')
      .waitFor();
    await page.getByText('<img src=x').first().waitFor();
    await expectAccessible(page);
    await page.getByLabel('Select all').check();
    await page.getByRole('button', { name: 'Approve 3…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve 3 items?' });
    await dialog.getByRole('list', { name: 'Items to decide' }).getByText('guarded.say').waitFor();
    await expectAccessible(page);
    // The way out has the focus: Enter decides nothing.
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'hidden' });
    expect((await client.request('ask-1'))?.run?.status).toBe('waiting');
    await page.getByRole('button', { name: 'Approve 3…' }).click();
    await dialog.getByRole('button', { name: 'Approve 3', exact: true }).click();
    await page.getByText('No pending approvals').waitFor();
    for (const id of ['ask-1', 'ask-2', 'lone']) for await (const _ of client.signals(id));
    expect((await client.request('lone'))?.directives.map(({ status }) => status)).toEqual(['succeeded']);
    expect((await client.request('ask-2'))?.run?.status).toBe('completed');
  });

  test('a call that its server holds is approved on its own page', async () => {
    const call = { type: 'tool_exec', tool_name: 'guarded.say', id: 'call', request_id: 'held' } as const;
    await client.submit({ ...call, arguments: { texts: ['hi'] } });
    for await (const { type } of client.signals('held')) if (type === 'ai.tool.input_requested') break;
    await using shown = await browser.open(service.url, '/requests/held', PHONE);
    const { page } = shown;
    await page
      .getByRole('region', { name: 'Approval of guarded.say' })
      .getByText('Arguments: {"texts":["hi"]}')
      .waitFor();
    await page.getByRole('button', { name: 'Approve…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Approve the call' }).click();
    await page.locator('.request-facts').getByText('succeeded').waitFor();
    await expectAccessible(page);
  });

  test("the tool's form opens with the arguments of an earlier call", async () => {
    await using shown = await browser.open(service.url, '/requests/original?step=original%2Ftool-1-0');
    const { page } = shown;
    await page.getByRole('link', { name: "Open in the tool's form" }).click();
    await expect.poll(async () => page.getByRole('textbox', { name: 'b' }).inputValue()).toBe('2');
    expect(await page.getByRole('textbox', { name: 'a' }).inputValue()).toBe('1');
  });

  test('statistics by agent, one search over everything, and a list with ranges, views, columns and orders', async () => {
    await using shown = await browser.open(service.url, '/statistics?by=agent', WIDE);
    const { page } = shown;
    await page
      .getByRole('table', { name: 'Statistics by agent' })
      .getByRole('button', { name: 'clerk' })
      .waitFor();
    for (const name of [
      /^Started: [1-9]/,
      /^Failed: [1-9].*%/,
      /^Duration: .*p95/,
      /^Tokens: .* → /,
      /^Cost: \$/,
    ])
      await page.getByRole('img', { name }).waitFor();
    await expectAccessible(page);

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Search/ }).fill('add ask-2');
    await page.getByRole('option', { name: /request.*add them for ask-2/ }).waitFor();
    await expectAccessible(page);
    await page.getByRole('combobox', { name: /^Search/ }).fill('guarded.say');
    await page.getByRole('option', { name: 'tool guarded.say' }).click();
    await page.getByRole('heading', { level: 1, name: 'guarded.say' }).waitFor();

    await page.getByRole('link', { name: 'Requests' }).first().click();
    const rows = page.locator('.request-rows [role=row]');
    await rows.filter({ hasText: 'ask-1' }).waitFor();
    await page.getByRole('button', { name: 'Any time' }).click();
    await page.getByRole('menuitem', { name: 'From … until …' }).click();
    await page.getByLabel('From').fill('2020-01-01T00:00');
    await page.getByLabel('Until').fill('2020-01-02T00:00');
    await expectAccessible(page);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No request matches since:2020-01-01T00:00Z until:2020-01-02T00:00Z').waitFor();
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: 'Save this view…' }).click();
    await page.getByLabel('Name').fill('<b>old</b>');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Show all requests' }).click();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('menuitem', { name: 'Agent or tool ✓' }).click();
    await page.getByRole('columnheader', { name: 'Agent or tool' }).waitFor({ state: 'detached' });
    await page.getByRole('columnheader', { name: 'Cost' }).getByRole('button').click();
    await page.getByText('highest cost first').waitFor();
    await expectAccessible(page);
    await page.reload();
    await page.getByText('highest cost first').waitFor();
    expect(await page.getByRole('columnheader', { name: 'Agent or tool' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('menuitem', { name: '<b>old</b>' }).click();
    await page.waitForURL(/filter=since/);

    await page.getByRole('button', { name: 'Theme, keys and session' }).click();
    await page.getByRole('menuitem', { name: 'Times in UTC (Z)' }).click();
    await page.goto(`${service.url}/console/requests/ask-1?step=ask-1%2Fmodel-1`);
    await page
      .getByRole('region', { name: 'Step model-1' })
      .getByText(/^\d\d:\d\d:\d\dZ$/)
      .waitFor();
    await page
      .getByRole('region', { name: 'Step model-1' })
      .getByText(/ · on \S+/)
      .waitFor();
    await page.goto(`${service.url}/console/tools`);
    await page.getByText('stderr').first().click();
    await page
      .getByText('nothing to stderr')
      .or(page.getByRole('list', { name: /^stderr/ }))
      .first()
      .waitFor();
    await expectAccessible(page);
  });

  test('on a phone nothing is wider than the window, and the failure is the first thing', async () => {
    await failed('phone');
    await using shown = await browser.open(service.url, '/requests/phone', PHONE);
    const { page } = shown;
    await failure(page).getByRole('button', { name: 'Resume…' }).waitFor();
    await page.getByRole('region', { name: 'Step model-1' }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await expectAccessible(page);
    await page.goto(`${service.url}/console/statistics`);
    await page.getByRole('img', { name: /^Started/ }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await page.goto(`${service.url}/console/compare?a=original&b=phone`);
    await page.getByRole('heading', { name: /^They part at/ }).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
    await expectAccessible(page);
  });

  test('a model call of another program says at which turn a later pass left the record', async () => {
    const ask = async (...contents: readonly string[]): Promise<string> => {
      const messages = contents.map((content, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content,
      }));
      const response = await fetch(`${service.url}/runs/trip/openai/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'main:first', messages }),
      });
      await response.text();
      return response.headers.get('adjutant-request') ?? '';
    };
    await ask('Begin.');
    const id = await ask('Begin.', 'I add them.', `Go on. ${HOSTILE_TEXT}`);
    await ask('Begin.');
    await ask('Begin.', 'I add them.', 'Stop.');
    for (const size of [WIDE, PHONE]) {
      await using shown = await browser.open(service.url, `/requests/${id}`, size);
      const { page } = shown;
      await page.getByText(/turn 2 of the run/).waitFor();
      const divergence = page.getByRole('region', { name: 'Divergence' });
      await divergence.getByText('messages[2].content').waitFor();
      await divergence.getByRole('treeitem').filter({ hasText: 'Stop.' }).waitFor();
      expect(await page.locator('main img, main script').count()).toBe(0);
      await expectAccessible(page);
    }
  });

  test('results of two steps, or pasted JSON, are compared as one tree', async () => {
    await client.runs.run({ agent: 'clerk', query: 'add them to compare', request_id: 'values' });
    await using shown = await browser.open(service.url, '/requests/values?step=values%2Ftool-1-0', WIDE);
    const { page } = shown;
    await page.getByRole('link', { name: 'Compare its result' }).click();
    await page.getByLabel('Second step').fill('values/model-2');
    const tree = page.getByRole('tree', { name: 'differences' });
    await tree.getByRole('treeitem').filter({ hasText: '−' }).first().waitFor();
    await page.getByLabel('First JSON').fill(JSON.stringify({ same: 1, list: ['a', 'b'], text: '{"n":1}' }));
    await page
      .getByLabel('Second JSON')
      .fill(JSON.stringify({ same: 1, list: ['new', 'a', 'b'], text: '{"n":2}' }));
    await expect
      .poll(async () => tree.getByRole('treeitem').allTextContents())
      .toEqual([
        '{ 3 members }',
        'list: [ 3 items ]',
        '+0: "new"',
        'text: { 1 member } · JSON in a text',
        '−n: 1',
        '+n: 2',
      ]);
    await tree.getByRole('treeitem').filter({ hasText: 'n: 2' }).click();
    await page.getByText('$.text.n').waitFor();
    await page.getByRole('button', { name: 'Show equal members' }).click();
    await tree.getByRole('treeitem').filter({ hasText: 'same: 1' }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize(PHONE);
    await expectAccessible(page);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
  });

  test('an archived request says so, and has no way to what the archive cannot do', async () => {
    await failed('old');
    const archive = async (): Promise<string> =>
      (await fetch(`${service.url}/v1/requests/old/archive`)).text();
    await eventually(archive).toContain('"kind":"end"');
    // Redis forgets it, as after its retention.
    await using connection = Object.assign(new Redis(redis.url), {
      [Symbol.asyncDispose]: async () => connection.disconnect(),
    });
    await connection.del(...keySpace(service.prefix).request('old'));
    await using shown = await browser.open(service.url, '/requests/old', WIDE);
    const { page } = shown;
    await page.locator('.request-facts').getByText('archived', { exact: true }).waitFor();
    expect(await failure(page).getByRole('button', { name: 'Resume…' }).isDisabled()).toBe(true);
    expect(await failure(page).getByRole('button', { name: 'Run again…' }).isDisabled()).toBe(false);
    await expectAccessible(page);
  });

  // Issue 35, points 8 and 9.
  test('a question of a tool is answered in a form that its schema makes', async () => {
    const { request_id: id } = await client.submit({
      type: 'tool_exec',
      tool_name: 'asking.book',
      arguments: { label: 'form' },
    });
    await using shown = await browser.open(service.url, `/requests/${id}`, WIDE);
    const { page } = shown;
    const question = page.getByRole('region', { name: 'Question of a tool' });
    await question.getByLabel('Seats').fill('many');
    await question.getByRole('button', { name: 'Answer' }).click();
    await question.getByText('must be a number').waitFor();
    await expectAccessible(page);
    // Escape loses nothing that is written, wherever the focus is.
    await question.getByRole('button', { name: 'Decline' }).focus();
    await page.keyboard.press('Escape');
    await page.locator(':focus').blur();
    await page.keyboard.press('Escape');
    await question.getByLabel('Seats').fill('3');
    await question.getByRole('button', { name: 'Answer' }).click();
    await eventually(async () => (await client.request(id))?.status).toBe('closed');
    expect((await client.page(id)).signals.at(-1)?.data).toMatchObject({
      result: { ok: true, payload: '{"window":true,"seats":3}' },
    });
  });
});
