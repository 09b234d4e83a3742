#!/usr/bin/env node
import { existsSync } from 'node:fs';

const cli = new URL('../dist/bundle/cli.js', import.meta.url);
if (!existsSync(cli)) {
  process.stderr.write('homeostat is not built: run npm run build first\n');
  process.exit(1);
}
const { runCli } = await import(cli.href);
// Ends the process explicitly, because timers that a plugin leaves behind would keep it alive.
process.exit(await runCli(process.argv.slice(2), { environment: process.env, exit: (code) => process.exit(code) }));
