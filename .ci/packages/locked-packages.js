// Reads package-lock.json: resolves a name as Node does from a package, and finds all packages that a package needs.
import { readFileSync } from 'node:fs';

const nested = 'node_modules/';

export class LockedPackages {
  /** The entries of the lock file, by path. */
  packages;

  constructor(root) {
    ({ packages: this.packages } = JSON.parse(readFileSync(`${root}/package-lock.json`, 'utf8')));
  }

  /** Returns the paths of a package's required dependencies, and of its optional ones. */
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

  /**
   * Returns the paths of a package and of all its dependencies, direct and indirect. Optional dependencies are included
   * only if `hasOptional` is true.
   */
  neededBy(path, hasOptional, found = new Set()) {
    if (found.has(path)) return found;
    found.add(path);
    const { required, optional } = this.dependenciesOf(path);
    for (const each of hasOptional ? [...required, ...optional] : required) this.neededBy(each, hasOptional, found);
    return found;
  }

  /**
   * Returns the path of the package that Node would load when the package at `from` imports `name`; undefined if there
   * is none.
   */
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
