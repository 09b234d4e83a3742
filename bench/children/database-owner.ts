// A child process that opens a SQLite database and serves it to workers. The benchmarks of workers start it.
import { createServer } from 'node:net';
import { openDatabaseOwner } from '@homeostat/apiserver';
import { answerCalls } from '../processes/answer-calls.ts';

answerCalls({
  /** Opens the database. Returns the URL with which a worker opens it through this process. */
  start: async (file: string) => {
    const owner = await openDatabaseOwner(`sqlite:${file}`);
    const socket = `${file}-socket`;
    const server = createServer((stream) => owner.connect(stream));
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    return `sqlite:${file}?owner=${socket}`;
  },
});
