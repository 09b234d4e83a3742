import { readPackageJson } from './package-json.ts';

/** The version of this package, which the `requires` of a manifest must allow. */
export function hostVersion(): string {
  return String(readPackageJson(new URL('../../package.json', import.meta.url))['version']);
}
