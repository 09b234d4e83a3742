// `npm run crds -- <folder>`: starts a server, creates the CustomResourceDefinitions of the folder on the server, and
// prints a line for each definition.
import { HostileProcess } from './hostile/hostile-process.ts';
import { isDefinition, lineOf, reportDefinitions } from './definitions/definition-folder.ts';
import { readDocuments } from './definitions/read-documents.ts';

async function report(folder: string): Promise<void> {
  const { objects, problems } = readDocuments(folder);
  for (const problem of problems) fail(problem);
  if (!objects.some(isDefinition))
    return fail(`${folder}: none of its YAML and JSON files has a CustomResourceDefinition`);
  const server = await HostileProcess.start();
  try {
    for await (const each of reportDefinitions(server, objects)) {
      console.log(lineOf(each));
      if (each.refusal !== undefined || each.establishedMs === undefined) process.exitCode = 1;
    }
  } finally {
    await server.stop();
  }
}

function fail(problem: string): void {
  console.error(problem);
  process.exitCode = 1;
}

const [folder, ...more] = process.argv.slice(2);
if (folder === undefined || more.length > 0) fail('usage: npm run crds -- <folder>');
else await report(folder).catch((error: unknown) => fail(error instanceof Error ? error.message : String(error)));
