import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Middleware } from 'koa';
import { builtinKinds } from '../../builtin/builtin-kinds.ts';
import { tagOfKind } from '../../openapi/model-paths.ts';
import { apiServiceKind } from '../../builtin/service-kind.ts';
import { reviewKinds } from '../../reviews/review-kinds.ts';
import { requireRead, sendCacheable } from '../response/cacheable-answer.ts';
import type { CacheableAnswer } from '../response/cacheable-answer.ts';
import { docsInitializer, docsPage, docsPolicy } from './docs-page.ts';
import type { DocsKinds } from './docs-page.ts';
import { withoutTrailingSlash } from './health.ts';

/** A kind that every server has, and whose model this folder may not import. */
const definitionKind = { group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' };

const script = 'text/javascript; charset=utf-8';

const unzip = promisify(gunzip);

type Files = Readonly<Record<string, () => Promise<CacheableAnswer>>>;

/**
 * Returns `/docs` and all paths below it, each with the function that returns its content. Only files of this list are
 * read from the disk, never a path that a request names.
 */
const filesOf = (kinds: DocsKinds): Files => ({
  '/docs': () => answerOf('text/html; charset=utf-8', docsPage('./')),
  '/docs/': () => answerOf('text/html; charset=utf-8', docsPage('../')),
  '/docs/initializer.js': () => answerOf(script, docsInitializer(kinds)),
  '/docs/swagger-ui-bundle.js': () => compressedOf(script, './docs-assets/swagger-ui-bundle.js.gz'),
  '/docs/swagger-ui.css': () => compressedOf('text/css; charset=utf-8', './docs-assets/swagger-ui.css.gz'),
  '/docs/favicon-32x32.png': () => fileOf('image/png', './docs-assets/favicon-32x32.png'),
});

/**
 * Serves `/docs`, a page that shows `/openapi.json` by Swagger UI, whose files the build copies beside this file. Each
 * file is read once, at its first request.
 */
export function docsRoutes(serviceDomain: string): Middleware {
  const files = filesOf({
    serviceDomain,
    builtIn: [...builtinKinds, ...reviewKinds, apiServiceKind, definitionKind].map(tagOfKind),
  });
  const read = new Map<string, CacheableAnswer>();
  return async function answerDocs(context, next) {
    // One slash at the end of a file's path is ignored.
    const path = [context.path, withoutTrailingSlash(context.path)].find((each) => Object.hasOwn(files, each)) ?? '';
    const make = path === '/docs/' && context.path !== path ? undefined : files[path];
    if (make === undefined) {
      await next();
      return;
    }
    requireRead(context);
    const answer = read.get(path) ?? (await make());
    read.set(path, answer);
    context.set('Content-Security-Policy', docsPolicy);
    context.set('Referrer-Policy', 'no-referrer');
    sendCacheable(context, answer);
  };
}

async function fileOf(type: string, file: string): Promise<CacheableAnswer> {
  return answerOf(type, await readFile(new URL(file, import.meta.url)));
}

/**
 * Reads a file that the build has compressed to save disk space. Memory keeps it uncompressed, and it is sent in an
 * encoding that the request accepts.
 */
async function compressedOf(type: string, file: string): Promise<CacheableAnswer> {
  return answerOf(type, await unzip(await readFile(new URL(file, import.meta.url))));
}

async function answerOf(type: string, content: string | Buffer): Promise<CacheableAnswer> {
  const bytes = Buffer.from(content);
  return { bytes, type, tag: createHash('sha256').update(bytes).digest('hex') };
}
