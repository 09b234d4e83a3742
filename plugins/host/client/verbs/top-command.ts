import type { ControllerObject } from '@homeostat/controller-runtime/api';
import type { ClientCommand } from '../client-command.ts';
import { CommandError } from '../command-error.ts';
import { controllersPath, isController, readControllers } from '../observed-kinds.ts';
import { topScreen } from '../output/controller-screen.ts';
import { print } from '../output/print.ts';

/** The time after which the screen is drawn again, even without a new report, because it shows ages. */
const redrawMs = 1000;

const [enter, leave, home] = ['\u001b[?1049h\u001b[?25l', '\u001b[?25h\u001b[?1049l', '\u001b[H'];
const [clearLine, clearBelow] = ['\u001b[K', '\u001b[J'];

/** `homeostat top`: shows controllers in a terminal until q, Esc or Ctrl-C. Without a terminal, prints them once. */
export async function showTop(command: ClientCommand): Promise<void> {
  if (command.args.length > 0) throw new CommandError('top takes no arguments', 2);
  const { controllers, resourceVersion } = await readControllers(command.server);
  const { stdout, stdin } = process;
  if (!stdout.isTTY || !stdin.isTTY) {
    await print(`${topScreen(controllers, { nowMs: Date.now(), rows: Infinity, columns: Infinity })}\n`);
    return;
  }
  const known = new Map(controllers.map((each) => [each.metadata.name, each]));
  const stop = new AbortController();
  const onKey = (key: Buffer): void => {
    // Ctrl-C arrives as a key and not as a signal, because the terminal is in raw mode.
    if (['q', 'Q', '\u0003', '\u001b'].includes(key.toString())) stop.abort();
  };
  const draw = (): void => void stdout.write(frameOf([...known.values()], stdout));
  stdout.write(enter);
  stdin.setRawMode(true).resume().on('data', onKey);
  const timer = setInterval(draw, redrawMs);
  try {
    draw();
    await follow(command, {
      known,
      resourceVersion,
      signal: AbortSignal.any([stop.signal, command.server.signal]),
      draw,
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    clearInterval(timer);
    stdin.setRawMode(false).pause().off('data', onKey);
    stdout.write(leave);
  }
}

interface Followed {
  readonly known: Map<string, ControllerObject>;
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  readonly draw: () => void;
}

/**
 * Watches the controllers, and draws the screen after each change. Rejects when the server ends the watch, such as at
 * a restart: otherwise the screen would become out of date without a message.
 */
async function follow({ server }: ClientCommand, { known, resourceVersion, signal, draw }: Followed): Promise<void> {
  for await (const { type, object } of server.watch(controllersPath, { query: { resourceVersion }, signal })) {
    if (!isController(object)) continue;
    if (type === 'DELETED') known.delete(object.metadata.name);
    else known.set(object.metadata.name, object);
    draw();
  }
  signal.throwIfAborted();
  throw new Error('the server has ended the watch: start top again');
}

function frameOf(
  controllers: readonly ControllerObject[],
  { rows, columns }: { rows: number; columns: number },
): string {
  const screen = topScreen(controllers, { nowMs: Date.now(), rows, columns });
  return `${home}${screen.replaceAll('\n', `${clearLine}\n`)}${clearLine}${clearBelow}`;
}
