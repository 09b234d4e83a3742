// The server with which the benchmark compares ours when the watchers are as many as a server allows by default. It
// makes a frame of each body that it receives, and writes to each watcher all frames that the watcher still lacks, with
// one system call. The server writes to the watchers in a fixed order, again and again, so that a watcher waits for one
// round at most.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { answerCalls } from '../processes/answer-calls.ts';

interface Watcher {
  readonly socket: Socket;
  /**
   * The number of frames that the server need not send to the watcher: the frames that it has already sent, and those
   * that existed before the watcher connected.
   */
  received: number;
}

/** The maximum time of a slice of writes to watchers. Between slices, the server makes a frame of each POST's body. */
const sliceMs = 2;

const watchers: Watcher[] = [];
const frames: Buffer[] = [];
let objectBytes = 0;
let next = 0;
/** The number of watchers, from position `next` on, that have not yet received the last frame. */
let due = 0;
let isWriting = false;

function writeSlice(): void {
  const startMs = performance.now();
  const chunks = new Map<number, Buffer>();
  while (due > 0 && performance.now() - startMs < sliceMs) {
    const watcher = watchers[next] as Watcher;
    next = (next + 1) % watchers.length;
    due -= 1;
    const chunk = chunks.get(watcher.received) ?? makeChunk(frames.slice(watcher.received));
    chunks.set(watcher.received, chunk);
    watcher.received = frames.length;
    watcher.socket.write(chunk);
  }
  isWriting = due > 0;
  if (isWriting) setImmediate(writeSlice);
}

function makeChunk(parts: readonly Buffer[]): Buffer {
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from(`${bytes.toString(16)}\r\n`), ...parts, Buffer.from('\r\n')]);
}

function watch(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).flushHeaders();
  watchers.push({ socket: response.socket as Socket, received: frames.length });
}

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method === 'GET') return watch(response);
  const body = await buffer(request);
  // The frames are as long as those of a server, which adds metadata to the body.
  const filling = Buffer.alloc(Math.max(0, objectBytes - body.length), ' ');
  frames.push(Buffer.concat([Buffer.from('{"type":"ADDED","object":'), body, filling, Buffer.from('}\n')]));
  response.writeHead(201).end(JSON.stringify({ metadata: { resourceVersion: frames.length.toString() } }));
  due = watchers.length;
  if (isWriting) return;
  isWriting = true;
  setImmediate(writeSlice);
}

answerCalls({
  /** Starts a server. `bytes` is the size to which the server fills up the object in each event of a watch. */
  start: async (bytes: number) => {
    objectBytes = bytes;
    const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
});
