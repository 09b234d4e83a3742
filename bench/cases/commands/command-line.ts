import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { CaseContext } from '../../measure/case.ts';
import type { Figures } from '../../measure/figures.ts';
import type { Row } from '../../measure/result-table.ts';
import { p50AtMost } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const command = `${root}plugins/host/bin/homeostat.js`;
const scaffoldTest = 'test/dist/scaffold/scaffold.test.js';

/** The maximum time of a command; a person hardly notices such a time. */
const mostMs = 150;
const mostCreateMs = 60_000;

/**
 * The number of processes of each contestant in each round. One process is not enough, because the time of such a
 * short process varies.
 */
const runsEach = 3;

/** Measures the time of commands that need no server. */
export async function commandLine({ settings }: CaseContext): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const args of [['--help'], ['--version'], ['completion', 'bash'], ['get', '--help']]) {
    const { ours, limit } = await alternate(settings.rounds * runsEach, {
      ours: async () => run([command, ...args]),
      limit: async () => run(['-e', '0']),
    });
    rows.push({ name: `homeostat ${args.join(' ')}`, ours, limit, target: p50AtMost(mostMs, ours) });
  }
  return rows;
}

/**
 * Measures the time from `npm create homeostat` to the first reconciled object, with an npm registry on this machine.
 * The test of the scaffold runs these steps, and prints the time.
 */
export async function create(): Promise<readonly Row[]> {
  const title = 'makes a plugin that passes lint, compiler and tests';
  const args = ['node_modules/mocha/bin/mocha.js', '--no-config', '--exit', '--require', './.ci/skip-because.js'];
  const output = await outputOf([...args, '--grep', title, scaffoldTest]);
  const [, seconds] = /to the first reconciled object: ([\d.]+) s/.exec(output) ?? [];
  if (seconds === undefined) throw new Error(`${scaffoldTest} did not reach the first reconciled object:\n${output}`);
  const ours = figuresOf(Number(seconds) * 1000);
  return [{ name: 'npm create homeostat, until the first object', ours, target: p50AtMost(mostCreateMs, ours) }];
}

async function run(args: readonly string[]): Promise<Figures> {
  const startMs = performance.now();
  await outputOf(args);
  return figuresOf(performance.now() - startMs);
}

function figuresOf(ms: number): Figures {
  return { opsPerSecond: 1000 / ms, p50Ms: ms };
}

/** Runs Node in the folder of the repository, and returns its output. @throws Error when it fails */
async function outputOf(args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`node ${args.join(' ')} ended with code ${String(code)}:\n${output}`);
  return output;
}
