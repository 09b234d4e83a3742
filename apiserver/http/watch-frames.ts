import type { Entry } from '../index/entry.ts';
import type { Translated } from '../registry/watch-translation.ts';

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

interface Known {
  readonly type: Translated['type'];
  readonly frame: Buffer;
}

/** Serializes an event once for all the watchers of one pass. */
export class FrameCache {
  readonly #frames = new Map<FrameFormat, Map<Entry, Known>>();

  frameOf(format: FrameFormat, { type, entry }: Translated): Buffer {
    const byEntry = this.#frames.get(format) ?? new Map<Entry, Known>();
    this.#frames.set(format, byEntry);
    const known = byEntry.get(entry);
    // An object that enters one selection and stays in another is two events; the rarer one is made again.
    if (known?.type === type) return known.frame;
    const frame = format.event(type, entry.bytes, String(entry.revision));
    byEntry.set(entry, { type, frame });
    return frame;
  }

  /** Forgets the pass. */
  clear(): void {
    this.#frames.clear();
  }
}
