import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BookFolder } from './book/book-folder.ts';
import { brokenLinks } from './book/links.ts';
import { runPage } from './book/run-page.ts';
import type { PagePlace } from './book/run-page.ts';
import { planPage } from './book/steps.ts';
import type { PagePlan } from './book/steps.ts';
import { skipWithoutKubectl } from './support/commands/kubectl.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** The paths of pages below docs/. The API reports are generated, and are not pages of the book. */
const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.md') && !path.startsWith('api/'),
);
/** Selects the pages to run: `BOOK_PAGES=operating` runs only pages whose path matches this pattern. */
const chosen = new RegExp(process.env['BOOK_PAGES'] ?? '');
const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((path) => `docs/${path}`)].map((path) => {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, plan: planPage(text), name: path.replace(/\W/g, '-'), hasFences: /^ *```/m.test(text) };
});
const withFences = pages.filter(({ hasFences, path }) => hasFences && chosen.test(path));

describe('The book, run page by page [slow] [spec experience-book]', () => {
  /** The problems of each page, by its name. */
  const faults = new Map<string, readonly string[]>();
  let book: BookFolder;

  // Pages wait for processes most of the time, so two pages run at once.
  before(async () => {
    book = await BookFolder.make();
    for (const { name, plan } of withFences) await book.addPage(name, plan);
    const complaints = await book.compile();
    const next = withFences.values();
    const runNext = async (): Promise<void> => {
      for (const { name, plan } of next) {
        const refused = complaints.filter((complaint) => complaint.includes(name));
        faults.set(
          name,
          refused.length > 0
            ? refused
            : await faultsOf(plan, { folder: join(book.path, name), programs: book.programs }),
        );
      }
    };
    await Promise.all([runNext(), runNext()]);
  });

  after(async () => book.remove());

  for (const { path, name, plan } of withFences)
    it(`shows examples in ${path} that compile, run and give the response that the page shows`, async function () {
      expect(faults.get(name)).to.deep.equal([]);
      if (usesKubectl(plan)) await skipWithoutKubectl(this);
    });

  it('shows requests in README.md that work with the server of `npm start`', async function () {
    const readme = readFileSync(join(root, 'README.md'), 'utf8');
    const [requests = ''] = /^```sh\napi=[^]*?^-->$/m.exec(readme) ?? [];
    expect(requests).to.include('curl -X POST');
    const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
    const [, serve = ''] = /homeostat\.js (serve .*)/.exec(scripts.start) ?? [];
    const start = serve.replaceAll(/--plugin (\S+)/g, (_flag, folder: string) => `--plugin ${join(root, folder)}`);
    const plan = planPage(`<!-- sh\nhomeostat ${start}\n-->\n\n${requests}\n`);
    await book.addPage('npm-start', plan);
    expect(await faultsOf(plan, { folder: join(book.path, 'npm-start'), programs: book.programs })).to.deep.equal([]);
    await skipWithoutKubectl(this);
  });
});

describe('The book', () => {
  it('has no broken links', () => {
    const broken = pages.flatMap(({ path }) => brokenLinks(join(root, path)).map((target) => `${path}: ${target}`));
    expect(broken).to.deep.equal([]);
  });

  it('lists each of its pages in a table of contents', () => {
    const missing = docs.filter((path) => path !== 'README.md' && !isListed(path));
    expect(missing).to.deep.equal([]);
  });
});

/**
 * Returns true when a page is in a table of contents: the README.md of its folder lists it. The README.md of a folder
 * is listed by the README.md one folder above.
 */
function isListed(path: string): boolean {
  const folder = basename(path) === 'README.md' ? dirname(dirname(path)) : dirname(path);
  const contents = readFileSync(join(root, 'docs', folder, 'README.md'), 'utf8');
  return contents.includes(`](${relative(folder, path)})`);
}

function usesKubectl({ steps }: PagePlan): boolean {
  return steps.some((step) => step.kind === 'shell' && /\bkubectl\b/.test(step.script));
}

async function faultsOf(plan: PagePlan, place: PagePlace): Promise<readonly string[]> {
  return runPage(plan, place).then(
    () => [],
    (error: unknown) => [(error as Error).message],
  );
}
