import type { Run } from '@homeostat/controller-runtime/api';
import { parseKey, runModel } from '@homeostat/controller-runtime/api';
import { formatTable } from '../../text/format-table.ts';
import { textFlag } from '../../serve/text-flag.ts';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { findController, isRun, readControllers, readRuns, runsPath } from '../observed-kinds.ts';
import { note, print } from '../output/print.ts';
import { runCells, runHeaders } from '../output/run-lines.ts';

const defaultLimit = 20;
const maxLimit = 1000;

/**
 * `homeostat runs`: prints the last runs of a controller, or of one of its objects, the oldest first; with -f, it then
 * prints new runs.
 */
export async function listRuns(command: ClientCommand): Promise<void> {
  const { server, flags, args } = command;
  const [name, key, ...more] = args;
  if (name === undefined || more.length > 0)
    throw new CommandError(
      'name a controller, and at most one of its objects: <controller> [<name> | <namespace>/<name>]',
      2,
    );
  const printer = new RunPrinter(outputOf(command));
  const limit = limitOf(command);
  const { controllers } = await readControllers(server);
  const [{ spec }] = findController(controllers, name);
  const { controller } = spec;
  const fieldSelector = [`controller=${controller}`, ...selectorsOf(key), ...resultOf(command)].join(',');
  const namespace = textFlag(flags, 'namespace');
  const query = { fieldSelector, sort: 'startTime,desc', size: String(limit), page: '1' };
  const { runs, resourceVersion } = await readRuns(server, query, namespace);
  await printer.print(runs.toReversed());
  if (flags['follow'] !== true) {
    if (runs.length === 0) note('No runs found.');
    return;
  }
  const watched = server.watch(runsPath(namespace), { query: { fieldSelector, resourceVersion } });
  for await (const { type, object } of watched) if (type === 'ADDED' && isRun(object)) await printer.print([object]);
}

function selectorsOf(key: string | undefined): readonly string[] {
  if (key === undefined) return [];
  const { namespace, name } = parseKey(key);
  return [`object.name=${name}`, ...(namespace === undefined ? [] : [`object.namespace=${namespace}`])];
}

function resultOf({ flags }: ClientCommand): readonly string[] {
  const result = textFlag(flags, 'result');
  const known = runModel.components[runModel.schemaName]?.properties?.['result']?.enum ?? [];
  if (result !== undefined && !known.includes(result))
    throw new CommandError(`--result: must be one of ${known.join(', ')}, not "${result}"`, 2);
  return result === undefined ? [] : [`result=${result}`];
}

function limitOf({ flags }: ClientCommand): number {
  const text = textFlag(flags, 'limit') ?? String(defaultLimit);
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= maxLimit) return limit;
  throw new CommandError(`--limit: must be a number from 1 to ${maxLimit}, not "${text}"`, 2);
}

function outputOf({ flags }: ClientCommand): 'table' | 'json' {
  const output = textFlag(flags, 'output') ?? 'table';
  if (output === 'table' || output === 'json') return output;
  throw new CommandError(`-o: must be table or json, not "${output}"`, 2);
}

/** Prints each run immediately; later rows can only make a column wider. */
class RunPrinter {
  readonly #output: 'table' | 'json';
  #widest: readonly string[] = [];

  constructor(output: 'table' | 'json') {
    this.#output = output;
  }

  async print(runs: readonly Run[]): Promise<void> {
    if (runs.length === 0) return;
    if (this.#output === 'json') return print(runs.map((run) => `${JSON.stringify(run)}\n`).join(''));
    const isFirst = this.#widest.length === 0;
    const rows = [...(isFirst ? [runHeaders] : []), ...runs.map(runCells)];
    for (const row of rows)
      this.#widest = row.map((cell, at) => ' '.repeat(Math.max(cell.length, this.#widest[at]?.length ?? 0)));
    // The first row only sets the widths.
    const lines = formatTable([this.#widest, ...rows]);
    await print(lines.slice(lines.indexOf('\n') + 1));
  }
}
