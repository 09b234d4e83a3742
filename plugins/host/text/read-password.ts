import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';

/** The maximum number of characters that are read. Passwords are shorter. */
const maxLength = 4096;

/**
 * Reads a password. At a terminal, the user types it twice, and it is not shown; otherwise it is the first line of the
 * input. Rejects when there is no password, when the two entries differ, and when the signal aborts.
 */
export async function readPassword(input: NodeJS.ReadStream, name: string, signal: AbortSignal): Promise<string> {
  if (!input.isTTY) return firstLine(input, signal);
  const password = await ask(input, `New password for ${name}: `, signal);
  const again = await ask(input, 'Repeat the new password: ', signal);
  if (password !== again) throw new Error('the two passwords differ; nothing was changed');
  return password;
}

async function ask(input: NodeJS.ReadStream, prompt: string, signal: AbortSignal): Promise<string> {
  process.stderr.write(prompt);
  // readline prints what the user types, so its output is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  const interrupted = new AbortController();
  lines.once('SIGINT', () => interrupted.abort(new Error('interrupted')));
  try {
    return await new Promise<string>((resolve, reject) => {
      const stop = (): void => reject(new Error('no password was given'));
      for (const each of [signal, interrupted.signal]) each.addEventListener('abort', stop, { once: true });
      lines.once('close', stop);
      lines.once('line', resolve);
    });
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
}

async function firstLine(input: NodeJS.ReadStream, signal: AbortSignal): Promise<string> {
  let text = '';
  for await (const piece of input.setEncoding('utf8') as AsyncIterable<string>) {
    signal.throwIfAborted();
    text += piece;
    if (text.includes('\n') || text.length > maxLength) break;
  }
  const [line = ''] = text.split(/\r?\n/);
  if (line === '')
    throw new Error('no password was given: write it to stdin, as in: homeostat user password ada < file');
  return line;
}
