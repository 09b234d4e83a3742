import type { Model } from 'homeostat';

/** The objects of a model. */
export type FromModel<M> = M extends Model<infer T> ? T : never;
