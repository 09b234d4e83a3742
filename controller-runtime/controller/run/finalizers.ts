/** A list of finalizers, and whether it differs from the one given. */
export interface FinalizerChange {
  readonly finalizers: readonly string[];
  readonly changed: boolean;
}

/** The list with a finalizer at its end, unless it is there. Absent stands for empty. */
export function addFinalizer(finalizers: readonly string[] | undefined, finalizer: string): FinalizerChange {
  const present = finalizers ?? [];
  if (present.includes(finalizer)) return { finalizers: present, changed: false };
  return { finalizers: [...present, finalizer], changed: true };
}

/** The list without a finalizer. Absent stands for empty. */
export function removeFinalizer(finalizers: readonly string[] | undefined, finalizer: string): FinalizerChange {
  const present = finalizers ?? [];
  if (!present.includes(finalizer)) return { finalizers: present, changed: false };
  return { finalizers: present.filter((each) => each !== finalizer), changed: true };
}
