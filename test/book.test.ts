import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { BookFolder } from './book/book-folder.ts';
import { brokenLinks } from './book/links.ts';
import { runPage } from './book/run-page.ts';
import { planPage } from './book/steps.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'));
const pages = ['README.md', 'CONTRIBUTING.md', ...docs.map((name) => `docs/${name}`)].map((path) => {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, text, name: path.replace(/\W/g, '-'), hasFences: /^ *```/m.test(text) };
});

describe('The book', () => {
  const folders = new Map<string, string>();
  let book: BookFolder;
  let complaints: readonly string[];

  before(async () => {
    book = await BookFolder.make();
    for (const { name, text } of pages) folders.set(name, await book.addPage(name, planPage(text)));
    complaints = await book.compile();
  });

  after(async () => book.remove());

  for (const { path, name, text } of pages.filter(({ hasFences }) => hasFences))
    it(`shows in ${path} what compiles, runs and is answered`, async () => {
      expect(complaints.filter((complaint) => complaint.includes(name))).to.deep.equal([]);
      await runPage(planPage(text), { folder: folders.get(name)!, programs: book.programs });
    }).timeout(60_000);

  it('leads somewhere by each of its links', () => {
    const broken = pages.flatMap(({ path }) => brokenLinks(join(root, path)).map((target) => `${path}: ${target}`));
    expect(broken).to.deep.equal([]);
  });

  it('has each of its pages in its table of contents', () => {
    const contents = readFileSync(join(root, 'docs/README.md'), 'utf8');
    expect(docs.filter((page) => page !== 'README.md' && !contents.includes(`](${page})`))).to.deep.equal([]);
  });
});
