import { IncomingMessage } from 'node:http';

/** Receives the body of a request. */
export interface BodyTaker {
  add(chunk: Buffer): void;
  end(): void;
}

/**
 * A request of this server. Its body goes to a {@link BodyTaker} as it arrives: through the buffer and the events of a
 * stream, which take several turns of the microtasks, it costs as much as parsing it.
 */
export class ServedRequest extends IncomingMessage {
  #taker: BodyTaker | undefined;
  #isTaken = false;

  static {
    // Node keeps a request until this is true; its types declare a property that no class may override.
    Object.defineProperty(this.prototype, 'readableEnded', {
      get(this: ServedRequest): unknown {
        return this.#isTaken || Reflect.get(IncomingMessage.prototype, 'readableEnded', this);
      },
    });
  }

  /** Gives the body to a taker: what has arrived already, at once, and then each part as it arrives. */
  giveTo(taker: BodyTaker): void {
    this.#taker = taker;
    const arrived: unknown = this.readableLength > 0 ? this.read() : undefined;
    if (arrived instanceof Buffer) taker.add(arrived);
    if (this.complete) this.#taker?.end();
  }

  /** Lets the rest of the body go through the stream. */
  leave(): void {
    this.#taker = undefined;
  }

  /** Called by Node with each part of the body, and with null at its end. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const taker = this.#taker;
    if (taker === undefined) return super.push(chunk, encoding);
    if (chunk instanceof Buffer) taker.add(chunk);
    if (chunk !== null) return true;
    this.#isTaken = true;
    // Without this mark, Node would read the rest of the request, of which there is none.
    Reflect.set(this, '_consumed', true);
    taker.end();
    return false;
  }
}
