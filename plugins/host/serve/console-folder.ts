import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the console, which is a plugin in a package of its own. */
export function consoleFolder(): string {
  return dirname(fileURLToPath(import.meta.resolve('@homeostat/console/package.json')));
}
