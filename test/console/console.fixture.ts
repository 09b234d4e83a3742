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

// The time limit includes the first start of a browser, which is slow on a busy machine.
export const browserTimeoutMs = 60_000;

export type Theme = 'light' | 'dark';

/** A browser, and the errors that its pages report. */
export class ConsoleBrowser {
  readonly complaints: string[] = [];
  readonly #browser: Browser;
  /** The URLs of requests to other hosts than the server of the page. */
  readonly foreign: string[] = [];

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(context: Mocha.Context): Promise<ConsoleBrowser> {
    if (!existsSync(executablePath)) context.skipBecause(`there is no ${executablePath}: apt-get install chromium`);
    // Chromium cannot use its sandbox when it runs as root.
    const args = ['--no-sandbox', '--disable-dev-shm-usage'];
    return new ConsoleBrowser(await chromium.launch({ executablePath, args }));
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }

  /** Opens a page with its own cookies and storage. */
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
      // The browser reports each refused request as an error, and some tests cause refusals.
      if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
        this.complaints.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== new URL(url).origin) this.foreign.push(request.url());
    });
    await page.goto(url);
    return page;
  }

  /**
   * Expects that the pages reported no errors, such as violations of their content security policy, and sent no
   * requests to other origins.
   */
  expectQuiet(): void {
    expect(this.complaints.splice(0)).to.deep.equal([]);
    expect(this.foreign.splice(0)).to.deep.equal([]);
  }
}

/** Expects that axe-core finds no accessibility problems in the page. */
export async function expectAccessible(page: Page): Promise<void> {
  // The debugger evaluates the script; the content security policy of the page does not apply to it.
  await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<AxeResults> } };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  });
  expect(found).to.deep.equal([]);
}

/** Calls {@link expectAccessible} in the dark and in the light theme. The page must follow the system's theme. */
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

/** Opens the page of the console that the URL fragment names, without loading the console again. */
export async function visit(page: Page, fragment: string): Promise<void> {
  await page.evaluate((to) => {
    (globalThis as unknown as { location: { hash: string } }).location.hash = to;
  }, fragment);
}

/** Takes a screenshot for docs/console.md if `CONSOLE_PICTURES` is 1. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (process.env['CONSOLE_PICTURES'] !== '1') return;
  await page.setViewportSize({ width: 1120, height: 680 });
  // The page loads data after its first rendering, so wait for its requests, for at most 2 s.
  await page.waitForLoadState('networkidle', { timeout: 2000 }).catch(() => undefined);
  await page.screenshot({ path: fileURLToPath(new URL(`../../../docs/images/console/${name}.png`, import.meta.url)) });
}
