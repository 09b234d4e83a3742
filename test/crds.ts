// `npm run crds -- <folder>`: gives the CustomResourceDefinitions of a folder to a server, and prints a line for each.
import { HostileProcess } from './hostile/hostile-process.ts';
import { lineOf, reportDefinitions } from './support/definition-folder.ts';

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('usage: npm run crds -- <folder>');
const server = await HostileProcess.start();
try {
  for await (const report of reportDefinitions(server, folder)) {
    console.log(lineOf(report));
    if (report.refusal !== undefined || report.establishedMs === undefined) process.exitCode = 1;
  }
} finally {
  await server.stop();
}
