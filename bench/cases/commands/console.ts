import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import type { CaseContext } from '../../measure/case.ts';
import { median } from '../../measure/figures.ts';
import { newPerson, personModel } from '../../load/person.ts';
import type { Row } from '../../measure/result-table.ts';

const consoleFolder = dirname(fileURLToPath(import.meta.resolve('@homeostat/console/package.json')));
const mostOpenMs = 1000;
const mostFrameMs = 100;
const mostBytes = 150 * 1024 * 1024;
const changesPerSecond = 1000;
/**
 * The number of changes to each object. For 100,000 objects, this makes 360,000 changes: those of an hour with 100
 * changes a second.
 */
const hourlyPerObject = 3.6;
const mostGrowthBytes = 4 * 1024 * 1024;
const kind = personModel(['spec.name']);

/**
 * Measures the time until the console shows a long list. Also measures, while the objects of the list change, the
 * longest time between two frames of the browser, and the memory of the page.
 */
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
    const hour = await hourOf(server, page, { objects, changes: Math.round(objects * hourlyPerObject) });
    const bytes = memoryOf(await renderersOf(browser));
    const opened = median(openMs.slice(1));
    return [
      {
        name: `console, ${objects.toLocaleString('en-US')} objects`,
        target: { text: `<= ${mostOpenMs} ms: ${opened.toFixed(0)} ms`, isMet: opened <= mostOpenMs },
        note: 'the time from the click on the kind to the frame of the browser that shows its rows',
      },
      {
        name: 'console, longest frame',
        target: { text: `<= ${mostFrameMs} ms: ${frameMs.toFixed(0)} ms`, isMet: frameMs <= mostFrameMs },
        note: `while ${changes.toLocaleString('en-US')} changes arrived in ${(seconds * 5).toString()} s`,
      },
      {
        name: 'console, memory of the page',
        target: { text: `<= 150 MB: ${megabytes(bytes)} MB`, isMet: bytes <= mostBytes },
        note: 'private resident memory of the process of the page, after an hour of 100 changes/s',
      },
      {
        name: 'console, growth of the heap in an hour of 100 changes/s',
        target: {
          text: `grows <= ${megabytes(mostGrowthBytes)} MB: ${(hour.growth / 1024 / 1024).toFixed(1)} MB`,
          isMet: hour.growth <= mostGrowthBytes,
        },
        note: `the heap of the scripts has ${megabytes(hour.bytes)} MB after ${hour.changes.toLocaleString('en-US')} changes in ${hour.seconds.toFixed(0)} s; the growth excludes the first tenth of the changes`,
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

/**
 * Opens the list of the kind with a click on another page. Resolves with the milliseconds from the click to the frame
 * that shows the rows.
 */
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

/**
 * Changes objects at the rate `changesPerSecond`, both objects that the page shows and others. Measures the longest
 * time between two frames of the page.
 */
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

const megabytes = (bytes: number): string => (bytes / 1024 / 1024).toFixed(0);

interface Hour {
  readonly changes: number;
  readonly seconds: number;
  /** The size of the heap after all changes. */
  readonly bytes: number;
  /** The number of bytes by which the page's heap grew between the first tenth of the changes and the last change. */
  readonly growth: number;
}

/** Makes the changes of an hour, as fast as the page can follow them. */
async function hourOf(
  { client }: TestServer,
  page: Page,
  { objects, changes }: { readonly objects: number; readonly changes: number },
): Promise<Hour> {
  const atOnce = 500;
  const parts = 10;
  const start = performance.now();
  let first = 0;
  let done = 0;
  for (let part = 1; part <= parts; part += 1) {
    for (; done < (changes * part) / parts; done += atOnce) {
      const patch = { metadata: { labels: { 'example.com/round': done.toString() } } };
      const numbers = Array.from({ length: atOnce }, (_, index) => (done + index) % objects);
      await Promise.all(numbers.map((number) => client.patch(kind, nameOf(number), { type: 'merge', patch })));
    }
    // The marker sorts before all other objects. It is created last, so when its row is visible, the page has received
    // all changes.
    const marker = `a-${part.toString()}`;
    await client.create(kind, newPerson({ name: marker, number: part }));
    const row = page.getByRole('link', { name: marker, exact: true });
    await row.waitFor({ timeout: 60_000 });
    await client.delete(kind, marker);
    await row.waitFor({ state: 'detached', timeout: 60_000 });
    if (part === 1) first = await heapOf(page);
  }
  const bytes = await heapOf(page);
  return { changes: done, seconds: (performance.now() - start) / 1000, bytes, growth: bytes - first };
}

/** Returns the ids of the processes that show pages. */
async function renderersOf(browser: Browser): Promise<readonly number[]> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => id);
}

/**
 * Returns the private memory of the largest process, which is the process of the page. The browser also keeps an empty
 * process in reserve.
 */
function memoryOf(ids: readonly number[]): number {
  const sizes = ids.map((id) => {
    const lines = readFileSync(`/proc/${id.toString()}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB$/gm);
    return [...lines].reduce((sum, [, kilobytes]) => sum + Number(kilobytes) * 1024, 0);
  });
  return Math.max(...sizes);
}

async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}
