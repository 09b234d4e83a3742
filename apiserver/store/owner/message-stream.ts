import type { Duplex } from 'node:stream';
import { DefaultSerializer, deserialize } from 'node:v8';

/** The number of bytes before each message. These bytes contain the message's length. */
const headBytes = 4;
const noHead = Buffer.alloc(headBytes);

export interface MessageStreamParts {
  readonly onMessage: (message: unknown) => void;
  /** Called once when the stream has closed, with the error if it has failed. */
  readonly onClose: (error: Error | undefined) => void;
}

/**
 * Returns the bytes of a message, which {@link MessageStream.sendFrame} can send on several streams. Throws
 * DataCloneError for a message that structured clone does not support, for example with a function.
 */
export function frameOf(message: unknown): Buffer {
  const serializer = new DefaultSerializer();
  serializer.writeRawBytes(noHead);
  serializer.writeHeader();
  serializer.writeValue(message);
  const frame = serializer.releaseBuffer();
  frame.writeUInt32LE(frame.length - headBytes);
  return frame;
}

/**
 * Sends messages, by structured clone, over a stream of bytes between two processes of one machine that trust each
 * other. Messages that are sent before the next tick are written together.
 */
export class MessageStream {
  readonly #stream: Duplex;
  readonly #parts: MessageStreamParts;
  readonly #closed: Promise<void>;
  #received: Buffer[] = [];
  #receivedBytes = 0;
  /** The number of bytes that must have arrived before the next message or its length can be read. */
  #wantedBytes = headBytes;
  #error: Error | undefined;
  #isCorked = false;

  constructor(stream: Duplex, parts: MessageStreamParts) {
    this.#stream = stream;
    this.#parts = parts;
    stream.on('data', (chunk: Buffer) => this.#receive(chunk));
    // The other process has ended, or has closed its side of the stream.
    stream.on('end', () => stream.destroy());
    stream.on('error', (error) => (this.#error ??= error));
    this.#closed = new Promise((resolve) => {
      stream.once('close', () => {
        resolve();
        parts.onClose(this.#error);
      });
    });
  }

  /** The number of bytes that this process has not passed to the operating system yet. */
  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  send(message: unknown): void {
    this.sendFrame(frameOf(message));
  }

  /** Sends the bytes of a message; drops them if the stream has ended. */
  sendFrame(frame: Buffer): void {
    if (!this.#stream.writable) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.#stream.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.#stream.uncork();
      });
    }
    this.#stream.write(frame);
  }

  /** Sends the written messages, and closes the stream. Resolves when the stream is closed. */
  close(): Promise<void> {
    this.#stream.end();
    // The stream is closed later: when the other process has read the last message, it ends its side, too.
    return this.#closed;
  }

  /** Closes the stream immediately. Messages that are still waiting are lost. */
  destroy(): void {
    this.#stream.destroy();
  }

  #receive(chunk: Buffer): void {
    this.#received.push(chunk);
    this.#receivedBytes += chunk.length;
    // A large message arrives in many chunks, which are joined only once.
    if (this.#receivedBytes >= this.#wantedBytes) this.#read();
  }

  #read(): void {
    const [first] = this.#received;
    const bytes = this.#received.length === 1 && first !== undefined ? first : Buffer.concat(this.#received);
    let offset = 0;
    this.#wantedBytes = headBytes;
    while (bytes.length - offset >= headBytes) {
      const end = offset + headBytes + bytes.readUInt32LE(offset);
      if (end > bytes.length) {
        this.#wantedBytes = end - offset;
        break;
      }
      this.#parts.onMessage(deserialize(bytes.subarray(offset + headBytes, end)));
      offset = end;
    }
    this.#received = offset < bytes.length ? [bytes.subarray(offset)] : [];
    this.#receivedBytes = bytes.length - offset;
  }
}
