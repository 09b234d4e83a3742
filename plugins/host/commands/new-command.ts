import { addPart, ScaffoldError } from 'create-homeostat';
import type { AddPartOptions } from 'create-homeostat';
import { errorText } from '../text/error-text.ts';
import { openPluginFolder } from '../package/plugin-folder.ts';

/**
 * Adds a part to the plugin in the working folder. Returns the exit code: 0, or 2 if it wrote no file; the reason is
 * then on stderr.
 */
export async function runNew(part: Pick<AddPartOptions, 'type' | 'name' | 'kind' | 'plural'>): Promise<number> {
  try {
    const { manifest } = await openPluginFolder('.');
    const { group } = manifest;
    if (group === undefined) throw new ScaffoldError('plugin.yaml: group: is missing: homeostat new needs it');
    const { files } = await addPart({ ...part, folder: '.', group });
    process.stdout.write(`${files.map((file) => `wrote ${file}`).join('\n')}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${errorText(error)}\n`);
    return 2;
  }
}
