import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { ConfigSources } from '../serve/config-values.ts';
import { readServer } from '../serve/read-server.ts';
import { piecesOf, refusalError, requestServer } from '../remote/request-server.ts';
import type { ServerAddress } from '../remote/request-server.ts';
import { runCopy } from './run-copy.ts';

interface Result {
  readonly rewritten: number;
  readonly unreadable: number;
  readonly problems: readonly string[];
}

/**
 * Makes a server encrypt all its objects with its first key. Returns the exit code of {@link runCopy}, which is 1 also
 * when some objects could not be decrypted.
 */
export function runReencrypt(sources: ConfigSources): Promise<number> {
  return runCopy('reencrypt', async (signal) => {
    const { rewritten, unreadable, problems } = await reencrypt(readServer(sources), signal);
    process.stdout.write(`encrypted ${rewritten} objects with the first key\n`);
    if (unreadable > 0) throw new Error(`${unreadable} objects stay unchanged: ${problems.join('; ')}`);
  });
}

/**
 * Sends the request, and resolves with its result. Rejects with the server's message when the server refuses. Also
 * rejects when the response is cut off.
 */
async function reencrypt(address: ServerAddress, signal: AbortSignal): Promise<Result> {
  const response = await requestServer(address, '/reencrypt', { method: 'POST', signal });
  const { url, status } = response;
  if (status !== 200) throw await refusalError(url, response);
  let last: Result | undefined;
  let rest = '';
  try {
    const decoder = new TextDecoder();
    for await (const piece of piecesOf(response)) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) last = report(JSON.parse(line)) ?? last;
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`${url}: the response was cut off; run the command again`, { cause });
  }
  if (last === undefined) throw new Error(`${url}: the response ended without a result; run the command again`);
  return last;
}

/**
 * Handles one line of the response. Prints the progress that it reports, or returns the result if it is the last line.
 */
function report(line: unknown): Result | undefined {
  if (!isJsonObject(line)) return undefined;
  const { rewritten, unreadable, problems, done } = line;
  if (done !== true) {
    process.stderr.write(`${Number(rewritten)} objects so far\n`);
    return undefined;
  }
  const texts = Array.isArray(problems) ? problems.map(String) : [];
  return { rewritten: Number(rewritten), unreadable: Number(unreadable), problems: texts };
}
