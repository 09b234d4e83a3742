import { maxObjectBytes } from '../limits/object-size.ts';
import { tooLarge } from '../limits/count-nodes.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { isEmptySet } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOfEntry } from './managed-fields.ts';
import type { ManagedFields } from './managed-fields.ts';

/** The bytes that JSON adds to the text of an element: two quotes, a colon and two braces. */
const bytesAround = 5;

/**
 * Checks that the managed fields alone are not larger than an object may be. It counts their bytes in steps, before
 * they are written as JSON: JSON is written in a single step, which would take long if the fields were several times
 * too large.
 * @throws ApiError RequestEntityTooLarge
 */
export function* checkManagersSize(entries: ManagedFields): Steps<void> {
  const size = new Size();
  for (const entry of entries) yield* size.add(fieldsOfEntry(entry));
}

class Size {
  readonly #pace = new Pace();
  #bytes = 0;

  *add(set: FieldSet): Steps<void> {
    for (const element in set) {
      if (this.#pace.isStepOver()) yield;
      this.#bytes += element.length + bytesAround;
      if (this.#bytes > maxObjectBytes)
        throw tooLarge(`metadata.managedFields has more than ${maxObjectBytes} bytes: apply fewer fields`);
      const below = set[element];
      if (below !== undefined && !isEmptySet(below)) yield* this.add(below);
    }
  }
}
