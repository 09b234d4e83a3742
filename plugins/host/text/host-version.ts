import { readFileSync } from 'node:fs';

/** Version of this package, which the `requires` of a manifest is about. */
export function hostVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return version;
}
