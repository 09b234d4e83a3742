import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, StatusReason } from '@homeostat/controller-runtime/api';
import { maxHeaderSize } from './connection-limits.ts';

/** How long a client may take to read such an answer, and to close its side. */
const lingerMs = 2000;

/**
 * Refuses what is not HTTP, and requests that take too long to arrive, with a Status where it can be written, and closes the
 * connection. The clock limits how long the client may take to go.
 */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex, clock: Clock): void {
  // What cut an answer off comes by here as well, with whatever code it has.
  const code = String(error.code);
  const isHttp = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  if (!socket.writable || !isHttp || (socket as Socket).bytesWritten > 0) {
    socket.destroy();
    return;
  }
  socket.end(malformedResponse(malformedAnswer(code)));
  // Closed at once, with something unread, the connection would be reset, and the answer lost.
  const timer = clock.setTimeout(() => socket.destroy(), lingerMs);
  timer.unref?.();
  socket.once('close', () => clock.clearTimeout(timer));
}

/** A whole response of HTTP, after which the connection is closed. */
export function malformedResponse({ line, code, reason, message }: MalformedAnswer): string {
  // Two of these codes belong to no reason: the Status bears the code of its answer all the same.
  const status = JSON.stringify({ ...new ApiError(reason, message).toStatus(), code });
  const headers = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(status)}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  return `HTTP/1.1 ${line}\r\n${headers.join('\r\n')}\r\n\r\n${status}`;
}

interface MalformedAnswer {
  readonly line: string;
  readonly code: number;
  readonly reason: StatusReason;
  readonly message: string;
}

function malformedAnswer(error: string): MalformedAnswer {
  if (error === 'HPE_HEADER_OVERFLOW') {
    const message = `the headers are larger than ${maxHeaderSize} bytes`;
    return { line: '431 Request Header Fields Too Large', code: 431, reason: 'RequestEntityTooLarge', message };
  }
  if (error === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return {
      line: '408 Request Timeout',
      code: 408,
      reason: 'Timeout',
      message: 'the request took too long to arrive',
    };
  }
  return { line: '400 Bad Request', code: 400, reason: 'BadRequest', message: 'the request is not valid HTTP' };
}
