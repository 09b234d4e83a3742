import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { coloured, objectDiff } from '../client/output/object-diff.ts';
import { serverObject } from '../client/server-object.ts';
import { planChanges } from '../testing/plan-changes.ts';
import type { ChangePlan, PlannedChange } from '../testing/plan-changes.ts';
import { exportSource, readCopy } from '../remote/read-copy.ts';
import { ConfigError } from '../serve/config-error.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { textFlag } from '../serve/text-flag.ts';
import { readServer } from '../serve/read-server.ts';
import { runCopy } from './run-copy.ts';

/** The exit code of a plan with changes, the same as that of `terraform plan -detailed-exitcode`. */
const changesExitCode = 2;
const noPlanExitCode = 1;

/**
 * Prints the changes that plugins would make, and returns the exit code: 0 when there are none; 2 when there are some,
 * when something failed, and when the plugins never became idle; 1 when there is no plan. Other commands return 2 for
 * bad values, but here this would mean changes.
 */
export async function runPlan(sources: ConfigSources): Promise<number> {
  let isChanging = false;
  const code = await runCopy('plan', async (signal) => {
    const format = textFlag(sources.flags, 'output') ?? 'text';
    if (format !== 'text' && format !== 'json') throw new ConfigError(`-o: must be text or json, not "${format}"`);
    const plugins = sources.flags['plugin'];
    if (!Array.isArray(plugins)) throw new ConfigError('--plugin is needed: the compiled folder of a plugin');
    const encryptionConfig = textFlag(sources.flags, 'encryption-config');
    const keys = encryptionConfig === undefined ? {} : { encryptionConfig };
    const plan = await withExport(sources, signal, async (from) =>
      planChanges({ plugins: plugins.map(String), from, ...keys }),
    );
    isChanging = plan.changes.length > 0 || plan.unsettled !== undefined || plan.failures.length > 0;
    process.stdout.write(format === 'json' ? `${JSON.stringify(plan, undefined, 2)}\n` : planText(plan));
  });
  if (code !== 0) return noPlanExitCode;
  return isChanging ? changesExitCode : 0;
}

/**
 * Calls `work` with the file of an export. If `--from` is the URL of a server, or is not given, first reads the export
 * of the server into a temporary file.
 */
async function withExport<T>(
  sources: ConfigSources,
  signal: AbortSignal,
  work: (file: string) => Promise<T>,
): Promise<T> {
  const from = textFlag(sources.flags, 'from');
  if (from !== undefined && !/^https?:/.test(from)) return work(from);
  const address = readServer({ ...sources, flags: { ...sources.flags, server: from } });
  const folder = await mkdtemp(join(tmpdir(), 'homeostat-plan-export-'));
  try {
    const file = join(folder, 'export.ndjson');
    await pipeline(readCopy(address, exportSource, signal), createWriteStream(file, { mode: 0o600 }), { signal });
    return await work(file);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const marks = { create: '+', change: '~', delete: '-' } as const;

/** Returns a plan as text for people: a diff for each object, then the other findings, then the numbers of changes. */
function planText({ changes, calls, failures, unsettled, revision }: ChangePlan): string {
  const diffs = changes.map((change) => `${marks[change.action]} ${titleOf(change)}\n${diffOf(change)}`);
  const count = (action: PlannedChange['action']): number => changes.filter((each) => each.action === action).length;
  return [
    ...diffs,
    ...calls.map(
      ({ call, count: times }) => `! external call, not made: ${call}${times === 1 ? '' : ` (${times} times)`}\n`,
    ),
    ...failures.map(({ what, message }) => `! failed: ${what}: ${message}\n`),
    ...(unsettled === undefined ? [] : [`! never becomes idle: ${unsettled}\n`]),
    `Plan for revision ${revision}: ${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete.\n`,
  ].join('');
}

function titleOf({ kind, apiVersion, namespace, name, writes = 1 }: PlannedChange): string {
  const [group = ''] = apiVersion.includes('/') ? apiVersion.split('/') : [''];
  const type = group === '' ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  const place = namespace === undefined ? '' : ` in ${namespace}`;
  return `${type}/${name}${place}${writes > 1 ? `, by ${writes} writes` : ''}`;
}

function diffOf({ name, before, after }: PlannedChange): string {
  if (after === undefined) return '';
  const diff = objectDiff(name, before === undefined ? undefined : serverObject(before), serverObject(after));
  const lines = diff.split('\n').filter((line) => !/^(---|\+\+\+|\\)/.test(line));
  return coloured(lines.join('\n'), process.stdout.isTTY);
}
