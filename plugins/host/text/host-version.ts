import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The version of this package, which the `requires` of a manifest must allow. */
export function hostVersion(): string {
  // Does not use readPackageJson, which loads the vocabulary of the API: every call of the command line needs the
  // version.
  const content: unknown = require('../../package.json');
  return typeof content === 'object' && content !== null && 'version' in content ? String(content.version) : '';
}
