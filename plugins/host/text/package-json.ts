import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { readFileSync } from 'node:fs';

/**
 * Reads the `package.json` of this package, or of a package that it uses. Throws when the file is not a JSON object.
 */
export function readPackageJson(file: string | URL): JsonObject {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!isJsonObject(value)) throw new TypeError(`${String(file)} must be a JSON object`);
  return value;
}
