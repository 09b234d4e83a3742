import { ApiError, freezeDeep } from '../../api/index.ts';
import type { ApiObject, WatchEvent } from '../../api/index.ts';
import { WatchStreamError } from './watch-lines.ts';

/** An event of a watch that is not an error: a change or a bookmark. */
export type WatchProgress<T extends ApiObject> = Exclude<WatchEvent<T>, { readonly type: 'ERROR' }>;

const progressTypes: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

/**
 * Returns the frozen event of one line of a watch. Throws the ApiError of an ERROR event. Throws WatchStreamError when
 * the line is not an event with a revision: without the revision, the watch could not be resumed after the event.
 */
export function parseWatchLine<T extends ApiObject>(line: string): WatchProgress<T> {
  const event = parseJson(line) as Partial<WatchEvent<T>> | null;
  if (typeof event !== 'object' || event === null || typeof event.object !== 'object' || event.object === null) {
    throw new WatchStreamError(`a line of ${line.length} characters is not a watch event`);
  }
  if (event.type === 'ERROR') throw ApiError.fromStatus(event.object);
  if (!progressTypes.has(event.type)) {
    throw new WatchStreamError(`a watch event is of the unknown type ${JSON.stringify(event.type)}`);
  }
  const complete = event as WatchProgress<T>;
  if (typeof complete.object.metadata?.resourceVersion !== 'string') {
    throw new WatchStreamError(`a watch event ${complete.type} has no resourceVersion`);
  }
  return freezeDeep(complete);
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new WatchStreamError(`a line of ${line.length} characters is not JSON`, { cause });
  }
}
