/** A page of another origin follows a run in a real browser, with a token for that run alone (issue 39, A.3).
 *  Public rule: docs/access.md, "Browsers": offset, CORS, tokens. The API is killed and the page is loaded again meanwhile. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';
import { servePage } from '../../examples/browser/serve.ts';
import { createAccessClient, createHttpClient } from '../../src/client/http-client.ts';
import { chromium, type Page } from 'playwright-core';
import { chromiumPath, describeInBrowser } from '../support/browser.ts';
import { install } from '../support/installation.ts';
import { startMockProvider } from '../support/mock-provider.ts';
import { freePort } from '../support/process.ts';
import { shared } from '../support/shared.ts';
import { numberedAnswers } from '../support/streams.ts';

const HOOK_PAGE = `
import { createElement, useLayoutEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createHttpClient } from ${JSON.stringify(resolve('src/client/plain-client.ts'))};
import { useRun } from ${JSON.stringify(resolve('client/react.ts'))};
const run = new URLSearchParams(location.search).get('run');
const { baseUrl, token } = await (await fetch('/token?run=' + run)).json();
const client = createHttpClient({ baseUrl, apiKey: token });
function Answer() {
  const [shown, show] = useState(run);
  const { text, signal, ended, error } = useRun(client, shown);
  // First committed state of no run.
  useLayoutEffect(() => {
    if (shown === null) globalThis.first ??= { text, signal, ended };
  });
  const members = { id: 'hook', 'data-ended': ended, 'data-error': String(error), onClick: () => show(null) };
  return createElement('p', members, text);
}
createRoot(document.body.appendChild(document.createElement('main'))).render(createElement(Answer));
export * from ${JSON.stringify(resolve('src/client/plain-client.ts'))};
`;

/** `entry`: a module, as text. */
async function bundled(entry: string, file: string): Promise<void> {
  const bundle = await rolldown({
    input: 'entry',
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id === 'entry' ? resolve('test/console/entry.ts') : null),
        load: (id) => (id === resolve('test/console/entry.ts') ? entry : null),
      },
    ],
    logLevel: 'silent',
  });
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
}

describeInBrowser('a page of another origin', () => {
  const words = { words: 150, paceMs: 20, pieceLength: 8 };
  const answers = numberedAnswers(3, words);
  const scene = shared(async () => {
    const [port, pagePort, folder] = await Promise.all([
      freePort(),
      freePort(),
      mkdtemp(join(tmpdir(), 'adjutant-page-')),
    ]);
    const origin = `http://app.localhost:${pagePort}`;
    const provider = await startMockProvider(answers);
    const installation = await install({
      config: {
        http: { cors: { origins: [origin] } },
        providers: { mock: { type: 'openai-compatible', base_url: provider.url } },
        agents: { talker: { model: 'mock:m' } },
      },
    });
    const admin = `adj_${'a'.repeat(40)}`;
    const env = { ADJUTANT_ADMIN_KEY: admin };
    const [api] = await Promise.all([
      installation.start('api', port, env),
      installation.start('worker'),
      installation.start('engine'),
    ]);
    const access = createAccessClient({ baseUrl: api.url, apiKey: admin });
    const { key } = await access.create({ name: 'app', scopes: ['submit', 'read'] });
    const client = createHttpClient({ baseUrl: api.url, apiKey: key });
    const file = join(folder, 'client.js');
    const pages = await servePage({ baseUrl: api.url, apiKey: key, port: pagePort, client: file });
    const browser = await chromium.launch({ executablePath: chromiumPath() ?? '' });
    return {
      api,
      restart: async () => installation.start('api', port, env),
      client,
      file,
      origin,
      browser,
      async [Symbol.asyncDispose]() {
        await browser.close();
        pages.close();
        await client.close();
        await installation[Symbol.asyncDispose]();
        await provider[Symbol.asyncDispose]();
        await rm(folder, { recursive: true, force: true });
      },
    };
  });

  async function startRun(index: number): Promise<{ id: string; text: string }> {
    const answer = answers[index] ?? { prompt: '', text: '' };
    const started = await scene.client.runs.start({ agent: 'talker', query: answer.prompt });
    return { id: started.request_id, text: answer.text };
  }

  const textOf = async (page: Page): Promise<string> => (await page.locator('#text').textContent()) ?? '';
  const someText = async (page: Page): Promise<void> =>
    page.locator('#text').filter({ hasText: '.20 ' }).waitFor({ timeout: 60_000 });

  test('shows the text once, although the API is killed and the page is loaded again', async () => {
    const { browser, file, origin, client, api, restart } = scene;
    await bundled(`export * from ${JSON.stringify(resolve('src/client/plain-client.ts'))};`, file);
    const { id, text } = await startRun(0);
    const page = await browser.newPage();
    await page.goto(`${origin}/?run=${id}`);
    await someText(page);
    // The text is there before its token: the page follows once the API has answered.
    const followed = page.waitForResponse(
      (answer) => answer.url().startsWith(`${api.url}/`) && answer.request().method() === 'GET',
    );
    await page.reload();
    await followed;
    await someText(page);
    await api.kill9();
    await restart();
    await page.locator('#state').filter({ hasText: 'ended' }).waitFor({ timeout: 120_000 });
    expect(await textOf(page)).toBe(text);
    const { sequences } = JSON.parse(await page.evaluate((run) => sessionStorage.getItem(run) ?? '', id)) as {
      sequences: number[];
    };
    const log = await client.page(id, { limit: 1_000 });
    expect(sequences).toEqual(log.signals.map(({ sequence }) => sequence));
    await page.close();
  });

  test('shows the text with the React hook', async () => {
    const { browser, file, origin } = scene;
    await bundled(HOOK_PAGE, file);
    const { id, text } = await startRun(1);
    const page = await browser.newPage();
    await page.goto(`${origin}/?run=${id}`);
    await page.locator('#hook[data-ended="true"]').waitFor({ timeout: 60_000 });
    expect(await page.locator('#hook').textContent()).toBe(text);
    // With another request, nothing of the former one is shown.
    await page.locator('#hook').click();
    const first = await page.waitForFunction(() => Reflect.get(globalThis, 'first') as unknown);
    expect(await first.jsonValue()).toEqual({ text: '', signal: null, ended: false });
    await page.close();
  });

  test('is refused by the browser where its origin is not named', async () => {
    const { browser, file, origin } = scene;
    await bundled(`export * from ${JSON.stringify(resolve('src/client/plain-client.ts'))};`, file);
    const { id } = await startRun(2);
    const page = await browser.newPage();
    const blocked = page.waitForEvent('console', (message) => message.text().includes('CORS'));
    await page.goto(`${origin.replace('app.', 'other.')}/?run=${id}`);
    expect((await blocked).text()).toContain('http://other.localhost');
    await page.close();
  });
});
