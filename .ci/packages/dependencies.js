// The first part of `npm run deps:check`; it needs no network. It checks the packages that users install, or get in a
// bundle: the licence of each must allow us to ship it, and package-lock.json must have only one version of it. All our
// own packages that depend on a package, also for development only, must require the same range of its versions.
// dependencies.yaml may give a reason for several versions or ranges. An argument names another folder to check. The
// second part is knip, which reports unused and undeclared dependencies.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { load } from 'js-yaml';
import { LockedPackages } from './locked-packages.js';

const root = process.argv[2] ?? resolve(import.meta.dirname, '../..');
const rules = load(readFileSync(`${root}/.ci/packages/dependencies.yaml`, 'utf8'));
const packages = new LockedPackages(root);
const locked = Object.entries(packages.packages);
const bundled = new Set(Object.entries(rules.bundled).flatMap(bundledPaths));

/**
 * The packages of other authors that users get, as `[name, entry]`. The list has a development dependency only if it is
 * bundled.
 */
const installed = locked
  .filter(
    ([path, { dev, link }]) => path.includes('node_modules/') && link !== true && (dev !== true || bundled.has(path)),
  )
  .map(([path, entry]) => [path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), entry]);

const ownPackages = locked.filter(([path]) => !path.includes('node_modules/'));

/** Returns the paths of a folder's bundled development dependencies, and of all packages that these need. */
function bundledPaths([folder, names]) {
  const { devDependencies = {} } = packages.packages[folder];
  const all = Object.keys(devDependencies).filter((name) => !names.includes(`!${name}`));
  return (names.includes('*') ? all : names).flatMap((name) => {
    const path = packages.find(folder, name);
    if (path === undefined)
      throw new Error(`.ci/packages/dependencies.yaml: ${name} is not installed: remove it from "bundled"`);
    return [...packages.neededBy(path, false)];
  });
}

/**
 * Returns whether we may ship a package with a licence such as `A`, `(A OR B)` or `A AND B`. With OR, one of the
 * licences must be allowed; with AND, both.
 */
function isAllowed(licence = '') {
  const alternatives = licence.replaceAll(/[()]/g, '').split(' OR ');
  return alternatives.some((each) => each.split(' AND ').every((name) => rules.licences.includes(name)));
}

/** Returns a pair for each name with several versions (or version ranges): the name, and the set of its versions. */
function severalOf(pairs) {
  const versions = new Map();
  for (const [name, version] of pairs) versions.set(name, (versions.get(name) ?? new Set()).add(version));
  return [...versions].filter(([, each]) => each.size > 1);
}

function licenceProblems() {
  return installed
    .filter(([, { license }]) => !isAllowed(license))
    .map(
      ([name, { version, license }]) =>
        `${name} ${version}: licence ${license ?? 'unknown'} is not in .ci/packages/dependencies.yaml`,
    );
}

function duplicateProblems() {
  const several = severalOf(installed.map(([name, { version }]) => [name, version]));
  const declared = severalOf(declaredRanges());
  const unexplained = several.filter(([name]) => !Object.hasOwn(rules.duplicates, name));
  const stale = Object.keys(rules.duplicates).filter(
    (name) => ![...several, ...declared].some(([each]) => each === name),
  );
  return [
    ...unexplained.map(
      ([name, each]) =>
        `${name} has the versions ${[...each].join(', ')}: run npm dedupe, or add a reason to .ci/packages/dependencies.yaml`,
    ),
    ...stale.map(
      (name) => `${name} has only one version: remove ${name} from "duplicates" in .ci/packages/dependencies.yaml`,
    ),
  ];
}

function declarationProblems() {
  return severalOf(declaredRanges())
    .filter(([name]) => !Object.hasOwn(rules.duplicates, name))
    .map(([name, ranges]) => `our packages require ${name} as ${[...ranges].join(' and as ')}: use one range`);
}

function declaredRanges() {
  return ownPackages.flatMap(([, { dependencies = {}, devDependencies = {} }]) => [
    ...Object.entries(dependencies),
    ...Object.entries(devDependencies),
  ]);
}

const problems = [...licenceProblems(), ...duplicateProblems(), ...declarationProblems()];
for (const problem of problems) console.log(problem);
if (problems.length > 0) process.exitCode = 1;
