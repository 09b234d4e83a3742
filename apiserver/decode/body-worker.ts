import { isApiError } from '@homeostat/controller-runtime/api';
import { type MessagePort, parentPort } from 'node:worker_threads';
import type { WorkerAnswer, WorkerRequest } from './body-decoder.ts';
import { decodeBody } from './decode-body.ts';

function answerTo({ bytes, format }: WorkerRequest): WorkerAnswer {
  try {
    const value = decodeBody(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), format);
    // JSON that is in order is known to the other side already.
    return { json: format === 'json' ? undefined : Uint8Array.from(Buffer.from(JSON.stringify(value))) };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { reason, message, causes } = error;
    return { refusal: { reason, message, causes } };
  }
}

function serve(port: MessagePort, request: WorkerRequest): void {
  const answer = answerTo(request);
  const json = 'json' in answer ? answer.json : undefined;
  port.postMessage(answer, json === undefined ? [] : [json.buffer as ArrayBuffer]);
}

const port = parentPort;
if (port) port.on('message', (request: WorkerRequest) => serve(port, request));
