/** The sizes of a run. */
export interface Settings {
  /** Measured rounds of each contestant, in turns, after one more round to warm up. */
  readonly rounds: number;
  /** The length of a round of requests, in seconds. */
  readonly seconds: number;
  /** Objects that lists and start-up work on. */
  readonly objects: number;
  /** Objects of the case `million`. */
  readonly manyObjects: number;
  /** The number of writes of a round in process. It is not a time, so that the database stays small at any speed. */
  readonly writes: number;
  /** The number of CustomResourceDefinitions on a server. */
  readonly definitions: number;
  readonly watchers: number;
  readonly watchedWritesPerSecond: number;
  /** The watchers of a server that has as many as it allows, and the writes to all of them. */
  readonly manyWatchers: number;
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

/** A short run that shows that everything works; its figures mean nothing. */
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
