/** An HTTP request, or raw bytes that a client writes to the socket. */
export type HostileRequest =
  | {
      readonly method: string;
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string | Buffer;
    }
  | {
      readonly raw: readonly string[];
      /** True when the client resets the connection as soon as it has written the bytes. */
      readonly cutOff: boolean;
    };

/** The response to a request. The status is 0 when there is no response, or it is not HTTP. */
export interface HostileAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /**
   * The first 64 KiB of the response's body. For a request of raw bytes: the start of the whole response. Without a
   * response: the error.
   */
  readonly text: string;
}

export function describeRequest(request: HostileRequest): string {
  if ('raw' in request) return `raw ${JSON.stringify(request.raw.join('').slice(0, 400))} ${request.cutOff}`;
  const { method, path, headers = {}, body = '' } = request;
  const start = body.slice(0, 300).toString();
  return `${method} ${path.slice(0, 400)} ${JSON.stringify(headers)} ${body.length} ${JSON.stringify(start)}`;
}
