#!/usr/bin/env node
import { existsSync } from 'node:fs';

const cli = new URL('../dist/bundle/cli.js', import.meta.url);
if (!existsSync(cli)) {
  process.stderr.write('create-homeostat is not built: run npm run build first\n');
  process.exit(1);
}
const { runCreate } = await import(cli.href);
process.exitCode = await runCreate(process.argv.slice(2), process);
