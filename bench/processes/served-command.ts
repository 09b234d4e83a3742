import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const root: string = fileURLToPath(new URL('../../../', import.meta.url));

const command = join(root, 'plugins/host/bin/homeostat.js');

/** The line that a server writes to its log when it is ready. */
interface ReadyLine {
  readonly msg: string;
  readonly url: string;
  readonly plugins?: readonly { readonly phase: string }[];
}

/**
 * Runs `homeostat serve` with a SQLite database, and calls `use` when the server is ready. The server is stopped when
 * the promise of `use` has settled.
 */
export async function withServe<Result>(
  database: string,
  args: readonly string[],
  use: (line: ReadyLine, pid: number) => Result | Promise<Result>,
): Promise<Result> {
  const all = [command, 'serve', '--port', '0', '--database', `sqlite:${database}`, ...args];
  const child = spawn(process.execPath, all, { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const entry = JSON.parse(line) as ReadyLine;
      if (entry.msg === 'ready') return await use(entry, child.pid ?? 0);
    }
    throw new Error('homeostat serve ended before it was ready');
  } finally {
    child.stdout.resume();
    child.kill();
    await exited;
  }
}

/** Returns the resident memory of a process in MB. It works only on Linux. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid.toString()}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
