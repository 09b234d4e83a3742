import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import type { HostileAnswer, HostileRequest } from './hostile-request.ts';

/** The maximum number of bytes of a response that are kept. The rest is read and dropped. */
export const shownBytes: number = 64 * 1024;

/**
 * Sends a request, and resolves when its response or the connection has ended. A watch counts as ended after its
 * headers.
 */
export function sendRequest(port: number, request: HostileRequest): Promise<HostileAnswer> {
  return 'raw' in request ? sendRaw(port, request.raw, request.cutOff) : sendHttp(port, request);
}

async function sendHttp(
  port: number,
  { method, path, headers = {}, body }: Exclude<HostileRequest, { readonly raw: unknown }>,
): Promise<HostileAnswer> {
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const call = httpRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { ...length, ...headers },
  });
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      call.on('response', resolve).on('error', reject);
      call.end(body);
    });
    const { statusCode: status = 0, headers: answered } = response;
    if (isWatch(path, answered)) return { status, headers: answered, text: '' };
    return { status, headers: answered, text: await startOf(response) };
  } catch (error) {
    return { status: 0, headers: {}, text: String(error) };
  } finally {
    call.destroy();
  }
}

/** Returns true for the response of a watch, which counts as ended after its headers because it may never end. */
function isWatch(path: string, headers: IncomingMessage['headers']): boolean {
  return path.includes('watch') && headers['content-length'] === undefined;
}

async function startOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (length < shownBytes) chunks.push(chunk);
    length += chunk.length;
  }
  return Buffer.concat(chunks).toString('utf8', 0, shownBytes);
}

function sendRaw(port: number, pieces: readonly string[], cutOff: boolean): Promise<HostileAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      if (text.length < shownBytes) text += chunk.toString('latin1');
    });
    // The server may reset the connection after an invalid request. The error is ignored, because `close` follows it.
    socket.on('error', () => undefined);
    socket.on('close', () =>
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), headers: {}, text }),
    );
    socket.write(pieces.join(''));
    if (cutOff) socket.resetAndDestroy();
    else socket.end();
  });
}
