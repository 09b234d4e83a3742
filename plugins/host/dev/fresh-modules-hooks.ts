// Hooks of Node's module loader, which runs them in a thread of its own.
import type { ResolveFnOutput, ResolveHookContext } from 'node:module';

/** In the URLs of modules: which build they are of. */
export const buildParameter = 'homeostat-build';

let folder: string | undefined;

export function initialize(data: { readonly folder: string }): void {
  ({ folder } = data);
}

/** What a module of a build imports from the same folder is of that build; packages are what they were. */
export async function resolve(
  specifier: string,
  context: ResolveHookContext,
  nextResolve: (specifier: string, context: ResolveHookContext) => ResolveFnOutput | Promise<ResolveFnOutput>,
): Promise<ResolveFnOutput> {
  const resolved = await nextResolve(specifier, context);
  if (folder === undefined || !resolved.url.startsWith(folder) || resolved.url.includes('/node_modules/'))
    return resolved;
  const build = context.parentURL?.startsWith(folder) && new URL(context.parentURL).searchParams.get(buildParameter);
  const url = new URL(resolved.url);
  if (typeof build !== 'string' || url.searchParams.has(buildParameter)) return resolved;
  url.searchParams.set(buildParameter, build);
  return { ...resolved, url: url.href };
}
