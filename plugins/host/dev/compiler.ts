import { spawn } from 'node:child_process';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readPackageJson } from '../text/package-json.ts';

/**
 * Compiles once, and prints errors; resolves with true when there were none. Rejects when the compiler cannot be run.
 */
export type Compile = (signal: AbortSignal) => Promise<boolean>;

/**
 * Returns the compiler of a plugin in TypeScript: the plugin's own dependency, which runs as a separate program. When
 * there are errors, it prints them on stderr, and the compiled files stay unchanged. Returns undefined for a folder
 * without tsconfig.json. Throws Error when the compiler is not installed.
 */
export function compilerOf(folder: string): Compile | undefined {
  if (!existsSync(join(folder, 'tsconfig.json'))) return undefined;
  const tsc = findCompiler(folder);
  return async (signal) => {
    if (signal.aborted) return false;
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [tsc, '--project', folder, '--noEmitOnError'], {
        stdio: ['ignore', 2, 2],
        cwd: folder,
      });
      const kill = (): void => void child.kill();
      signal.addEventListener('abort', kill, { once: true });
      child.once('error', reject);
      child.once('exit', (code) => {
        signal.removeEventListener('abort', kill);
        resolve(code === 0);
      });
    });
  };
}

function findCompiler(folder: string): string {
  try {
    const file = createRequire(join(folder, 'package.json')).resolve('typescript/package.json');
    const { bin } = readPackageJson(file);
    if (!isJsonObject(bin)) throw new TypeError(`${file} names no programs`);
    return join(dirname(file), String(bin['tsc']));
  } catch (cause) {
    throw new Error(`${folder} has a tsconfig.json, but no compiler: npm install --save-dev typescript`, { cause });
  }
}
