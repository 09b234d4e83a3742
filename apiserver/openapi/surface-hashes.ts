import { createHash } from 'node:crypto';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import type { ApiSurface } from './api-surface.ts';
import { endpointFragment } from './endpoint-paths.ts';

/** A cache of the hashes of models. It is valid, because descriptors are frozen. */
const ofModels = new WeakMap<ModelDescriptor, string>();

/**
 * Returns a hash of the input from which an OpenAPI document is built, instead of a hash of the document. So the list
 * of all documents (`/openapi/v3`) can have the hash of a document that is not built yet. Equal surfaces have equal
 * hashes on all servers of this version. The computation takes one step for each model whose hash is not in the cache.
 */
export function* surfaceHash({ models, routes }: ApiSurface, version: string): Steps<string> {
  const parts: string[] = [version];
  for (const model of models) parts.push(yield* modelHash(model));
  if (routes.length > 0) parts.push(hashOf(JSON.stringify(endpointFragment(routes))));
  return hashOf(parts.join('\n'));
}

/** SHA-256 in hexadecimal. */
export function hashOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex').toUpperCase();
}

function* modelHash(model: ModelDescriptor): Steps<string> {
  const known = ofModels.get(model);
  if (known !== undefined) return known;
  yield;
  const { group, version, kind, plural, scope, schemaName, components, indexes, scale } = model;
  const names = indexes.map(({ name }) => name);
  const shown = { group, version, kind, plural, scope, schemaName, components, names, hasScale: scale !== undefined };
  const hash = hashOf(JSON.stringify(shown));
  ofModels.set(model, hash);
  return hash;
}
