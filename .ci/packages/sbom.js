// `npm run --silent sbom` prints what a user of `homeostat` installs, as a CycloneDX document. It is made from
// package-lock.json alone, so that it needs no network and is the same for the same lock file. (`npm sbom` leaves out
// packages that are also development dependencies of the workspace, and writes the current time.) With `--check`, it
// prints no document, but fails when a package has no licence, or when a package other than our own has no digest of
// its archive. A further argument names another folder to read.
import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { LockedPackages } from './locked-packages.js';

const isCheck = process.argv[2] === '--check';
const root = process.argv[isCheck ? 3 : 2] ?? resolve(import.meta.dirname, '../..');
const locked = new LockedPackages(root);
const { packages } = locked;
const nested = 'node_modules/';

/**
 * Returns the name of a package. The lock file leaves the name out if a package of the workspace has the name of its
 * folder.
 */
const nameOf = (path) => packages[path].name ?? (path.includes(nested) ? path.split(nested).at(-1) : basename(path));
const purlOf = (path) => `pkg:npm/${nameOf(path).replace('@', '%40')}@${packages[path].version}`;

function componentOf(path, isRequired) {
  const { version, license = '', integrity = '' } = packages[path];
  const [algorithm, digest] = integrity.split('-');
  const isExpression = / (?:OR|AND|WITH) /.test(license);
  return {
    type: 'library',
    'bom-ref': purlOf(path),
    name: nameOf(path),
    version,
    scope: isRequired ? 'required' : 'optional',
    ...(algorithm === 'sha512'
      ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }] }
      : {}),
    ...(license === '' ? {} : { licenses: [isExpression ? { expression: license } : { license: { id: license } }] }),
    purl: purlOf(path),
  };
}

/** Returns a UUID of version 8 (RFC 9562) that is a hash of a text. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

const byReference = (a, b) => (a < b ? -1 : 1);

function documentOf(start) {
  const required = locked.neededBy(start, false);
  const paths = [...locked.neededBy(start, true)];
  const components = new Map(paths.map((path) => [purlOf(path), componentOf(path, required.has(path))]));
  const subject = components.get(purlOf(start));
  components.delete(purlOf(start));
  const edges = new Map(
    paths.map((path) => {
      const { required: needs, optional } = locked.dependenciesOf(path);
      return [purlOf(path), [...new Set([...needs, ...optional].map(purlOf))].sort(byReference)];
    }),
  );
  const content = {
    metadata: { component: { ...subject, type: 'application' } },
    components: [...components.values()].sort((a, b) => byReference(a.purl, b.purl)),
    dependencies: [...edges].sort(([a], [b]) => byReference(a, b)).map(([ref, dependsOn]) => ({ ref, dependsOn })),
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`;
  return { bomFormat: 'CycloneDX', specVersion: '1.5', serialNumber, version: 1, ...content };
}

function problemsOf({ components }) {
  const isOwn = ({ name }) => ['@homeostat/', 'create-homeostat'].some((start) => name.startsWith(start));
  return [
    ...components.filter(({ licenses }) => licenses === undefined).map(({ purl }) => `${purl}: has no licence`),
    ...components
      .filter((each) => !isOwn(each) && each.hashes === undefined)
      .map(({ purl }) => `${purl}: has no digest`),
  ];
}

const made = documentOf('plugins/host');
if (isCheck) {
  for (const problem of problemsOf(made)) console.log(problem);
  if (problemsOf(made).length > 0) process.exitCode = 1;
} else console.log(JSON.stringify(made, undefined, 2));
