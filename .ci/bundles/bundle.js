// Bundles the modules that tsc has compiled, because Node spends most of its start time on loading many small modules.
// The entries of each package, and the modules that they load later, are written to dist/bundle, to which `exports` in
// package.json refers. A bundle contains no other package, not even one of ours, so that each module is in only one
// bundle. A package is bundled again only if its sources, its entries, this script or the version of the bundler have
// changed.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { bundledPackages } from './bundled-packages.js';

const root = resolve(import.meta.dirname, '../..');

/**
 * Returns a digest of everything from which a bundle is made. The digest covers every source, because it includes
 * `.tsbuildinfo`, where tsc stores a hash of each source.
 */
function digestOf(dist) {
  const files = [join(dist, '.tsbuildinfo'), import.meta.filename, join(import.meta.dirname, 'bundled-packages.js')];
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const hash = createHash('sha256').update(lock.packages['node_modules/rolldown'].version);
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/**
 * Returns the code of a module for the bundle. `import.meta.url` becomes the URL of the compiled module, so that the
 * code still finds the files beside that module. In a `new URL` with the file of a worker, `import.meta.url` stays,
 * because the worker itself is bundled, to a file beside the bundle of this module.
 */
function placedCode({ code, path, dist, workers, importMetas }) {
  const place = relative(dist, path).split(sep).join('/');
  let placed = '';
  let end = 0;
  for (const { start } of importMetas.filter((span) => code.startsWith('import.meta.url', span.start))) {
    const [, file] = /new URL\('([^']+)', $/.exec(code.slice(0, start)) ?? [];
    if (file !== undefined && workers.has(resolve(dirname(path), file))) continue;
    placed += `${code.slice(end, start)}new URL('../${place}', import.meta.url).href`;
    end = start + 'import.meta.url'.length;
  }
  return placed + code.slice(end);
}

/** Returns the bundler's plugin that reads compiled modules with their source maps, and adapts `import.meta.url`. */
function compiledModules(dist, entries, parseSync) {
  const paths = Object.entries(entries).filter(([name, file]) => name === basename(file, '.js'));
  const workers = new Set(paths.map(([, file]) => join(dist, file)));
  return {
    name: 'compiled-modules',
    load(path) {
      const code = readFileSync(path, 'utf8');
      const map = readFileSync(`${path}.map`, 'utf8');
      if (!code.includes('import.meta.url')) return { code, map };
      const { importMetas } = parseSync(path, code).module;
      return { code: placedCode({ code, path, dist, workers, importMetas }), map };
    },
  };
}

async function bundle(dist, entries) {
  const { rolldown } = await import('rolldown');
  const { parseSync } = await import('rolldown/utils');
  const made = await rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, join(dist, file)])),
    platform: 'node',
    tsconfig: false,
    // No code is removed. The bundler would remove a call of decodeURIComponent whose result is not used, although the
    // call may throw.
    treeshake: false,
    // This option turns off the warning that the bundler was slow, because its speed depends on the machine.
    checks: { bundlerTimings: false },
    optimization: { inlineConst: false },
    external: (id) => !id.startsWith('.') && !isAbsolute(id),
    plugins: [compiledModules(dist, entries, parseSync)],
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message);
    },
  });
  const { output } = await made.write({
    dir: join(dist, 'bundle'),
    format: 'esm',
    sourcemap: true,
    minify: false,
    comments: false,
    chunkFileNames: '[name].js',
  });
  await made.close();
  return output.map(({ fileName }) => fileName);
}

for (const [folder, entries] of Object.entries(bundledPackages)) {
  const dist = join(root, folder, 'dist');
  const stamp = join(dist, 'bundle/.sources');
  const digest = digestOf(dist);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) continue;
  const names = new Set(await bundle(dist, entries));
  for (const name of readdirSync(join(dist, 'bundle')).filter((each) => !names.has(each)))
    rmSync(join(dist, 'bundle', name));
  writeFileSync(stamp, digest);
}
