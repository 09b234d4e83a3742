import { currentTraceparent, noteOrigin } from '@homeostat/controller-runtime/telemetry';
import { createEntry } from '../../index/entry.ts';

/** `createEntry` for the write under way: who reads the entry can tell which trace it comes from, though the commit does not. */
export function tracedEntries(): typeof createEntry {
  const traceparent = currentTraceparent();
  if (traceparent === undefined) return createEntry;
  return (object, parts) => {
    const entry = createEntry(object, parts);
    noteOrigin(entry, traceparent);
    return entry;
  };
}
