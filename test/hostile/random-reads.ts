// Random lists, deletions of collections and watches with unusual selectors.
import fc from 'fast-check';
import { letters, persons } from '../support/models/models.ts';
import { things } from './models.ts';
import type { HostileRequest } from './hostile-request.ts';
import { visible, repeated } from './random-values.ts';

const selector = fc.oneof(
  visible,
  repeated,
  fc
    .array(
      fc
        .tuple(
          fc.constantFrom('spec.name', 'spec.weight', 'metadata.name', 'app', 'a/b', '', 'metadata.labels', 'x.y'),
          fc.constantFrom('=', '!=', '==', ' in (a,b)', ' notin (a)', '>', '<', '', ' exists', '=(', ')'),
          visible,
        )
        .map((parts) => parts.join('')),
      { maxLength: 120 },
    )
    .map((all) => all.join(',')),
);

export const selecting = fc
  .tuple(
    fc.constantFrom(things, persons, letters, '/api/v1/namespaces'),
    fc.constantFrom('labelSelector', 'fieldSelector', 'sort', 'continue'),
    selector,
    fc.constantFrom('GET', 'DELETE'),
  )
  .map(([path, parameter, text, method]): HostileRequest => ({
    method,
    // Deletions are dry runs, so that the objects exist for the next request.
    path: `${path}?${parameter}=${encodeURIComponent(text).slice(0, 8000)}${method === 'DELETE' ? '&dryRun=All' : ''}`,
  }));

export const watching = fc
  .tuple(
    fc.constantFrom(things, persons, '/api/v1/namespaces'),
    fc.constantFrom('', '0', '1', '5', '999', '-1', 'x', '1e3'),
    selector,
    fc.constantFrom(
      '',
      'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&',
      'allowWatchBookmarks=true&',
      'timeoutSeconds=-1&',
      'timeoutSeconds=1&',
    ),
    fc.constantFrom('*/*', 'text/event-stream', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'application/yaml'),
  )
  .map(([path, revision, text, more, accept]): HostileRequest => ({
    method: 'GET',
    path: `${path}?watch=true&${more}resourceVersion=${revision}&labelSelector=${encodeURIComponent(text).slice(0, 2000)}`,
    headers: { accept },
  }));
