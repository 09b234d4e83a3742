import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@homeostat/controller-runtime/api';
import type { Clock, StatusReason } from '@homeostat/controller-runtime/api';
import { maxHeaderSize } from './connection-limits.ts';
import type { ConnectionTable } from './connection-table.ts';

/** The maximum time for which the server waits until a client has read the response and closed its side. */
const lingerMs = 2000;

export interface RefusalParts {
  /** Knows when a client cannot mistake a refusal for the response to an earlier request. */
  readonly connections: Pick<ConnectionTable, 'isRefusable'>;
  /** Measures how long the server waits for the client to close its side. */
  readonly clock: Clock;
}

/**
 * Refuses requests that are not valid HTTP, or that take too long to arrive: responds with a Status if the socket can
 * be written, and closes the connection. If the client could mistake this response for the response to an earlier
 * request, the function closes the connection without a response.
 */
export function answerMalformed(error: NodeJS.ErrnoException, socket: Duplex, parts: RefusalParts): void {
  const { connections, clock } = parts;
  // This function also receives errors, with any code, that ended the connection during a response. Only errors in the
  // HTTP of a request get a response.
  const code = String(error.code);
  const isHttp = code.startsWith('HPE_') || code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const isOpen = !(socket instanceof Socket) || socket.bytesWritten === 0 || connections.isRefusable(socket);
  if (!socket.writable || !isHttp || !isOpen) {
    socket.destroy();
    return;
  }
  socket.end(malformedResponse(malformedAnswer(code)));
  // If the server closed the connection immediately, unread data would reset it, and the response would be lost.
  const timer = clock.setTimeout(() => socket.destroy(), lingerMs);
  timer.unref?.();
  socket.once('close', () => clock.clearTimeout(timer));
}

/** Returns the text of a complete HTTP response, after which the connection is closed. */
export function malformedResponse({ line, code, reason, message }: MalformedAnswer): string {
  // No `reason` of Kubernetes stands for the code 408 or 431, so the code of the Status is set separately.
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
