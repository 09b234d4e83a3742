import { maxObjectBytes } from '../limits/object-size.ts';
import { tooLarge } from '../limits/count-nodes.ts';
import { Pace } from '../turns/pace.ts';
import type { Steps } from '../turns/steps.ts';
import { isEmptySet } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { fieldsOfEntry } from './managed-fields.ts';
import type { ManagedFields } from './managed-fields.ts';

/** Bytes of an element in JSON beside its text: two quotes, a colon and two braces. */
const bytesAround = 5;

/**
 * Checks that the managed fields alone are not larger than an object may be. It counts in steps, before they are
 * written as JSON: that is a single step, which would take long for a set that is several times larger.
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
        throw tooLarge(`its metadata.managedFields have more than ${maxObjectBytes} bytes: apply fewer fields`);
      const below = set[element];
      if (below !== undefined && !isEmptySet(below)) yield* this.add(below);
    }
  }
}
