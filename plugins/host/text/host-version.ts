import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** Returns the version of this package. A plugin runs only if the `requires` of its manifest allows this version. */
export function hostVersion(): string {
  // This does not use readPackageJson, which loads modules of the API, because every command needs the version and
  // should start fast.
  const content: unknown = require('../../package.json');
  return typeof content === 'object' && content !== null && 'version' in content ? String(content.version) : '';
}
