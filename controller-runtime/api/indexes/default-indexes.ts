import { distinctSorted } from './index-attribute.ts';
import { IndexSpec } from '../model/index-spec.ts';
import type { ApiObject } from '../object/object.ts';

const indexes: readonly IndexSpec[] = Object.freeze([
  new IndexSpec({ name: 'metadata.name', unique: true, indexFunc: single('name 1', (object) => object.metadata.name) }),
  new IndexSpec({
    name: 'metadata.labels',
    indexFunc: {
      multiValued: true,
      definition: 'labels 1',
      valuesOf({ metadata: { labels } }) {
        if (labels === undefined || labels === null) return [];
        return distinctSorted(Object.entries(labels).map(([key, value]) => `${key}=${value}`));
      },
    },
  }),
  // The two timestamps are whole seconds in UTC, so the order of their texts is the order in time.
  new IndexSpec({
    name: 'metadata.creationTimestamp',
    indexFunc: single('creationTimestamp 1', (object) => object.metadata.creationTimestamp),
  }),
  new IndexSpec({
    name: 'metadata.deletionTimestamp',
    indexFunc: single('deletionTimestamp 1', (object) => object.metadata.deletionTimestamp),
  }),
]);

/**
 * The four indexes that every model has (specification, section 2.8). The values of the index `metadata.labels` are
 * texts `key=value`. Authors may not declare these indexes again.
 */
export function defaultIndexes(): readonly IndexSpec[] {
  return indexes;
}

function single(definition: string, fn: (object: ApiObject) => string | undefined): IndexSpec['indexFunc'] {
  return {
    multiValued: false,
    definition,
    valuesOf(object) {
      const value = fn(object);
      return value === undefined ? [] : [value];
    },
  };
}
