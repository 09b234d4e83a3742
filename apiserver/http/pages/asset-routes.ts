import { once } from 'node:events';
import { extname } from 'node:path';
import type { Readable } from 'node:stream';
import { send } from '@fastify/send';
import type { SendResult } from '@fastify/send';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Context, Middleware } from 'koa';
import { isUnreachable } from '../../assets/asset-folder.ts';
import type { AssetFile, AssetFolder } from '../../assets/asset-folder.ts';
import type { AssetTable } from '../../assets/asset-table.ts';
import { splitPath } from '../../endpoints/routes/path-pattern.ts';
import { requireRead } from '../response/cacheable-answer.ts';
import { pathNotFound } from '../request/path-errors.ts';
import { pagePolicy } from './page-headers.ts';

/** A request for a file in a folder. */
interface AssetRequest {
  readonly folder: AssetFolder;
  /** The decoded segments of the path, without the trailing slash. */
  readonly segments: readonly string[];
  readonly hasTrailingSlash: boolean;
  /**
   * True for the console. All its scripts and styles are separate files, so its Content-Security-Policy allows none
   * inline.
   */
  readonly isConsole: boolean;
}

/** The plugin whose files are also served at `/console/`, the address that people use. */
const consolePlugin = 'console';

/**
 * Serves the static files of plugins at `/plugins/<name>/assets/…`, while the plugins run. The files of the plugin
 * `console` are also at `/console/…`.
 */
export function assetRoutes(assets: AssetTable): Middleware {
  return async function answerAsset(context, next) {
    const request = readRequest(context.path, assets);
    if (request === undefined) {
      await next();
      return;
    }
    requireRead(context);
    await answer(context, request);
  };
}

function readRequest(path: string, assets: AssetTable): AssetRequest | undefined {
  const [name, segments] = readPlace(splitPath(path) ?? []);
  const folder = name === undefined ? undefined : assets.find(name);
  if (folder === undefined) return undefined;
  return { folder, segments, hasTrailingSlash: path.endsWith('/'), isConsole: name === consolePlugin };
}

/** Returns the name of the plugin, and the segments of the path below its folder. */
function readPlace([first, ...rest]: readonly string[]): readonly [
  name: string | undefined,
  segments: readonly string[],
] {
  if (first === 'console') return [consolePlugin, rest];
  const [name, second, ...segments] = rest;
  return first === 'plugins' && second === 'assets' ? [name, segments] : [undefined, []];
}

async function answer(context: Context, request: AssetRequest): Promise<void> {
  const { folder, segments, hasTrailingSlash } = request;
  const found = await folder.find(segments);
  if (found?.kind === 'folder' && !hasTrailingSlash) {
    // The slash is added, because the relative links of the folder's page are below this path.
    context.redirect(`${context.path}/${context.search}`);
    return;
  }
  const isFile = found?.kind === 'file' && !hasTrailingSlash;
  const file = isFile ? found : await folder.find([...segments, 'index.html']);
  if (file?.kind !== 'file') throw pathNotFound();
  await sendFile(context, request, file);
}

async function sendFile(
  context: Context,
  { folder, isConsole }: AssetRequest,
  { segments, tag }: AssetFile,
): Promise<void> {
  const path = segments.map(encodeURIComponent).join('/');
  const found = await send(context.req, path, {
    root: folder.root,
    index: false,
    cacheControl: false,
    contentType: false,
    etag: false,
  });
  if (found.type !== 'file') {
    found.stream.destroy();
    refuse(context, found);
    return;
  }
  const hasContent = context.method === 'GET' && found.statusCode !== 304;
  if (hasContent) await opened(found.stream);
  context.status = found.statusCode;
  context.set(found.headers);
  context.set('ETag', tag);
  context.set('Cache-Control', 'no-cache, private');
  context.set('Content-Security-Policy', policyOf(segments.at(-1) ?? '', isConsole));
  if (context.fresh) context.status = 304;
  else setType(context, segments.at(-1) ?? '');
  if (hasContent && context.status !== 304) context.body = folder.track(found.stream);
  else found.stream.destroy();
}

/**
 * Waits until the file is open. The file may be unreadable, or just deleted, and an error response is only possible
 * before headers are sent.
 */
async function opened(stream: Readable): Promise<void> {
  try {
    await once(stream, 'open');
  } catch (error) {
    throw isUnreachable(error) ? pathNotFound() : error;
  }
}

/** The policy for pages of plugins, which may have inline styles. */
const pluginPolicy = `${pagePolicy}; style-src 'self' 'unsafe-inline'`;

/**
 * The policy for SVG and XML files. A browser that opens such a file directly treats it as a document. With this
 * policy, the document may run no scripts, and has no origin.
 */
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

function policyOf(name: string, isConsole: boolean): string {
  const isImage = ['.svg', '.svgz', '.xml'].includes(extname(name).toLowerCase());
  if (isImage) return imagePolicy;
  return isConsole ? pagePolicy : pluginPolicy;
}

/**
 * Sets the Content-Type by the extension. For an extension that koa does not know, koa removes the header; the type is
 * then that of `.bin`.
 */
function setType(context: Context, name: string): void {
  context.type = extname(name);
  if (context.type === '') context.type = 'bin';
}

/**
 * Refuses a request for a file that was just deleted, and a request with a failed precondition or an impossible range.
 * Kubernetes has no `reason` for the codes 412 and 416, so their Status has the reason BadRequest.
 */
function refuse(context: Context, { statusCode, headers }: SendResult): void {
  const message = refusals[statusCode];
  if (message === undefined) throw pathNotFound();
  const range = headers['Content-Range'];
  if (range !== undefined) context.set('Content-Range', range);
  context.status = statusCode;
  context.set('Content-Type', 'application/json');
  const status = { ...new ApiError('BadRequest', message).toStatus(), code: statusCode };
  context.body = Buffer.from(JSON.stringify(status));
}

const refusals: Readonly<Record<number, string>> = {
  412: 'the file does not meet the condition of If-Match or If-Unmodified-Since',
  416: 'the file has no such range',
};
