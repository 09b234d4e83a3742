import type { ResolveFnOutput, ResolveHookContext } from 'node:module';

const parameter = 'homeostat-build';

/**
 * Returns the query that is added to the URLs of all modules of a build: the digest of the build, and the number of
 * segments in the path of the plugin's folder.
 */
export function buildQuery(digest: string, folder: URL): string {
  return `?${parameter}=${digest}.${folder.pathname.split('/').length}`;
}

/**
 * A resolve hook of Node's module loader, which calls it in a separate thread. When a module whose URL has a query of
 * {@link buildQuery} imports a module of the same plugin folder, the hook adds this query to the URL of the imported
 * module.
 */
export async function resolve(
  specifier: string,
  context: ResolveHookContext,
  nextResolve: (specifier: string, context: ResolveHookContext) => ResolveFnOutput | Promise<ResolveFnOutput>,
): Promise<ResolveFnOutput> {
  const resolved = await nextResolve(specifier, context);
  const { parentURL } = context;
  if (parentURL?.includes(`?${parameter}=`) !== true || !resolved.url.startsWith('file:')) return resolved;
  const parent = new URL(parentURL);
  const parts = Number(parent.searchParams.get(parameter)?.split('.')[1]);
  const folder = `${parent.pathname.split('/').slice(0, parts).join('/')}/`;
  const url = new URL(resolved.url);
  if (!url.pathname.startsWith(folder) || url.search !== '') return resolved;
  url.search = parent.search;
  return { ...resolved, url: url.href };
}
