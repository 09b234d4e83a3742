import { readFileSync } from 'node:fs';

/** The version of this package, which the `requires` of a manifest must allow. */
export function hostVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
