import { silentLogger } from '@homeostat/controller-runtime/api';
import { tryPlugin } from '../dev/try-plugin.ts';
import { openPluginFolder } from '../package/plugin-folder.ts';
import { startTestServer } from '../testing/test-server.ts';
import { errorTextWithPlace } from '../text/error-text.ts';

export interface CheckOptions {
  /** The folder of the compiled plugin. */
  readonly folder: string;
  /** Folders of the other plugins whose kinds the declared objects of this plugin use. */
  readonly others: readonly string[];
}

/**
 * Checks the manifest, module, models and declared objects of a plugin, without a running server. Prints each mistake
 * on a line, and returns the exit code: 0, or 1 when there is a mistake.
 */
export async function runCheck({ folder, others }: CheckOptions): Promise<number> {
  let place: string | undefined;
  try {
    const source = await openPluginFolder(folder, folder);
    place = source.folder;
    const server = await startTestServer({ plugins: others, logger: silentLogger });
    try {
      await tryPlugin(source, { server: server.server, signal: new AbortController().signal });
    } finally {
      await server.stop();
    }
    const { name, version } = source.manifest;
    process.stdout.write(`${name} ${version}: manifest, models and declared objects are right\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`${errorTextWithPlace(error, place).replaceAll('; ', '\n')}\n`);
    return 1;
  }
}
