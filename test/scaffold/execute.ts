import { execFile } from 'node:child_process';
import { testPatienceMs } from '@homeostat/controller-runtime/testing';

export interface ExecuteOptions {
  readonly cwd: string;
  /** Variables that are added to the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Executed {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Rejects with its output when it fails. */
export function execute(
  program: string,
  args: readonly string[],
  { cwd, environment = {} }: ExecuteOptions,
): Promise<Executed> {
  return new Promise((resolve, reject) => {
    const timeout = testPatienceMs(180_000);
    const options = { cwd, env: { ...process.env, ...environment }, timeout, maxBuffer: 64 * 1024 * 1024 };
    execFile(program, args, options, (cause, stdout, stderr) => {
      if (cause === null) resolve({ stdout, stderr });
      else reject(new Error(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause }));
    });
  });
}
