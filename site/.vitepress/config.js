// The configuration with which `npm run docs` builds the site of the book. The build fails on a dead link between
// pages; the test of the book checks links to headings and to files of the repository. In package.json of the site,
// `overrides` replaces Rollup by its WebAssembly build, so that package-lock.json works on every platform.
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

const docs = resolve(import.meta.dirname, '../../docs');
/**
 * The folder with a copy of the book. Pages can import packages of the site only if they are below the folder of the
 * site.
 */
const pages = resolve(import.meta.dirname, '../pages');
/** The folder of the API reports, which are not pages. */
const reports = join(docs, 'api');

rmSync(pages, { recursive: true, force: true });
cpSync(docs, pages, { recursive: true, filter: (path) => path !== reports });

const read = (page) => readFileSync(join(docs, page), 'utf8');

/** Returns the pages to which the lists of a Markdown text link, in order. */
function listedIn(text, folder) {
  const links = text.matchAll(/^(?:\d+\.|-) \[([^\]]+)\]\(([^)#]+\.md)\)/gm);
  return [...links].map(([, name, path]) => ({ text: name, path: join(folder, path) }));
}

const itemOf = ({ text, path }) => ({
  text,
  link: `/${path.replace(/(^|\/)README\.md$/, '$1').replace(/\.md$/, '')}`,
});

/**
 * Returns the sidebar: one group for each part of the table of contents. The pages of a folder are below the page of
 * its README.
 */
function sidebar() {
  return read('README.md')
    .split(/^## /m)
    .map((part, index) => ({
      text: index === 0 ? 'Book' : part.split('\n')[0],
      items: listedIn(part, '.')
        .filter(({ path }) => !path.startsWith('..'))
        .map((page) => ({ ...itemOf(page), ...pagesBelow(page) })),
    }));
}

function pagesBelow({ path }) {
  if (!path.endsWith('/README.md')) return {};
  return { collapsed: true, items: listedIn(read(path), dirname(path)).map(itemOf) };
}

/**
 * Adapts the links of the book to the site. A link to a README.md becomes a link to an index.md. A link to a file that
 * is not a page of the site becomes plain text.
 */
function useSiteLinks(markdown) {
  markdown.core.ruler.push('site-links', ({ tokens, env }) => {
    const folder = resolve(docs, relative(pages, dirname(env.path)));
    for (const { children } of tokens) if (children) rewriteLinks(children, folder);
  });
}

function rewriteLinks(children, folder) {
  for (const [index, token] of children.entries()) {
    const href = token.type === 'link_open' ? token.attrGet('href') : '#';
    if (/^(?:#|[a-z]+:)/.test(href)) continue;
    const [path, anchor] = href.split('#');
    const target = resolve(folder, decodeURI(path));
    if (isPage(target) || !existsSync(target)) {
      token.attrSet('href', path.replace(/(^|\/)README\.md$/, '$1index.md') + (anchor ? `#${anchor}` : ''));
      continue;
    }
    const end = children.findIndex((each, position) => position > index && each.type === 'link_close');
    for (const each of [token, children[end]]) Object.assign(each, { type: 'text', tag: '', content: '', nesting: 0 });
  }
}

const isPage = (path) => path.endsWith('.md') && path.startsWith(docs + sep) && !path.startsWith(reports + sep);

/** Returns the anchor of a heading as GitHub makes it, because the links in the book use GitHub's anchors. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-');

export default {
  title: 'Homeostat',
  description: 'A Kubernetes-style control plane as an npm package: declare a model, get an API, write a reconciler',
  srcDir: 'pages',
  rewrites: { 'README.md': 'index.md', ':folder/README.md': ':folder/index.md' },
  cleanUrls: true,
  markdown: { anchor: { slugify }, config: useSiteLinks },
  themeConfig: { search: { provider: 'local' }, outline: [2, 3], sidebar: sidebar() },
};
