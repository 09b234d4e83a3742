import { isApiError } from '@homeostat/controller-runtime/api';
import { type MessagePort, parentPort } from 'node:worker_threads';
import type { WorkerAnswer, WorkerRequest } from './body-codec.ts';
import { decodeBody } from './decode-body.ts';
import { formatYaml } from './format-yaml.ts';

function answerTo(request: WorkerRequest): WorkerAnswer {
  const bytes = Buffer.from(request.bytes.buffer, request.bytes.byteOffset, request.bytes.byteLength);
  if ('yaml' in request) return { text: bytesOf(formatYaml(bytes.toString('utf8'), request.yaml)) };
  try {
    const value = decodeBody(bytes, request.format);
    // Valid JSON is not sent back, because the caller has its bytes.
    return { text: request.format === 'json' ? undefined : bytesOf(JSON.stringify(value)) };
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { reason, message, causes } = error;
    return { refusal: { reason, message, causes } };
  }
}

/** Returns the bytes of a text in a separate buffer, which can be transferred. */
function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

function serve(port: MessagePort, request: WorkerRequest): void {
  const answer = answerTo(request);
  const text = 'text' in answer ? answer.text : undefined;
  port.postMessage(answer, text?.buffer instanceof ArrayBuffer ? [text.buffer] : []);
}

const port = parentPort;
if (port) port.on('message', (request: WorkerRequest) => serve(port, request));
