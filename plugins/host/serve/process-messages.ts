/** The messages of the process that distributes connections to one that serves. */
export type ToServing =
  | { readonly type: 'stop' }
  | { readonly type: 'measure'; readonly id: number }
  /** The metrics of the other processes, by their numbers. */
  | { readonly type: 'measured'; readonly id: number; readonly texts: readonly (readonly [number, string])[] };

/** The messages of a process that serves to the one that distributes connections. */
export type FromServing =
  | { readonly type: 'ready' }
  /** The whole server has to stop, because another process would fail in the same way. */
  | { readonly type: 'fail' }
  /** Asks for the metrics of the other processes. */
  | { readonly type: 'gather'; readonly id: number }
  | { readonly type: 'metrics'; readonly id: number; readonly text: string };

/** The descriptor of the stream through which a worker reaches the database of the process that started it. */
export const ownerDescriptor = 4;

/** The variable in which a process that serves gets its number. */
export const processVariable = 'HOMEOSTAT_PROCESS_NUMBER';
