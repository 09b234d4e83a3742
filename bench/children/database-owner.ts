// Our side of the comparison: the process that has a SQLite database open for the workers of a server.
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
