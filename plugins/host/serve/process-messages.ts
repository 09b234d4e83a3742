/** The messages from the primary process, which distributes connections, to a process that serves requests. */
export type ToServing =
  | { readonly type: 'stop' }
  | { readonly type: 'measure'; readonly id: number }
  /** The metrics of the other processes, each with its process number. */
  | { readonly type: 'measured'; readonly id: number; readonly texts: readonly (readonly [number, string])[] };

/** The messages from a process that serves requests to the primary process. */
export type FromServing =
  | { readonly type: 'ready' }
  /** All processes must stop, because each would fail for the same reason. */
  | { readonly type: 'fail' }
  /** Requests the metrics of the other processes. */
  | { readonly type: 'gather'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string };

/** The file descriptor of the stream by which a worker uses the database that the primary process has open. */
export const ownerDescriptor = 4;

/** The environment variable with the number of a process that serves requests. */
export const processVariable = 'HOMEOSTAT_PROCESS_NUMBER';
