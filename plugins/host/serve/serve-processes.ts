import { openDatabaseOwner } from '@homeostat/apiserver';
import type { DatabaseOwner } from '@homeostat/apiserver';
import { systemClock } from '@homeostat/controller-runtime';
import type { Logger } from '@homeostat/controller-runtime/api';
import cluster from 'node:cluster';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ConfigError } from './config-error.ts';
import type { ServeConfig } from './config.ts';
import { createLog } from './create-logger.ts';
import { ProcessGroup, type GroupMember, type MemberEvents } from './process-group.ts';
import { ownerDescriptor, processVariable } from './process-messages.ts';
import { Shutdown } from './shutdown.ts';
import { reportFailedStart } from './start-cure.ts';

/**
 * Serves requests with several processes at one port until a signal. Resolves with the exit code, as {@link runServe}
 * does.
 */
export async function serveProcesses(config: ServeConfig, exit: (code: number) => void): Promise<number> {
  const format = config.logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const log = createLog(config.logLevel, format, { environment: process.env });
  if (!config.hasWorkers) return runProcesses(config, { logger: log.logger, exit });
  try {
    const owner = await openOwner(config);
    try {
      return await runProcesses(config, { logger: log.logger, exit, owner });
    } finally {
      // The database is closed only after all processes have ended, because each has a stream to it.
      await owner.close();
    }
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    reportFailedStart(error, log);
    return 1;
  }
}

async function openOwner({ database, databaseOrigin }: ServeConfig): Promise<DatabaseOwner> {
  try {
    return await openDatabaseOwner(database);
  } catch (error) {
    if (error instanceof RangeError) throw new ConfigError(`${databaseOrigin}: ${error.message}`);
    throw error;
  }
}

interface RunParts {
  readonly logger: Logger;
  readonly exit: (code: number) => void;
  /** The open database that workers use. Absent when each process opens the database itself. */
  readonly owner?: DatabaseOwner;
}

async function runProcesses({ processes }: ServeConfig, { logger, exit, owner }: RunParts): Promise<number> {
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url)),
    args: process.argv.slice(2),
    // If this process has the database open, the last descriptor is the stream to the database.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc', ...(owner === undefined ? [] : ['pipe' as const])],
  });
  const fork = (number: number, events: MemberEvents): GroupMember => startProcess(number, { ...events, owner });
  const group = new ProcessGroup({ count: processes, fork, clock: systemClock, logger });
  if (owner !== undefined) void failWithDatabase(owner, { logger, group });
  const shutdown = new Shutdown({
    logger,
    exit: (code) => {
      group.kill();
      exit(code);
    },
    pluginOf: () => undefined,
    crash: () => undefined,
  });
  shutdown.listen();
  try {
    const code = await group.run(shutdown.signal);
    if (code === 0) logger.info({}, 'all processes have stopped');
    return Math.max(code, shutdown.exitCode);
  } finally {
    shutdown.dispose();
  }
}

async function failWithDatabase(
  owner: DatabaseOwner,
  { logger, group }: { readonly logger: Logger; readonly group: ProcessGroup },
): Promise<void> {
  const err = await owner.failed;
  logger.error({ err }, 'the database cannot be used any more: stopping');
  group.fail();
}

interface ProcessParts extends MemberEvents {
  readonly owner: DatabaseOwner | undefined;
}

function startProcess(number: number, { onListening, onMessage, onExit, owner }: ProcessParts): GroupMember {
  const worker = cluster.fork({ [processVariable]: String(number) });
  const stream = worker.process.stdio[ownerDescriptor];
  if (stream instanceof Duplex) owner?.connect(stream);
  worker.on('listening', onListening);
  worker.on('message', onMessage);
  worker.on('exit', onExit);
  // This listener ignores errors of starting the process and of sending messages to it: onExit handles both.
  worker.on('error', () => undefined);
  return {
    send: (message) => {
      if (worker.isConnected()) worker.send(message);
    },
    kill: () => void worker.process.kill('SIGKILL'),
  };
}
