/** What the overview says of budgets, in a real browser, after real calls of a model.
 *  It must never reach a provider: a server of the test answers like one. */
import { expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { describeInBrowser, expectAccessible, startBrowser } from '../support/browser.ts';
import { json, startProvider } from '../support/provider-server.ts';
import { startService } from '../support/running-service.ts';
import { shared, useRedis } from '../support/shared.ts';

const ANSWER = {
  id: 'a',
  object: 'chat.completion',
  model: 'gpt',
  choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'yes' } }],
  usage: { prompt_tokens: 1_820, completion_tokens: 940, total_tokens: 2_760 },
};
const price = { input: 1.25, output: 10 };

describeInBrowser('spend on the overview', () => {
  const redis = useRedis();
  const provider = shared(async () => startProvider(json(200, ANSWER)));
  const browser = shared(startBrowser);
  const openai = (models: object) => ({ type: 'openai-compatible', base_url: `${provider.url}/v1`, models });

  test('shows each budget with its limit, its models, and what it held back', async () => {
    const config = {
      providers: { main: openai({ gpt: { price } }), other: openai({ small: { price } }) },
      models: { smart: ['main:gpt'], small: ['other:small'] },
      budgets: {
        rules: {
          all: {},
          smart: { alias: 'smart', tokens_per_day: 5_000, on_breach: 'cheaper', cheaper: 'small' },
        },
      },
    };
    await using service = await startService({ redisUrl: redis.url, config });
    const client = createHttpClient({ baseUrl: service.url });
    const context = [{ role: 'user' as const, content: 'hi' }];
    for (let call = 0; call < 3; call += 1)
      await client.execute({ type: 'llm_generate', model: 'smart', context, max_tokens: 2_300 });
    await client.close();
    await using shown = await browser.open(service.url, '/');
    const { page } = shown;
    const table = page.getByRole('table', { name: 'Spend today' });
    await table.waitFor();
    expect(await table.locator('tbody tr').allInnerTexts()).toEqual([
      'all\t8,280\t$0.0350',
      'small\t5,520\t$0.0233',
      'smart\t2,760\t$0.0117',
      'smart\t2,760 of 5,000\t$0.0117',
      '2 held back, answered by small',
    ]);
    await expectAccessible(page);
  });
});
