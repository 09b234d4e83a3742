// Reads package-lock.json: resolves a name as Node does from a package, and finds all packages that a package needs.
import { readFileSync } from 'node:fs';

const nested = 'node_modules/';

export class LockedPackages {
  /** The entries of the lock file, by path. */
  packages;

  constructor(root) {
    ({ packages: this.packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8')));
  }

  /** The paths of the packages that a package needs, and of its optional ones. */
  dependenciesOf(path) {
    const {
      dependencies = {},
      optionalDependencies = {},
      peerDependencies = {},
      peerDependenciesMeta = {},
    } = this.packages[path];
    const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
    const pathsOf = (names) => names.map((name) => this.find(path, name)).filter((found) => found !== undefined);
    return {
      required: pathsOf([...Object.keys(dependencies), ...peers]),
      optional: pathsOf(Object.keys(optionalDependencies)),
    };
  }

  /** The paths of a package and all that it needs; with `hasOptional` also its optional ones. */
  neededBy(path, hasOptional, found = new Set()) {
    if (found.has(path)) return found;
    found.add(path);
    const { required, optional } = this.dependenciesOf(path);
    for (const each of hasOptional ? [...required, ...optional] : required) this.neededBy(each, hasOptional, found);
    return found;
  }

  /** The path of the package that another one finds under a name, as Node looks for it; undefined if it is not installed. */
  find(from, name) {
    for (let folder = from; ;) {
      const path = `${folder === '' ? '' : `${folder}/`}${nested}${name}`;
      if (this.packages[path] !== undefined)
        return this.packages[path].link === true ? this.packages[path].resolved : path;
      if (folder === '') return undefined;
      const end = folder.lastIndexOf(`/${nested}`);
      folder = end < 0 ? '' : folder.slice(0, end);
    }
  }
}
