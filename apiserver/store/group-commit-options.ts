export interface GroupCommitOptions {
  /**
   * The maximum number of operations in one batch. Default: the store's own limit, or 1,000, because no store became
   * faster with more.
   */
  readonly maxOperations?: number;
  /** The maximum number of bytes of data in a batch of several operations. Default: the store's own limit, or 4 MiB. */
  readonly maxBytes?: number;
  /**
   * The maximum number of queued operations, without the batch in flight. Beyond it, `submit` rejects with 429. Default
   * 10,000.
   */
  readonly maxQueued?: number;
  /** Called with an error that `apply` threw. The write itself is stored. */
  readonly onError: (error: unknown) => void;
  /**
   * Resolves when memory has all changes up to `before`, the revision before a batch, so that the batch can be applied.
   * It is set only when other processes write to the store.
   */
  readonly follow?: (before: number) => Promise<void>;
  /** Called when no operation is queued or running any more. */
  readonly onIdle?: () => void;
}
