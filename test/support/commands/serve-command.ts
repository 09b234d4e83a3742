import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

export interface Served {
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: readonly string[];
}

/**
 * Runs `homeostat serve --auth open` on a free port, in the root of the repository. Resolves when the server is ready.
 */
export function serve(...args: readonly string[]): Promise<Served> {
  return serveWith({}, ...args);
}

/** Runs {@link serve} with additional environment variables. */
export async function serveWith(
  environment: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Served> {
  const command = ['plugins/host/bin/homeostat.js', 'serve', '--auth', 'open', '--port', '0', ...args];
  // The child process gets the same V8 options as this process.
  const child = spawn(process.execPath, [...process.execArgv, ...command], {
    cwd: root,
    env: { ...process.env, ...environment },
  });
  const log: string[] = [];
  const ready = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      log.push(line);
      const entry = JSON.parse(line) as { msg: string; url: string };
      if (entry.msg === 'ready') resolve(entry.url);
    });
    child.once('exit', (code) => reject(new Error(`homeostat ended with ${String(code)}:\n${log.join('\n')}`)));
  });
  return { url: await ready, child, log };
}

/** Sends a signal to the process, and returns its exit code. */
export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.kill(signal);
  return (await exited)[0];
}
