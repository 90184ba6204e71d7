/** A real Chromium for the tests of the console, and pages in it that must behave.
 *  It must never pass a page that broke the policy, threw, or wrote an error. */
import { AxeBuilder } from '@axe-core/playwright';
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { beforeAll, describe, expect } from 'vitest';
import { ensureConsole } from '../../scripts/console-freshness.mjs';

const USUAL = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** null: there is none here. */
export function chromiumPath(): string | null {
  const { CHROMIUM_PATH: named = '' } = process.env;
  return (named === '' ? USUAL : [named]).find((path) => existsSync(path)) ?? null;
}

/** `describe` for tests in a browser: left out, with a line that says so, where there is no Chromium. */
export function describeInBrowser(name: string, tests: () => void): void {
  if (chromiumPath() !== null)
    return void describe(name, () => {
      // First of all: a service reads the files of the console when it starts.
      beforeAll(() => ensureConsole(process.cwd(), process.execPath, process.env));
      tests();
    });
  console.warn(
    `no Chromium: '${name}' is skipped; CHROMIUM_PATH names one, \`npm run test:console\` installs one`,
  );
  describe.skip(name, tests);
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly theme?: 'light' | 'dark';
  /** Errors of the browser's console that the test causes itself, as by a service that it kills. Default: none. */
  readonly expected?: readonly RegExp[];
}

export interface TestPage extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Fails when the page did what it must not, so far. */
  sound(): void;
}

export interface TestBrowser extends AsyncDisposable {
  /** `url`: of the service; `path`: within the console, as `/requests`. */
  open(url: string, path: string, options?: PageOptions): Promise<TestPage>;
}

export async function startBrowser(): Promise<TestBrowser> {
  const executablePath = chromiumPath() ?? '';
  const browser = await chromium.launch({ executablePath, args: ['--disable-dev-shm-usage'] });
  return {
    open: async (url, path, options = {}) => openPage(browser, `${url}/console${path}`, options),
    [Symbol.asyncDispose]: async () => browser.close(),
  };
}

/** As text: this file knows no browser. */
const REPORT_VIOLATIONS =
  "document.addEventListener('securitypolicyviolation', (event) => console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));";

async function openPage(browser: Browser, address: string, options: PageOptions): Promise<TestPage> {
  const { width = 1280, height = 800, theme = 'dark', expected = [] } = options;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
  });
  const page = await context.newPage();
  const faults = faultsOf(page, expected);
  await page.addInitScript(REPORT_VIOLATIONS);
  await page.goto(address);
  const sound = (): void => expect(faults).toEqual([]);
  return {
    page,
    context,
    sound,
    async [Symbol.asyncDispose]() {
      await context.close();
      sound();
    },
  };
}

function faultsOf(page: Page, expected: readonly RegExp[]): string[] {
  const faults: string[] = [];
  const note = (fault: string): void => {
    if (!expected.some((pattern) => pattern.test(fault))) faults.push(fault);
  };
  page.on('pageerror', (error) => note(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error') note(`${message.text()} ${message.location().url}`);
  });
  return faults;
}

/** WCAG 2.2 AA, as far as a program can tell. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'])
    .analyze();
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id} ${target.join(' ')}: ${failureSummary.slice(0, 300)}`,
    ),
  );
  expect(found).toEqual([]);
}
