import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { chromium } from 'playwright-core';
import type { Page } from 'playwright-core';
import type { CaseContext } from '../case.ts';
import { median } from '../figures.ts';
import { newPerson, personModel } from '../person.ts';
import type { Row } from '../result-table.ts';

const consoleFolder = dirname(fileURLToPath(import.meta.resolve('@homeostat/console/package.json')));
const mostOpenMs = 1000;
const mostFrameMs = 100;
const mostBytes = 150 * 1024 * 1024;
const changesPerSecond = 1000;
const kind = personModel(['spec.name']);

/** How fast does the console show a long list, and does it stay smooth and small while objects change? */
export async function consolePages({ settings }: CaseContext): Promise<readonly Row[]> {
  const { objects, seconds, rounds } = settings;
  const server = await startTestServer({ plugins: [consoleFolder], models: [kind] });
  const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  try {
    await fill(server, objects);
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await page.goto(`${server.url}/console/`);
    const openMs: number[] = [];
    for (let round = 0; round <= rounds; round += 1) openMs.push(await open(page));
    const [changes, frameMs] = await follow(server, page, { objects, seconds: seconds * 5 });
    const bytes = await heapOf(page);
    const opened = median(openMs.slice(1));
    const megabytes = (bytes / 1024 / 1024).toFixed(0);
    return [
      {
        name: `console, ${objects.toLocaleString('en-US')} objects`,
        target: { text: `<= ${mostOpenMs} ms: ${opened.toFixed(0)} ms`, isMet: opened <= mostOpenMs },
        note: 'from the click on the kind to its rows in a frame',
      },
      {
        name: 'console, longest frame',
        target: { text: `<= ${mostFrameMs} ms: ${frameMs.toFixed(0)} ms`, isMet: frameMs <= mostFrameMs },
        note: `while ${changes.toLocaleString('en-US')} changes arrived in ${(seconds * 5).toString()} s`,
      },
      {
        name: 'console, memory of the page',
        target: { text: `<= 150 MB: ${megabytes} MB`, isMet: bytes <= mostBytes },
        note: 'heap of scripts after these changes, after gc',
      },
    ];
  } finally {
    await browser.close();
    await server.stop();
  }
}

const nameOf = (number: number): string => `p-${number.toString().padStart(6, '0')}`;

async function fill({ client }: TestServer, count: number): Promise<void> {
  const batch = 500;
  for (let first = 0; first < count; first += batch) {
    const numbers = Array.from({ length: Math.min(batch, count - first) }, (_, index) => first + index);
    await Promise.all(numbers.map((number) => client.create(kind, newPerson({ name: nameOf(number), number }))));
  }
}

/** Milliseconds from a click on the kind, on another page, to the frame that shows its rows. */
async function open(page: Page): Promise<number> {
  await page.getByRole('link', { name: 'Plugins', exact: true }).click();
  await page.getByRole('heading', { name: 'Plugins', level: 1 }).waitFor();
  return page.evaluate(async () => {
    const { document, performance, requestAnimationFrame } = globalThis as unknown as BrowserGlobals;
    const link = [...document.querySelectorAll('.nav-link')].find(({ textContent }) => textContent === 'Person');
    const start = performance.now();
    link?.click();
    return new Promise<number>((resolve) => {
      const look = (): void => {
        if (document.querySelectorAll('.rows tbody tr').length > 10) resolve(performance.now() - start);
        else requestAnimationFrame(look);
      };
      look();
    });
  });
}

interface BrowserGlobals {
  readonly document: { querySelectorAll(selector: string): Iterable<BrowserElement> & { readonly length: number } };
  readonly performance: { now(): number };
  requestAnimationFrame(run: () => void): void;
}

interface BrowserElement {
  readonly textContent: string | null;
  click(): void;
}

/** Changes visible and other objects at the rate, and measures the longest time between two frames of the page. */
async function follow(
  { client }: TestServer,
  page: Page,
  { objects, seconds }: { readonly objects: number; readonly seconds: number },
): Promise<readonly [changes: number, longestMs: number]> {
  let isOver = false;
  let changes = 0;
  const write = async (): Promise<void> => {
    const start = performance.now();
    while (!isOver) {
      const due = Math.floor(((performance.now() - start) / 1000) * changesPerSecond) - changes;
      const numbers = Array.from({ length: due }, (_, index) => (changes + index) % Math.min(objects, 500));
      changes += due;
      const patch = { metadata: { labels: { 'example.com/round': changes.toString() } } };
      await Promise.all(numbers.map((number) => client.patch(kind, nameOf(number), { type: 'merge', patch })));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const writing = write();
  const longest = await page.evaluate(async (forMs) => {
    const { performance, requestAnimationFrame } = globalThis as unknown as BrowserGlobals;
    const start = performance.now();
    let last = start;
    let most = 0;
    return new Promise<number>((resolve) => {
      const frame = (): void => {
        const nowMs = performance.now();
        most = Math.max(most, nowMs - last);
        last = nowMs;
        if (nowMs - start > forMs) resolve(most);
        else requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
  }, seconds * 1000);
  isOver = true;
  await writing;
  return [changes, longest];
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize;
}
