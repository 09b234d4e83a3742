import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** The folder of the console, which is a plugin. */
export const consoleFolder = dirname(fileURLToPath(import.meta.resolve('@homeostat/console/package.json')));

const axeSource = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

// The first start of a browser on a busy machine is slow.
export const browserTimeoutMs = 60_000;

export type Theme = 'light' | 'dark';

/** One browser, and the errors that its pages report. */
export class ConsoleBrowser {
  readonly complaints: string[] = [];
  readonly #browser: Browser;
  /** Requests to anything but the server of the page. */
  readonly foreign: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(context: Mocha.Context): Promise<ConsoleBrowser> {
    if (!existsSync(executablePath)) context.skipBecause(`there is no ${executablePath}: apt-get install chromium`);
    // Chromium has no sandbox when it runs as root.
    const args = ['--no-sandbox', '--disable-dev-shm-usage'];
    return new ConsoleBrowser(await chromium.launch({ executablePath, args }));
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }

  /** A page with cookies and storage of its own. */
  async open(url: string, theme: Theme = 'light'): Promise<Page> {
    const viewport = { width: 1280, height: 800 };
    const context: BrowserContext = await this.#browser.newContext({
      colorScheme: theme,
      viewport,
      ignoreHTTPSErrors: true,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    page.setDefaultTimeout(browserTimeoutMs / 3);
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => {
      // A refused request is part of some tests, and the browser reports each one.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        this.complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) this.foreign.push(request.url());
    });
    await page.goto(url);
    return page;
  }

  /** Expects that the page had no errors, violated no policy, and sent no requests elsewhere. */
  expectQuiet(): void {
    expect(this.complaints.splice(0)).to.deep.equal([]);
    expect(this.foreign.splice(0)).to.deep.equal([]);
  }
}

/** Expects that axe-core finds nothing that keeps people from using the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // Evaluated over the debugger, which the policy of the page does not stop.
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  });
  expect(found).to.deep.equal([]);
}

/**
 * Calls {@link expectAccessible} in the dark and in the light theme, on a page that follows the system's theme, such as
 * an open dialog.
 */
export async function expectAccessibleInThemes(page: Page): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    const shown = await page.locator('html').evaluate((element) => {
      const { getComputedStyle } = globalThis as unknown as StyleReader;
      return getComputedStyle(element).colorScheme;
    });
    expect(shown).to.equal(colorScheme);
    await expectAccessible(page);
  }
}

interface StyleReader {
  getComputedStyle(element: unknown): { readonly colorScheme: string };
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}

/** Opens a fragment of the console without loading the console again. */
export async function visit(page: Page, fragment: string): Promise<void> {
  await page.evaluate((to) => {
    (globalThis as unknown as { location: { hash: string } }).location.hash = to;
  }, fragment);
}

/** Renews a picture of docs/console.md if `CONSOLE_PICTURES` is 1. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (process.env['CONSOLE_PICTURES'] !== '1') return;
  await page.setViewportSize({ width: 1120, height: 680 });
  // The page reads data after its first rendering.
  await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => undefined);
  await page.screenshot({ path: fileURLToPath(new URL(`../../../docs/images/console/${name}.png`, import.meta.url)) });
}
