// Bundles what tsc has compiled, because Node takes most of a start to load small modules: the entries of each package, and
// what they load later, go to dist/bundle, which `exports` names. Other packages stay outside, our own among them, so that
// each module is in one bundle. A package whose sources are unchanged is left alone.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { bundledPackages } from './bundled-packages.js';

const root = resolve(import.meta.dirname, '../..');

/** A digest of all that a bundle is made from: tsc's list of sources has the hash of each. */
function digestOf(dist) {
  const files = [join(dist, '.tsbuildinfo'), import.meta.filename, join(import.meta.dirname, 'bundled-packages.js')];
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const hash = createHash('sha256').update(lock.packages['node_modules/rolldown'].version);
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex');
}

/**
 * The code of a module, which is as before beside its former neighbours: `import.meta.url` stays the URL of its own file,
 * except where it leads to a worker's entry, which is beside the bundle.
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

/** Reads compiled modules, with their source maps. */
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
    // Code stays as it is: the bundler takes a call of decodeURIComponent whose value nobody uses for needless, though it may throw.
    treeshake: false,
    // Whether the bundler was slow depends on the machine; all other warnings are mistakes.
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
