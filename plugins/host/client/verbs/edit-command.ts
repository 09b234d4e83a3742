import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { readTarget } from '../object-arguments.ts';
import { note } from '../output/print.ts';
import { parse } from '../read-object-files.ts';
import { serverObject, withoutManagedFields, withSortedKeys } from '../server-object.ts';
import { writePrinter, writeQuery } from './write-commands.ts';

const heading = `# Edit the object below. Lines that begin with # are ignored. To cancel, leave the file as it is, or empty it.
#
`;

/**
 * `homeostat edit TYPE NAME`: opens an object in the editor of KUBE_EDITOR, VISUAL or EDITOR (else vi), and writes the
 * object that the editor saved, unless the stored object has changed meanwhile. If the text is not an object, or the
 * server refuses the write, the text stays in a file, and a message names the file.
 */
export async function editObject(command: ClientCommand): Promise<number> {
  const tell = writePrinter(command);
  const target = await readTarget(command);
  const live = serverObject(await command.server.send('GET', target.path));
  const before = heading + dump(withSortedKeys(withoutManagedFields(live)));
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-edit-'));
  const file = join(folder, `${target.resource.plural}-${target.name}.yaml`);
  let isKept = false;
  try {
    await writeFile(file, before, { mode: 0o600 });
    await runEditor(command, file);
    const after = await readFile(file, 'utf8');
    if (after === before || after.trim() === '') {
      note('Edit cancelled, no changes made.');
      return 0;
    }
    isKept = true;
    const [edited, ...more] = parse(file, after);
    if (edited === undefined || more.length > 0) throw new CommandError(`${file}: exactly one object is expected`);
    const object = serverObject(
      await command.server.send('PUT', target.path, { query: writeQuery(command), body: edited.object }),
    );
    isKept = false;
    await tell({ resource: target.resource, object, done: 'edited' });
    return 0;
  } finally {
    if (isKept) note(`Your changes are in ${file}; apply them with: homeostat apply -f ${file}`);
    else await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the editor in a shell, because KUBE_EDITOR, VISUAL or EDITOR may be a command with arguments: `code --wait`. */
async function runEditor({ environment }: ClientCommand, file: string): Promise<void> {
  const editor =
    ['KUBE_EDITOR', 'VISUAL', 'EDITOR']
      .map((name) => environment[name])
      .find((each) => each !== undefined && each !== '') ?? 'vi';
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  const ended: readonly unknown[] = await once(child, 'exit');
  const [code] = ended;
  if (code !== 0)
    throw new CommandError(
      `the editor "${editor}" failed with exit code ${String(code)}: name another editor in KUBE_EDITOR`,
    );
}
