import { systemClock } from '@homeostat/controller-runtime';
import cluster from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { ServeConfig } from './config.ts';
import { createLog } from './create-logger.ts';
import { ProcessGroup, type GroupMember, type MemberEvents } from './process-group.ts';
import { processVariable } from './process-messages.ts';
import { Shutdown } from './shutdown.ts';

/** Serves with several processes behind one port until a signal, and returns the exit code, as {@link runServe} does. */
export async function serveProcesses(
  { processes, logLevel, logFormat }: ServeConfig,
  exit: (code: number) => void,
): Promise<number> {
  const format = logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json');
  const { logger } = createLog(logLevel, format, { environment: process.env });
  cluster.setupPrimary({
    exec: fileURLToPath(new URL('../../bin/homeostat.js', import.meta.url)),
    args: process.argv.slice(2),
  });
  const group = new ProcessGroup({ count: processes, fork, clock: systemClock, logger });
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

function fork(number: number, { onListening, onMessage, onExit }: MemberEvents): GroupMember {
  const worker = cluster.fork({ [processVariable]: String(number) });
  worker.on('listening', onListening);
  worker.on('message', onMessage);
  worker.on('exit', onExit);
  // A process that could not be started, or has just ended, reports it by its exit.
  worker.on('error', () => undefined);
  return {
    send: (message) => {
      if (worker.isConnected()) worker.send(message);
    },
    kill: () => void worker.process.kill('SIGKILL'),
  };
}
