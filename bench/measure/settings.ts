/** The sizes and durations of a run. */
export interface Settings {
  /** The number of measured rounds of each contestant. One more round before them is a warm-up. */
  readonly rounds: number;
  /** The length of a round of requests, in seconds. */
  readonly seconds: number;
  /** The number of objects for the cases that need many, such as lists and starts. */
  readonly objects: number;
  /** The number of objects in the case `million`. */
  readonly manyObjects: number;
  /**
   * The number of writes in a round without HTTP. It is a number and not a time, so that the database stays small at
   * any speed.
   */
  readonly writes: number;
  /** The number of CustomResourceDefinitions on a server. */
  readonly definitions: number;
  readonly watchers: number;
  readonly watchedWritesPerSecond: number;
  /** The largest number of watchers of one server: in a full run, as many as a server allows by default. */
  readonly manyWatchers: number;
  /** The number of writes per second while `manyWatchers` watchers are connected. */
  readonly writesToMany: number;
}

export const fullSettings: Settings = {
  rounds: 5,
  seconds: 2,
  objects: 100_000,
  manyObjects: 1_000_000,
  writes: 20_000,
  definitions: 214,
  watchers: 1_000,
  watchedWritesPerSecond: 200,
  manyWatchers: 10_000,
  writesToMany: 50,
};

/** The settings of a short run that only shows that everything works. Its figures mean nothing. */
export const quickSettings: Settings = {
  rounds: 1,
  seconds: 0.3,
  objects: 2_000,
  manyObjects: 4_000,
  writes: 1_000,
  definitions: 10,
  watchers: 50,
  watchedWritesPerSecond: 100,
  manyWatchers: 100,
  writesToMany: 50,
};
