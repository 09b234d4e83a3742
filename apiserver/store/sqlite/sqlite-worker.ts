import { type MessagePort, parentPort } from 'node:worker_threads';

import { storeErrorFrom } from './sqlite-binding.ts';
import type { AnswerMessage, CallMessage } from './sqlite-protocol.ts';
import { SqliteSession } from './sqlite-session.ts';
import { CompactedError } from '../store.ts';

const session = new SqliteSession();
const answering = new Set<Promise<void>>();

/** Handles a message. After `close`, the port is closed once all earlier calls have their responses. */
function receive(port: MessagePort, message: CallMessage): void {
  const answered = respond(port, message).finally(() => answering.delete(answered));
  answering.add(answered);
  if (message.type === 'close') void Promise.all(answering).then(() => port.close());
}

async function respond(port: MessagePort, message: CallMessage): Promise<void> {
  const answer = await answerTo(message);
  port.postMessage(answer, transferOf(answer));
}

async function answerTo({ id, type, request }: CallMessage): Promise<AnswerMessage> {
  try {
    return { id, answer: await session.answer(type, request) };
  } catch (error) {
    if (error instanceof CompactedError) return { id, compacted: error.compactRevision };
    const { code, message } = storeErrorFrom(error);
    return { id, failure: { code, message } };
  }
}

function transferOf(message: AnswerMessage): ArrayBuffer[] {
  const answer = 'answer' in message ? message.answer : undefined;
  if (typeof answer !== 'object' || answer === null) return [];
  const bytes = 'bytes' in answer ? answer.bytes : 'revisions' in answer ? answer.revisions : undefined;
  const { buffer } = bytes instanceof Uint8Array || bytes instanceof Float64Array ? bytes : {};
  return buffer instanceof ArrayBuffer ? [buffer] : [];
}

const port = parentPort;
if (port) port.on('message', (message: CallMessage) => receive(port, message));
