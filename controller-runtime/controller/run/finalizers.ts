/** A list of finalizers after one was added or removed. `changed` is true when it differs from the list before. */
export interface FinalizerChange {
  readonly finalizers: readonly string[];
  readonly changed: boolean;
}

/**
 * Returns the list with the finalizer, which is appended if the list does not have it. An absent list counts as empty.
 */
export function addFinalizer(finalizers: readonly string[] | undefined, finalizer: string): FinalizerChange {
  const present = finalizers ?? [];
  if (present.includes(finalizer)) return { finalizers: present, changed: false };
  return { finalizers: [...present, finalizer], changed: true };
}

/** Returns the list without the finalizer. An absent list counts as empty. */
export function removeFinalizer(finalizers: readonly string[] | undefined, finalizer: string): FinalizerChange {
  const present = finalizers ?? [];
  if (!present.includes(finalizer)) return { finalizers: present, changed: false };
  return { finalizers: present.filter((each) => each !== finalizer), changed: true };
}
