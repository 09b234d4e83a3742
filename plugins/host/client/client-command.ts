import { isJsonObject } from '@homeostat/controller-runtime/api';
import { readServer } from '../serve/read-server.ts';
import { reachCure } from '../serve/access-cure.ts';
import { ConfigError } from '../serve/config-error.ts';
import { errorText, hasCode } from '../text/error-text.ts';
import { CommandError } from './command-error.ts';
import { ObjectServer, ServerRefusal } from './object-server.ts';
import type { RunAs } from '../remote/request-server.ts';
import { ResourceNames } from './resource-names.ts';

/** The options and arguments of a command. */
export interface ClientSources {
  readonly args: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** A command that runs against a server. */
export interface ClientCommand extends ClientSources {
  readonly server: ObjectServer;
  /** Resolves with the kinds that the server serves; reads them only once. */
  readonly names: () => Promise<ResourceNames>;
  /** The value of `--namespace`; without the flag, `default`. */
  readonly namespace: string;
}

/** The work of a command. It resolves with an exit code; undefined is 0. */
export type ClientWork = (command: ClientCommand) => Promise<number | void>;

const signals = ['SIGTERM', 'SIGINT'] as const;

/**
 * Runs a command, and prints the error if the command fails. Returns the exit code: that of the work; after an error, 2
 * for wrong arguments, otherwise 1; 130 when a signal stopped the command; 0 when the reader of stdout has closed it.
 */
export async function runClientCommand(sources: ClientSources, work: ClientWork): Promise<number> {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  for (const signal of signals) process.once(signal, stop);
  try {
    return (await work(openCommand(sources, controller.signal))) ?? 0;
  } catch (error) {
    // 130 is the shell's code for a program that SIGINT has stopped.
    if (controller.signal.aborted) return 130;
    return report(error);
  } finally {
    for (const signal of signals) process.off(signal, stop);
  }
}

function openCommand(sources: ClientSources, signal: AbortSignal): ClientCommand {
  const warn = (text: string): void => void process.stderr.write(`Warning: ${text}\n`);
  const server = new ObjectServer(readServer(sources), signal, { warn, runAs: impersonationOf(sources.flags) });
  let names: Promise<ResourceNames> | undefined;
  const { namespace } = sources.flags;
  return {
    ...sources,
    server,
    names: async () => (names ??= ResourceNames.read(server)),
    namespace: typeof namespace === 'string' ? namespace : 'default',
  };
}

/** Returns the user as whom the requests should run, if one is named. */
function impersonationOf(flags: ClientSources['flags']): RunAs | undefined {
  const { as: user, 'as-group': groups } = flags;
  if (typeof user !== 'string') {
    if (groups !== undefined) throw new CommandError('--as-group: name the user, too: --as <user>', 2);
    return undefined;
  }
  return { user, groups: Array.isArray(groups) ? groups.map(String) : [] };
}

function report(error: unknown): number {
  // The process that reads stdout, such as head, has closed it, which is not an error.
  if (hasCode(error, 'EPIPE')) return 0;
  const cure = reachCure(error) ?? (error instanceof ServerRefusal ? cureOf(error) : undefined);
  const text = error instanceof ServerRefusal ? error.message : `error: ${errorText(error)}`;
  process.stderr.write(`${text}${cure === undefined ? '' : `\n${cure}`}\n`);
  if (error instanceof ConfigError) return 2;
  return error instanceof CommandError ? error.exitCode : 1;
}

/**
 * Returns the lines to print after a refusal: the cure for a wrong credential or a conflict, or else each refused field
 * that the message does not name.
 */
function cureOf({ code, status, message }: ServerRefusal): string | undefined {
  if (code === 401)
    return "give the server's token: --token, or better HOMEOSTAT_TOKEN, or name its kubeconfig in HOMEOSTAT_KUBECONFIG";
  const { details } = status;
  if (code === 409 && message.includes('conflict with'))
    return 'leave these fields out, or take them over: --force-conflicts';
  const causes = isJsonObject(details) && Array.isArray(details['causes']) ? details['causes'] : [];
  const lines = causes
    .filter(isJsonObject)
    .filter(({ field }) => typeof field === 'string' && !message.includes(field))
    .map((cause) => `* ${String(cause['field'])}: ${String(cause['message'])}`);
  return lines.length === 0 ? undefined : lines.join('\n');
}
