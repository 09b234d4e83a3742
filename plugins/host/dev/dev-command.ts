import { errorText } from '../text/error-text.ts';
import { stderr } from '../text/line-output.ts';
import { runServe } from '../serve/serve.ts';
import type { RunServeOptions } from '../serve/serve.ts';
import { Development } from './development.ts';

export interface RunDevOptions extends RunServeOptions {
  /** The plugin's folder. */
  readonly folder: string;
}

/**
 * Serves a plugin while it is being written, until a signal arrives. The exit codes are those of serve; 2 also means
 * that the folder is not a plugin.
 */
export async function runDev({ folder, ...options }: RunDevOptions): Promise<number> {
  const print = (line: string): void => stderr.write(`dev: ${line}\n`);
  let development: Development;
  try {
    development = await Development.open(folder, { print });
  } catch (error) {
    stderr.write(`${errorText(error)}\n`);
    return 2;
  }
  return runServe({ ...options, development, isOpenByDefault: true });
}
