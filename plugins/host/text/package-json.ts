import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { readFileSync } from 'node:fs';

/** Reads a file `package.json` of this package, or of one that it uses. Throws when it holds no object. */
export function readPackageJson(file: string | URL): JsonObject {
  const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (!isJsonObject(value)) throw new TypeError(`${String(file)} must be an object of JSON`);
  return value;
}
