/**
 * The notes of operations or changes, in the same order as the operations or changes. A note is the bytes that a writer
 * sends to other processes with a change.
 */
export interface PackedNotes {
  /** The length of each note in bytes; 0 for an operation or a change without a note. */
  readonly lengths: Uint32Array;
  readonly bytes: Uint8Array;
}

/** Copies the notes of operations or changes into one array of bytes. Returns undefined when there are no notes. */
export function packNotes(noted: readonly { readonly note?: Uint8Array | undefined }[]): PackedNotes | undefined {
  let total = 0;
  for (const { note } of noted) total += note?.length ?? 0;
  if (total === 0) return undefined;
  const lengths = new Uint32Array(noted.length);
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (const [position, { note }] of noted.entries()) {
    if (note === undefined) continue;
    lengths[position] = note.length;
    bytes.set(note, offset);
    offset += note.length;
  }
  return { lengths, bytes };
}

/** Returns the notes by position. They are views into the packed bytes. */
export function unpackNotes(packed: PackedNotes | undefined): readonly (Uint8Array | undefined)[] | undefined {
  if (packed === undefined) return undefined;
  const { lengths, bytes } = packed;
  const notes: (Uint8Array | undefined)[] = [];
  let offset = 0;
  for (const length of lengths) {
    notes.push(length === 0 ? undefined : bytes.subarray(offset, offset + length));
    offset += length;
  }
  return notes;
}
