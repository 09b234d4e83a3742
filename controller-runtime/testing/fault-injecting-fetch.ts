/** A sent request; `path` includes the query. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

/** A fault that a test injects into one request. */
export type Fault =
  /** The request never reaches the server, like when the connection is refused. */
  | { readonly kind: 'refuse' }
  /** The server never receives the request; the client gets this response. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    }
  /** The request reaches the server, but its response is lost. */
  | { readonly kind: 'loseAnswer' }
  /**
   * The request is sent when this promise has resolved. If the promise rejects, the request rejects with the same
   * error, and is not sent.
   */
  | { readonly kind: 'delay'; readonly until: Promise<unknown> }
  /** The body of the response ends with an error after this number of bytes. */
  | { readonly kind: 'cut'; readonly afterBytes: number };

export interface FaultInjectingFetch {
  /** The fetch for `createClient(url, { fetch })`. */
  readonly fetch: typeof fetch;
  /** All requests so far, including those with a fault. */
  readonly requests: readonly RecordedRequest[];
  /**
   * Injects a fault into the next request for which `matches` returns true; default: the next request. Several faults
   * apply in order, each once.
   */
  inject(fault: Fault, matches?: (request: RecordedRequest) => boolean): void;
  /** Breaks the response bodies that are being read, mostly those of watches, and returns their number. */
  cutAll(): number;
}

/**
 * Makes a fetch that records requests, and in which a test can inject faults. `inner` (default: the fetch of Node.js)
 * sends the requests.
 */
export function createFaultInjectingFetch(inner: typeof fetch = globalThis.fetch): FaultInjectingFetch {
  const faults = new Faults(inner);
  return {
    fetch: (input, init) => faults.fetch(new Request(input, init)),
    requests: faults.requests,
    inject: (fault, matches = () => true) => {
      faults.waiting.push({ fault, matches });
    },
    cutAll: () => faults.cutAll(),
  };
}

class Faults {
  readonly requests: RecordedRequest[] = [];
  readonly waiting: { readonly fault: Fault; readonly matches: (request: RecordedRequest) => boolean }[] = [];
  readonly #inner: typeof fetch;
  /**
   * For each response body that is being read: the function that cuts it, and its request. The map must keep the
   * request: on Node 20, a request that was garbage collected no longer forwards the abort of its signal, so the body
   * would never end.
   */
  readonly #open = new Map<() => void, Request>();

  constructor(inner: typeof fetch) {
    this.#inner = inner;
  }

  async fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const body = request.body === null ? undefined : await request.clone().text();
    const recorded = { method: request.method, path: `${pathname}${search}`, headers: request.headers, body };
    this.requests.push(recorded);
    const index = this.waiting.findIndex(({ matches }) => matches(recorded));
    const fault = index < 0 ? undefined : this.waiting.splice(index, 1)[0]?.fault;
    return this.#meet(fault, request);
  }

  cutAll(): number {
    const count = this.#open.size;
    for (const cut of this.#open.keys()) cut();
    return count;
  }

  async #meet(fault: Fault | undefined, request: Request): Promise<Response> {
    switch (fault?.kind) {
      case 'refuse':
        throw connectionLost();
      case 'answer': {
        const { status, headers = {}, body } = fault;
        return new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
      }
      case 'loseAnswer':
        await (await this.#inner(request)).body?.cancel();
        throw connectionLost();
      case 'delay':
        await fault.until;
        return this.#cuttable(request, await this.#inner(request));
      case 'cut':
        return this.#cuttable(request, await this.#inner(request), fault.afterBytes);
      case undefined:
        return this.#cuttable(request, await this.#inner(request));
    }
  }

  #cuttable(request: Request, response: Response, afterBytes: number = Number.POSITIVE_INFINITY): Response {
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(cuttableStream(response.body, { afterBytes, request, open: this.#open }), {
      status,
      statusText,
      headers,
    });
  }
}

interface CuttableParts {
  readonly afterBytes: number;
  readonly request: Request;
  /** The open streams: for each, the function that cuts it, and its request. A stream is removed when it ends. */
  readonly open: Map<() => void, Request>;
}

function cuttableStream(body: ReadableStream<Uint8Array>, parts: CuttableParts): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = parts.afterBytes;
  let cut = (): void => {};
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      cut = () => {
        parts.open.delete(cut);
        controller.error(connectionLost());
        // The inner stream may have failed already; there is nothing to close then.
        void reader.cancel().catch(() => {});
      };
      parts.open.set(cut, parts.request);
    },
    pull: async (controller) => {
      const { done, value } = await reader.read().catch((error: unknown) => {
        parts.open.delete(cut);
        throw error;
      });
      if (!parts.open.has(cut)) return;
      if (done) {
        parts.open.delete(cut);
        return controller.close();
      }
      controller.enqueue(value.subarray(0, Math.min(value.byteLength, left)));
      left -= value.byteLength;
      if (left <= 0) cut();
    },
    cancel: (reason) => {
      parts.open.delete(cut);
      return reader.cancel(reason);
    },
  });
}

function connectionLost(): TypeError {
  return new TypeError('fetch failed', { cause: new Error('connection lost (injected)') });
}
