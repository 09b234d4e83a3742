import type { Entry } from '../../index/entry.ts';
import type { Translated } from '../../registry/follow/watch-translation.ts';
import type { ObjectView } from '../../views/object-view.ts';

/** How one event looks on the wire. */
export interface FrameFormat {
  readonly contentType: string;
  /** `revision`: from where a client that has read this event may resume; absent: as before; empty: from nowhere. */
  event(type: Translated['type'] | 'BOOKMARK' | 'ERROR', object: Buffer, revision?: string): Buffer;
  readonly heartbeat: Buffer;
}

/** One JSON document a line; a blank line shows that the connection lives. */
export const jsonLines: FrameFormat = {
  contentType: 'application/json',
  event: (type, object) => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, Buffer.from('}\n')]),
  heartbeat: Buffer.from('\n'),
};

/** Server-sent events for browsers; the id is the resourceVersion, from which a reconnect resumes. */
export const serverSentEvents: FrameFormat = {
  contentType: 'text/event-stream',
  event: (type, object, revision) => {
    const id = revision === undefined ? '' : `id: ${revision}\n`;
    return Buffer.concat([Buffer.from(`${id}data: {"type":"${type}","object":`), object, Buffer.from('}\n\n')]);
  },
  heartbeat: Buffer.from(':\n\n'),
};

/** The same lines with each object in another form; for one stream, since what was sent first may matter. */
export function viewedLines(view: ObjectView): FrameFormat {
  const show = view.ofEvents();
  return {
    ...jsonLines,
    event: (type, object) => jsonLines.event(type, type === 'ERROR' ? object : show(object)),
  };
}

interface Known {
  readonly type: Translated['type'];
  readonly frame: Buffer;
}

/** What a watcher is sent of one pass. */
export interface Batch {
  readonly bytes: Buffer;
  /** Everything up to this revision is in it. */
  readonly revision: number;
}

/** Serializes what many watchers are told once for all of them, for the time of one pass. */
export class PassCache {
  readonly #frames = new Map<FrameFormat, Map<Entry, Known>>();
  readonly #batches = new Map<FrameFormat, Map<string, Batch>>();
  readonly #chunks = new Map<Buffer, Buffer>();

  /** One event. */
  frameOf(format: FrameFormat, { type, entry }: Translated): Buffer {
    const byEntry = mapIn(this.#frames, format);
    const known = byEntry.get(entry);
    // An object that enters one selection and stays in another is two events; the rarer one is made again.
    if (known?.type === type) return known.frame;
    const frame = format.event(type, entry.bytes, String(entry.revision));
    byEntry.set(entry, { type, frame });
    return frame;
  }

  /** Everything that the watchers of a whole kind, who have seen the same, are told next. */
  batchOf(format: FrameFormat, key: string, make: () => Batch): Batch {
    const batches = mapIn(this.#batches, format);
    const known = batches.get(key) ?? make();
    batches.set(key, known);
    return known;
  }

  /** Frames as one chunk of a chunked body (RFC 9112, 7.1); a batch that many are sent is made into one once. */
  chunkOf(frames: readonly Buffer[]): Buffer {
    const [first] = frames;
    if (first === undefined || frames.length > 1) return makeChunk(frames);
    const chunk = this.#chunks.get(first) ?? makeChunk(frames);
    this.#chunks.set(first, chunk);
    return chunk;
  }

  /** Forgets the pass. */
  clear(): void {
    this.#chunks.clear();
    this.#frames.clear();
    this.#batches.clear();
  }
}

function makeChunk(frames: readonly Buffer[]): Buffer {
  const length = frames.reduce((sum, frame) => sum + frame.length, 0);
  return Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), ...frames, Buffer.from('\r\n')]);
}

function mapIn<K, V>(maps: Map<FrameFormat, Map<K, V>>, format: FrameFormat): Map<K, V> {
  const found = maps.get(format) ?? new Map<K, V>();
  maps.set(format, found);
  return found;
}
