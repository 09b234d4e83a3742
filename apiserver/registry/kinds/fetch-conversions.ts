import { nextTurn } from '../../turns/next-turn.ts';
import type { Row } from '../../store/store.ts';
import { PendingConversion } from './pending-conversion.ts';
import type { KindReader } from './stored-entry.ts';

/**
 * The number of bytes of unconverted rows that are collected in one turn of the event loop. A turn takes a few
 * milliseconds.
 */
const bytesPerTurn = 512 * 1024;

/**
 * Fetches the conversions of the stored objects of a kind, so that the objects can then be read synchronously. A row in
 * the storage version costs only a comparison. @throws ApiError InternalError when the webhook does not convert the
 * objects
 */
export async function fetchConversions(
  { convertStored }: Pick<KindReader, 'convertStored'>,
  rows: readonly Row[],
): Promise<void> {
  const byVersion = new Map<string, PendingConversion[]>();
  let bytes = 0;
  for (const row of rows) {
    const pending = pendingOf(convertStored, row);
    if (pending === undefined) continue;
    const same = byVersion.get(pending.object.apiVersion);
    if (same === undefined) byVersion.set(pending.object.apiVersion, [pending]);
    else same.push(pending);
    bytes += row.data.length;
    if (bytes < bytesPerTurn) continue;
    bytes = 0;
    await nextTurn('background');
  }
  for (const each of byVersion.values()) {
    const [first] = each;
    const objects = each.map(({ object }) => object);
    await first?.converter.fetch(objects, first.apiVersion);
  }
}

function pendingOf(
  convertStored: KindReader['convertStored'],
  { problem, data, revision }: Row,
): PendingConversion | undefined {
  if (problem !== undefined) return undefined;
  try {
    convertStored(data, revision);
    return undefined;
  } catch (error) {
    // Any other error is ignored here: the read of the object throws it again.
    return error instanceof PendingConversion ? error : undefined;
  }
}
