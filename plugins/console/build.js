// Builds the page into resources/static if a source has changed since the last build. Every URL in the page is
// relative, so that the console works behind a prefix of the path. No script or style is inline.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, resolve } from 'node:path';

const folder = import.meta.dirname;
const outDir = resolve(folder, 'resources/static');
const stamp = resolve(outDir, '.sources');

/** A digest of everything that the page is built from. */
function digest() {
  const hash = createHash('sha256');
  const app = readdirSync(resolve(folder, 'app'), { recursive: true, encoding: 'utf8' }).map((file) => `app/${file}`);
  const files = [...app, 'index.html', 'build.js', 'package.json'];
  for (const file of files.filter((each) => extname(each) !== '' && !each.includes('.test.')).sort())
    hash.update(`${file}\0`).update(readFileSync(resolve(folder, file)));
  return hash.digest('hex');
}

const sources = digest();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sources) {
  // Vite is loaded only here, so that a build without changes does not wait for it.
  const { build } = await import('vite');
  await build({
    root: folder,
    configFile: false,
    base: './',
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      modulePreload: { polyfill: false },
      license: { fileName: 'licenses.md' },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 1000,
    },
  });
  writeFileSync(stamp, sources);
}
