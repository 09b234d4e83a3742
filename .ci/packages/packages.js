// `npm run packages:check` packs each package as `npm publish` would, and checks what users get. publint checks the
// package.json, and arethetypeswrong the types as compilers find them. A package must have a licence and no tests. Its
// source maps must contain the sources, and must map only lines, not columns. The installed size has a limit. This
// script needs the build.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { reportInstalled } from './installed-size.js';

const root = resolve(import.meta.dirname, '../..');
const folders = ['controller-runtime', 'apiserver', 'plugins/host', 'plugins/console', 'plugins/create-homeostat'];

/** Matches files that only our own tests need. */
const forTests = /\.(test|contract|fixture|test-support)\./;

function run(command, args, options = {}) {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], ...options });
}

async function publintProblems(folder) {
  const { messages, pkg } = await publint({ pkgDir: folder, strict: true });
  return messages.map((message) => formatMessage(message, pkg, { color: false }) ?? message.code);
}

/**
 * The library of the command attw. The command would load the compiler for each package; this process loads it once.
 */
const attw = createRequire(import.meta.resolve('@arethetypeswrong/cli/package.json')).resolve('@arethetypeswrong/core');
const { checkPackage, createPackageFromTarballData } = await import(pathToFileURL(attw).href);

/**
 * The module resolutions that are not checked, as with `attw --profile esm-only`: the packages are ESM, which a
 * CommonJS program loads by `import()`.
 */
const ignoredResolutions = ['node10', 'node16-cjs'];

async function typeProblems(archive) {
  const { types, problems } = await checkPackage(createPackageFromTarballData(new Uint8Array(readFileSync(archive))));
  if (!types) return [];
  return problems
    .filter(({ resolutionKind }) => !ignoredResolutions.includes(resolutionKind))
    .map((problem) => `types: ${JSON.stringify(problem)}`);
}

function fileProblems(folder, files) {
  const maps = files.filter((path) => path.endsWith('.js.map') && path.startsWith('dist/'));
  const mapOf = (path) => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  const hasSources = (path) => (mapOf(path).sourcesContent ?? []).some((text) => typeof text === 'string');
  const hasColumns = (path) => mapOf(path).mappings.includes(',');
  return [
    ...files.filter((path) => forTests.test(path)).map((path) => `${path}: is published, although only tests need it`),
    ...maps.filter((path) => !hasSources(path)).map((path) => `${path}: is a source map without its sources`),
    ...maps.filter(hasColumns).map((path) => `${path}: is a source map whose columns remain after .ci/thin-output.js`),
    ...['LICENSE', 'package.json'].filter((name) => !files.includes(name)).map((name) => `${name}: is missing`),
  ];
}

const packed = mkdtempSync(join(tmpdir(), 'homeostat-packages-'));
const packedFiles = [];
try {
  for (const name of folders) {
    const folder = join(root, name);
    const [{ filename, files, size }] = JSON.parse(
      run('npm', ['pack', '--json', '--foreground-scripts=false', '--pack-destination', packed], { cwd: folder }),
    );
    packedFiles.push(...files);
    const paths = files.map(({ path }) => path);
    const problems = [
      ...(await publintProblems(folder)),
      ...(await typeProblems(join(packed, filename))),
      ...fileProblems(folder, paths),
    ];
    console.log(`${name}: ${paths.length} files, ${Math.round(size / 1024)} KiB, ${problems.length} problems`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
  if (!reportInstalled(root, packedFiles)) process.exitCode = 1;
} finally {
  rmSync(packed, { recursive: true, force: true });
}
