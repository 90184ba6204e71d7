/** Writes a picture of each screen of the console, at two widths and in two themes, into docs/console: `npm run test:console -- --screens`.
 *  Never shows a path of a machine, nor writes pictures that the documentation cannot carry. */
import { statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { ensureConsole } from '../../scripts/console-freshness.mjs';
import { startBrowser, type TestBrowser } from '../support/browser.ts';
import { type ConsoleScene, startScene } from '../support/console-scene.ts';

const FOLDER = resolve('docs/console');
const MOST_BYTES = 100_000;

interface Screen {
  readonly name: string;
  readonly path: (scene: ConsoleScene) => string;
  /** Resolves when the screen is whole. */
  readonly ready: (page: Page) => Promise<unknown>;
  /** px; of a page with much text less fits into the documentation. Default: of its width. */
  readonly height?: number;
}

/** One line for each screen. */
const SCREENS: readonly Screen[] = [
  {
    name: 'overview',
    path: () => '/',
    height: 640,
    async ready(page) {
      for (const name of ['Lanes', 'Last failures', 'Waiting for a person', 'Servers'])
        await page.getByRole('table', { name }).waitFor();
    },
  },
  {
    name: 'requests',
    path: () => '/requests',
    height: 520,
    ready: async (page) => page.locator('.request-rows [role=row]').nth(8).waitFor(),
  },
  {
    name: 'approvals',
    path: () => '/approvals',
    ready: async (page) => page.getByRole('button', { name: 'Approve' }).waitFor(),
  },
  {
    name: 'dead-letters',
    path: () => '/dead-letters',
    async ready(page) {
      const ofServer = page.getByRole('row').filter({ hasText: 'tool.everything' });
      await ofServer.getByRole('button', { name: 'tool_error' }).click();
      await page.getByRole('button', { name: 'gzip-file-as-resource' }).click();
      await page
        .getByRole('button', { name: /^Redrive/ })
        .first()
        .waitFor();
    },
  },
  {
    name: 'agents',
    path: () => '/agents',
    ready: async (page) => page.getByRole('link', { name: 'Start a run of default' }).waitFor(),
  },
  {
    name: 'tools',
    path: () => '/tools?filter=sum',
    ready: async (page) => page.getByRole('link', { name: 'get-sum' }).waitFor(),
  },
  {
    name: 'tool',
    path: () => '/tools/everything.get-sum',
    async ready(page) {
      await page.getByRole('textbox', { name: 'a' }).fill('340');
      await page.getByRole('textbox', { name: 'b' }).fill('51');
      await page.getByRole('button', { name: 'Call everything.get-sum' }).click();
      await page.getByLabel('The call').getByText('391').waitFor();
    },
  },
  {
    name: 'agent',
    path: ({ ended }) => `/agents/default?request=${ended}`,
    ready: async (page) => page.getByText('17*23 is').last().waitFor(),
  },
  {
    name: 'request',
    path: ({ waiting }) => `/requests/${waiting}`,
    height: 480,
    ready: async (page) => page.locator('.timeline-row').nth(1).waitFor(),
  },
  {
    name: 'failed',
    // Its message names no path of the machine.
    path: () => '/requests/pack-ledger',
    height: 480,
    async ready(page) {
      await page.getByRole('region', { name: 'How it failed' }).waitFor();
      await page.locator('.inspector').waitFor();
    },
  },
  {
    name: 'statistics',
    path: () => '/statistics?by=tool',
    height: 640,
    ready: async (page) => page.getByRole('table', { name: 'Statistics by tool' }).waitFor(),
  },
  {
    name: 'conversation',
    path: ({ ended }) => `/requests/${ended}?tab=conversation`,
    ready: async (page) => page.locator('.entry').nth(3).waitFor(),
  },
];

const WIDTHS = [
  { size: 'wide', width: 1280, height: 800 },
  { size: 'phone', width: 390, height: 844 },
] as const;

ensureConsole(process.cwd(), process.execPath, process.env);
await mkdir(FOLDER, { recursive: true });
const only = process.argv.slice(2);
{
  await using scene = await startScene();
  await using browser = await startBrowser();
  for (const screen of SCREENS)
    if (only.length === 0 || only.includes(screen.name)) await shoot(browser, scene, screen);
}

async function shoot(
  browser: TestBrowser,
  scene: ConsoleScene,
  { name, path, ready, height }: Screen,
): Promise<void> {
  for (const { size, ...viewport } of WIDTHS)
    for (const theme of ['light', 'dark'] as const) {
      const file = resolve(FOLDER, `${name}-${size}-${theme}.png`);
      await using shown = await browser.open(scene.url, path(scene), {
        ...viewport,
        ...(height === undefined || size === 'phone' ? {} : { height }),
        theme,
      });
      await ready(shown.page);
      await shown.page.evaluate('document.fonts.ready.then(() => null)');
      await shown.page.screenshot({ path: file, animations: 'disabled' });
      const { size: bytes } = statSync(file);
      process.stdout.write(`${file.slice(process.cwd().length + 1)} ${Math.round(bytes / 1024)} KiB\n`);
      if (bytes > MOST_BYTES) throw new Error(`${name} is too large for the documentation: ${bytes} bytes`);
    }
}
