import type { FindAnswer } from '../server/fault-proxy.test-support.ts';

/** The size of the header of a frame, the type of a HEADERS frame, and its flag END_STREAM (RFC 9113). */
const headBytes = 9;
const headersType = 1;
const endStream = 1;

/**
 * Returns a function that finds the end of a call in what a gRPC server sends on one connection. A server also sends
 * other frames, for example a PING as soon as it receives a request. If the connection were closed at such a frame, the
 * server would cancel the call.
 */
export function findResponse(): FindAnswer {
  let rest = Buffer.alloc(0);
  return (received) => {
    rest = Buffer.concat([rest, received]);
    let isFound = false;
    while (rest.length >= headBytes) {
      const end = headBytes + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      isFound ||= rest[3] === headersType && ((rest[4] ?? 0) & endStream) !== 0;
      rest = rest.subarray(end);
    }
    return isFound;
  };
}
