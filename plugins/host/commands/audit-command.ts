import { rotatedFiles } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { ConfigError } from '../serve/config-error.ts';
import { textFlag } from '../serve/text-flag.ts';
import type { ConfigSources } from '../serve/config-values.ts';
import { environmentName } from '../serve/serve-options.ts';
import { errorText } from '../text/error-text.ts';
import { isFound } from '../audit/audit-search.ts';
import type { AuditEntry } from '../audit/audit-search.ts';
import { readAuditSearch } from './read-audit-search.ts';

/**
 * Prints the entries of an audit log that a search finds, oldest first. Returns the exit code: 0 for success, 1 for an
 * error, 2 for options with bad values.
 */
export async function runAudit({ flags, environment }: ConfigSources): Promise<number> {
  try {
    const file = textFlag(flags, 'file') ?? environment[environmentName('audit-log')];
    if (file === undefined || file === '') {
      throw new ConfigError(`--file (or ${environmentName('audit-log')}) is needed: the file of serve's --audit-log`);
    }
    const format = textFlag(flags, 'output') ?? 'table';
    if (format !== 'table' && format !== 'json') throw new ConfigError(`-o: must be table or json, not "${format}"`);
    const search = readAuditSearch(flags, systemClock.now());
    const show = format === 'json' ? showLine : showRow;
    if (format === 'table') await print(headings);
    for await (const { entry, line } of entriesOf(await filesOf(file))) {
      if (isFound(entry, search)) await show(entry, line);
    }
    return 0;
  } catch (error) {
    process.stderr.write(`${error instanceof ConfigError ? error.message : errorText(error)}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** Returns the rotated files, the oldest first, and then the log file itself. */
async function filesOf(file: string): Promise<readonly string[]> {
  const rotated = await rotatedFiles(file);
  const isThere = await stat(file).then(
    () => true,
    () => false,
  );
  if (!isThere && rotated.length === 0)
    throw new Error(`${file}: does not exist; name the file of serve's --audit-log`);
  return [...rotated.map(({ path }) => path), ...(isThere ? [file] : [])];
}

interface FoundEntry {
  readonly entry: AuditEntry;
  readonly line: string;
}

async function* entriesOf(paths: readonly string[]): AsyncGenerator<FoundEntry> {
  for (const path of paths) {
    const lines = createInterface({ input: createReadStream(path, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
    for await (const line of lines) {
      const entry = parsed(line);
      if (entry !== undefined) yield { entry, line };
    }
  }
}

/**
 * Returns the entry of a line; undefined for a line that is not an entry, such as one that was cut off when the disk
 * was full.
 */
function parsed(line: string): AuditEntry | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

const widths = [24, 28, 16, 36, 4];
const headings = row(['TIME', 'USER', 'VERB', 'RESOURCE', 'CODE', 'FROM']);

function showLine(_entry: AuditEntry, line: string): Promise<void> {
  return print(`${line}\n`);
}

function showRow(entry: AuditEntry): Promise<void> {
  const { user, impersonatedUser, verb = '', stageTimestamp = '', responseStatus, sourceIPs = [] } = entry;
  const name = user?.username ?? '<none>';
  const who = impersonatedUser === undefined ? name : `${impersonatedUser.username ?? ''} (by ${name})`;
  const code = responseStatus?.code === undefined ? (entry.stage ?? '') : String(responseStatus.code);
  const time = stageTimestamp.replace(/(\.\d{3})\d*Z$/, '$1Z');
  return print(row([time, who, verb, whatOf(entry), code, sourceIPs.join(',')]));
}

function whatOf({ objectRef, requestURI = '' }: AuditEntry): string {
  if (objectRef === undefined) return requestURI;
  const { resource = '', apiGroup, namespace, name, subresource } = objectRef;
  const kind = apiGroup === undefined ? resource : `${resource}.${apiGroup}`;
  return [kind, namespace === undefined ? undefined : `-n ${namespace}`, name, subresource && `/${subresource}`]
    .filter((part) => part !== undefined)
    .join(' ');
}

function row(cells: readonly string[]): string {
  return `${cells
    .map((cell, index) => printable(cell).padEnd(widths[index] ?? 0))
    .join('  ')
    .trimEnd()}\n`;
}

/** Replaces control characters, so that no name in an entry controls the terminal: clients choose these names. */
function printable(text: string): string {
  return text.replaceAll(/\p{C}/gu, '?');
}

/** Writes to stdout, and waits for its reader, so that a long log does not fill the memory. */
function print(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
