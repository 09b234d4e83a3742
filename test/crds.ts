// `npm run crds -- <folder>`: gives the CustomResourceDefinitions of a folder to a server, and prints a line for each.
import { HostileProcess } from './hostile/hostile-process.ts';
import { isDefinition, lineOf, reportDefinitions } from './support/definition-folder.ts';
import { readDocuments } from './support/read-documents.ts';
import type { Documents } from './support/read-documents.ts';

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0) exitWith('usage: npm run crds -- <folder>');
const { objects, problems } = documentsOf(folder);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
if (!objects.some(isDefinition)) exitWith(`${folder}: no YAML or JSON file in it has a CustomResourceDefinition`);
const server = await HostileProcess.start();
try {
  for await (const report of reportDefinitions(server, objects)) {
    console.log(lineOf(report));
    if (report.refusal !== undefined || report.establishedMs === undefined) process.exitCode = 1;
  }
} finally {
  await server.stop();
}

function documentsOf(path: string): Documents {
  try {
    return readDocuments(path);
  } catch (error) {
    return exitWith(error instanceof Error ? error.message : String(error));
  }
}

function exitWith(problem: string): never {
  console.error(problem);
  process.exit(1);
}
