import { type MessagePort, parentPort } from 'node:worker_threads';

import type { AnswerMessage, CallMessage } from './sqlite-protocol.ts';
import { SqliteSession } from './sqlite-session.ts';
import { CompactedError } from '../store.ts';
import type { StoreError } from '../store-error.ts';

const session = new SqliteSession();

async function serve(port: MessagePort, message: CallMessage): Promise<void> {
  const answer = await answerTo(message);
  port.postMessage(answer, transferOf(answer));
  if (message.type === 'close') port.close();
}

async function answerTo({ id, type, request }: CallMessage): Promise<AnswerMessage> {
  try {
    return { id, answer: await session.answer(type, request) };
  } catch (error) {
    if (error instanceof CompactedError) return { id, compacted: error.compactRevision };
    const { code, message } = error as StoreError;
    return { id, failure: { code, message } };
  }
}

function transferOf(message: AnswerMessage): ArrayBuffer[] {
  const answer = 'answer' in message ? message.answer : undefined;
  const bytes = typeof answer === 'object' && answer !== null && 'bytes' in answer ? answer.bytes : undefined;
  return bytes instanceof ArrayBuffer ? [bytes] : [];
}

const port = parentPort;
if (port) port.on('message', (message: CallMessage) => void serve(port, message));
