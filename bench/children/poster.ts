// Measures the least cost of calling a webhook. This process sends the POST that a server sends to a webhook, but with
// node:https alone, without the server's code for webhooks.
import { Agent, request as httpsRequest } from 'node:https';
import { json } from 'node:stream/consumers';
import { answerCalls } from '../processes/answer-calls.ts';

export interface Posting {
  readonly url: string;
  readonly ca: string;
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
}

let agent: Agent | undefined;

function postOnce({ url, ca, body }: Posting): Promise<unknown> {
  agent ??= new Agent({ keepAlive: true, ca });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  const sent = httpsRequest(url, { method: 'POST', agent, headers });
  return new Promise((resolve, reject) => {
    sent.on('error', reject);
    sent.on('response', (response) => void json(response).then(resolve, reject));
    sent.end(body);
  });
}

answerCalls({
  /** Sends one POST after the other on each connection. Resolves with the number of POSTs. */
  post: async (posting: Posting): Promise<number> => {
    const untilMs = performance.now() + posting.seconds * 1000;
    let count = 0;
    const converse = async (): Promise<void> => {
      while (performance.now() < untilMs) {
        await postOnce(posting);
        count += 1;
      }
    };
    await Promise.all(Array.from({ length: posting.connections }, converse));
    return count;
  },
});
