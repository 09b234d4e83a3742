// Copies the files of swagger-ui-dist that the page at /docs needs into the built server. A dependency of that
// package reports its installation to its authors; with the copy, users need not install it.
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const from = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')));
const to = fileURLToPath(new URL('../apiserver/dist/http/pages/docs-assets/', import.meta.url));

mkdirSync(to, { recursive: true });
for (const file of ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png', 'LICENSE', 'NOTICE']) {
  copyFileSync(join(from, file), join(to, file));
}
