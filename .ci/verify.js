// `npm run verify`: builds, then runs the checks, as many at a time as there are cores. The output of a check is
// printed when it ends, if it fails. Once the build has succeeded, every check runs, and the exit code is 1 if one of
// them failed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { text } from 'node:stream/consumers';

/** The checks, the longest first, so that no core waits for a long check at the end. */
const checks = [
  'oxlint',
  'node .ci/packages/packages.js',
  'node .ci/generated-pages.js --check',
  'node .ci/api-report.js --check',
  'knip',
  'node .ci/packages/dependencies.js',
  'node .ci/packages/sbom.js --check',
];

/**
 * Runs a command line, and resolves with true if it succeeded. npm has put the programs of node_modules on the PATH.
 */
async function run(command) {
  const startMs = performance.now();
  const child = spawn(`${command} 2>&1`, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')]);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'passed' : 'FAILED'}: ${command} (${seconds} s)`);
  if (code !== 0) console.log(output);
  return code === 0;
}

/**
 * Runs one check at a time, and returns whether all succeeded. Waits first for the check that is in progress and for
 * the build, whose output the checks read. Then it takes one check after the other from the list, which several calls
 * of this function share.
 */
async function lane(underWay, built) {
  const results = [await underWay];
  if (!(await built)) return false;
  for (let next = checks.shift(); next !== undefined; next = checks.shift()) results.push(await run(next));
  return results.every(Boolean);
}

const built = run('npm run --silent build');
// This check needs no build, so it runs at the same time as the build. prettier skips the files that have not changed
// since they last passed: node_modules/.cache has the hashes of these files, together with prettier's version and
// options.
const formatted = run('prettier --check . --cache --cache-strategy content');
const lanes = [formatted, ...Array.from({ length: Math.max(1, availableParallelism() - 1) }, () => built)];
const results = await Promise.all(lanes.map((underWay) => lane(underWay, built)));
if (!results.every(Boolean)) process.exitCode = 1;
