import type { ApplyOptions, GetOptions, ListOptions, WatchOptions, WriteOptions } from '../client.ts';

type Parameter = string | number | boolean | readonly string[] | undefined;

/** Returns the query parameters of a get. */
export function getQuery(options: GetOptions): URLSearchParams {
  return queryOf({ resourceVersion: options.resourceVersion });
}

/** Returns the query parameters of a list. */
export function listQuery(options: ListOptions): URLSearchParams {
  return queryOf({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    sort: options.sort,
    page: options.page,
    size: options.size,
    limit: options.limit,
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
  });
}

/**
 * Returns the query parameters of a watch from a revision. They always request bookmarks, so that a resumed watch
 * begins at a recent revision.
 */
export function watchQuery(options: WatchOptions, resourceVersion: string): URLSearchParams {
  const { labelSelector, fieldSelector } = options;
  return queryOf({ watch: true, allowWatchBookmarks: true, resourceVersion, labelSelector, fieldSelector });
}

/** Returns the query parameters of a write. */
export function writeQuery(options: WriteOptions): URLSearchParams {
  return queryOf(writeParameters(options));
}

/** Returns the query parameters of a server-side apply. */
export function applyQuery(options: ApplyOptions): URLSearchParams {
  return queryOf({ ...writeParameters(options), force: options.force });
}

function writeParameters({ dryRun, fieldValidation, fieldManager }: WriteOptions): Record<string, Parameter> {
  return { dryRun: dryRun === true ? 'All' : undefined, fieldValidation, fieldManager };
}

function queryOf(parameters: Readonly<Record<string, Parameter>>): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const values = Array.isArray(value) ? value : [value];
    for (const one of values) {
      if (one !== undefined) query.append(name, String(one));
    }
  }
  return query;
}
