import { request } from 'node:http';
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { request as requestTls } from 'node:https';
import { StringDecoder } from 'node:string_decoder';
import { eventually } from '@homeostat/controller-runtime/testing';

/** An event of a watch, as received. */
export interface WireEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of a request or response
  readonly object: any;
}

/** Callbacks of a reader, so that a test does not need to poll {@link WatchReader.events}. */
export interface WatchListener {
  readonly onEvent: (event: WireEvent) => void;
  /** Called when the connection has ended, possibly more than once. */
  readonly onClosed: () => void;
}

/** The address of a server on this machine. With `ca`, the reader uses HTTPS. */
export interface WatchTarget {
  readonly port: number;
  readonly ca?: string | undefined;
}

/** Reads a watch line by line, in either form: JSON lines or server-sent events. */
export class WatchReader {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly events: WireEvent[] = [];
  /** Every complete line as received, including blank ones. */
  readonly lines: string[] = [];
  /** True once the server has ended the response normally. */
  ended = false;
  /** True once the connection has ended, normally or with an error. */
  closed = false;
  readonly #call: ClientRequest;
  readonly #response: IncomingMessage;
  readonly #listener: WatchListener | undefined;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';

  private constructor(call: ClientRequest, response: IncomingMessage, listener: WatchListener | undefined) {
    this.#call = call;
    this.#response = response;
    this.#listener = listener;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
  }

  /** Opens a watch, and resolves when the headers have arrived, even if no part of the body has. */
  static async open(
    target: WatchTarget,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    listener?: WatchListener,
  ): Promise<WatchReader> {
    const reader = await new Promise<WatchReader>((resolve, reject) => {
      const send = target.ca === undefined ? request : requestTls;
      const call = send({ host: '127.0.0.1', ...target, path, headers, agent: false }, (response) =>
        resolve(new WatchReader(call, response, listener)),
      );
      call.on('error', reject);
      call.end();
    });
    reader.resume();
    return reader;
  }

  /** The events as type and name of the object: `ADDED ann`. */
  get summary(): string[] {
    return this.events.map(({ type, object }) => `${type} ${object.metadata?.name ?? ''}`.trim());
  }

  /** Returns the events of the given type. */
  of(type: WireEvent['type']): WireEvent[] {
    return this.events.filter((event) => event.type === type);
  }

  /** Waits until the events match, and returns them. */
  async until(condition: (events: readonly WireEvent[]) => boolean, what = 'events'): Promise<readonly WireEvent[]> {
    await eventually(() => condition(this.events), { describe: () => `${what}; received: ${this.summary.join(', ')}` });
    return this.events;
  }

  /** Waits until there are `count` events. */
  count(count: number): Promise<readonly WireEvent[]> {
    return this.until((events) => events.length >= count, `${count} events`);
  }

  /** Waits until the server has ended the stream. */
  async end(): Promise<readonly WireEvent[]> {
    await eventually(() => this.ended, { describe: () => `the watch to end; received: ${this.summary.join(', ')}` });
    return this.events;
  }

  /** Stops reading until {@link resume}. */
  pause(): void {
    this.#response.removeAllListeners('data');
    this.#response.pause();
  }

  resume(): void {
    this.#response.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#response.once('end', () => (this.ended = true));
    this.#response.once('close', () => this.#close());
    // The connection broke; `closed` is then true.
    this.#response.on('error', () => this.#close());
    this.#response.resume();
  }

  /** Hangs up. */
  close(): void {
    this.#call.destroy();
  }

  #read(chunk: Buffer): void {
    const parts = (this.#rest + this.#decoder.write(chunk)).split('\n');
    this.#rest = parts.pop() ?? '';
    for (const line of parts) this.#take(line);
  }

  #take(line: string): void {
    this.lines.push(line);
    const json = line.startsWith('data: ') ? line.slice('data: '.length) : line;
    if (!json.startsWith('{')) return;
    const event = JSON.parse(json) as WireEvent;
    this.events.push(event);
    this.#listener?.onEvent(event);
  }

  #close(): void {
    this.closed = true;
    this.#listener?.onClosed();
  }
}
