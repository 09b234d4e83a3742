import type { Entry } from '../../index/entry.ts';
import { protobufType } from '../../protobuf/decode-object.ts';
import { encodeProtobufEvent } from '../../protobuf/encode-object.ts';
import { decodeObject } from '../../registry/object/object-codec.ts';
import type { Translated } from '../../registry/follow/watch-translation.ts';
import type { ObjectView } from '../../views/object-view.ts';

/** The wire format of events. */
export interface FrameFormat {
  readonly contentType: string;
  /**
   * Returns the bytes of an event. `revision` is the revision from which a client that has read this event may resume.
   * If `revision` is absent, the client resumes from the revision of an earlier event; if `revision` is empty, the
   * client cannot resume.
   */
  event(type: Translated['type'] | 'BOOKMARK' | 'ERROR', object: Buffer, revision?: string): Buffer;
  readonly heartbeat: Buffer;
}

/** Events as one JSON document per line. The heartbeat is a blank line. */
export const jsonLines: FrameFormat = {
  contentType: 'application/json',
  event: (type, object) => Buffer.concat([Buffer.from(`{"type":"${type}","object":`), object, Buffer.from('}\n')]),
  heartbeat: Buffer.from('\n'),
};

/**
 * Server-sent events, for browsers. Their id is the resourceVersion from which a client resumes after it has
 * reconnected.
 */
export const serverSentEvents: FrameFormat = {
  contentType: 'text/event-stream',
  event: (type, object, revision) => {
    const id = revision === undefined ? '' : `id: ${revision}\n`;
    return Buffer.concat([Buffer.from(`${id}data: {"type":"${type}","object":`), object, Buffer.from('}\n\n')]);
  },
  heartbeat: Buffer.from(':\n\n'),
};

/** Events in protobuf, each after its length. There is no heartbeat, since each byte is a part of an event. */
export const protobufEvents: FrameFormat = {
  contentType: `${protobufType};stream=watch`,
  event: (type, object) => encodeProtobufEvent(type, { ...decodeObject(object) }),
  heartbeat: Buffer.alloc(0),
};

/**
 * Returns a format like {@link jsonLines}, but with the objects in the form that `view` gives them. Each stream needs a
 * format of its own, because the form of an object may depend on earlier events of the stream.
 */
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

/** The frames of several changes, as bytes that the server sends to a watcher together. */
export interface Batch {
  readonly bytes: Buffer;
  /** The revision up to which the batch has all changes. */
  readonly revision: number;
  /** True when the batch ends before the last change of the feed, because of a limit. */
  readonly isCut: boolean;
}

/** The revision up to which a watcher has received all changes, and the latest revision of its kind. */
interface Range {
  readonly revision: number;
  readonly latest: number;
}

/**
 * A batch of frames with at least this size is not made again when another change arrives in the same pass of a
 * `FlushCycle`. The watchers of the batch get this change in their next batch. This saves time and memory.
 */
const longBatchBytes = 32 * 1024;

/**
 * Serializes events once for all watchers that receive them, for the duration of one pass. In a pass, a `FlushCycle`
 * writes to each watcher that has events.
 */
export class PassCache {
  readonly #frames = new Map<FrameFormat, Map<Entry, Known>>();
  readonly #batches = new Map<object, Map<number, Batch>>();
  readonly #chunks = new Map<Buffer, Buffer>();

  /** Returns the frame of an event. Watchers that receive the same event in one pass usually share the frame. */
  frameOf(format: FrameFormat, { type, entry }: Translated): Buffer {
    const byEntry = mapIn(this.#frames, format);
    const known = byEntry.get(entry);
    // The type of an event depends on the selection of the watcher: the same change is ADDED when the object enters the
    // selection, MODIFIED when the object stays in it, and DELETED when the object leaves it. For each change, the
    // cache has only the frame that was made last. When a watcher needs another type, the event is serialized again.
    if (known?.type === type) return known.frame;
    const frame = format.event(type, entry.bytes, String(entry.revision));
    byEntry.set(entry, { type, frame });
    return frame;
  }

  /**
   * Returns the next frames for the watchers of a group that have received all changes up to `revision`. All these
   * watchers share one batch. Makes a new batch if a change has arrived since the batch was made. But if a limit has
   * cut the batch, or if the batch has at least {@link longBatchBytes}, returns the same batch: its watchers are far
   * behind, and get the new change in a later batch.
   */
  batchOf(group: object, { revision, latest }: Range, make: () => Batch): Batch {
    const batches = mapIn(this.#batches, group);
    const known = batches.get(revision);
    if (known !== undefined && (known.isCut || known.revision >= latest || known.bytes.length >= longBatchBytes))
      return known;
    const made = make();
    batches.set(revision, made);
    return made;
  }

  /**
   * Returns the frames as one chunk of a chunked body (RFC 9112, 7.1). The chunk is created once for a batch that many
   * watchers receive.
   */
  chunkOf(frames: readonly Buffer[]): Buffer {
    const [first] = frames;
    if (first === undefined || frames.length > 1) return makeChunk(frames);
    const chunk = this.#chunks.get(first) ?? makeChunk(frames);
    this.#chunks.set(first, chunk);
    return chunk;
  }

  /** Empties the cache. A `FlushCycle` calls this at the end of each pass over its watchers. */
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

function mapIn<O, K, V>(maps: Map<O, Map<K, V>>, owner: O): Map<K, V> {
  const found = maps.get(owner) ?? new Map<K, V>();
  maps.set(owner, found);
  return found;
}
