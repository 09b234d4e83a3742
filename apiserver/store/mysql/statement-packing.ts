/**
 * Splits rows into groups with a maximum number of rows and of bytes. A row that is larger than the limit of bytes is a
 * separate group.
 */
export function packRows<Row>(
  rows: readonly Row[],
  { maxRows, maxBytes, sizeOf }: { maxRows: number; maxBytes: number; sizeOf: (row: Row) => number },
): Row[][] {
  const groups: Row[][] = [];
  let group: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const size = sizeOf(row);
    if (group.length > 0 && (group.length >= maxRows || bytes + size > maxBytes)) {
      groups.push(group);
      group = [];
      bytes = 0;
    }
    group.push(row);
    bytes += size;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
