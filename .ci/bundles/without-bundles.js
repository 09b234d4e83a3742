// `node --import ./.ci/bundles/without-bundles.js` makes our packages load their compiled modules instead of their
// bundles, for tests that replace or count the functions of single modules. This file is a hook of Node's module
// loader, which calls the hook in a separate thread.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';
import { bundledPackages } from './bundled-packages.js';

/** Returns the URL of the compiled module from which an entry of a bundle is made; undefined for other URLs. */
function moduleOf(url) {
  for (const [folder, entries] of Object.entries(bundledPackages)) {
    const [before, name] = url.split(`/${folder}/dist/bundle/`);
    const file = name === undefined ? undefined : entries[name.replace(/\.js$/, '')];
    if (file !== undefined) return `${before}/${folder}/dist/${file}`;
  }
  return undefined;
}

export async function resolve(specifier, context, nextResolve) {
  const resolved = await nextResolve(specifier, context);
  return { ...resolved, url: moduleOf(resolved.url) ?? resolved.url };
}

if (isMainThread) register(import.meta.url);
