import { ApiError, checkDnsSubdomain, descriptorOf, parseFieldSelector, parseLabelSelector } from '../api/index.ts';
import type { ApiObject, Model } from '../api/index.ts';
import type { InformerOptions } from '../client/informer.ts';

/** Each is a connection of its own. */
const maxNamespaces = 100;

/**
 * Throws BadRequest when no informer can follow this. The server reports later what only it knows, such as fields
 * without an index.
 */
export function checkSelection<T extends ApiObject>(model: Model<T>, options: InformerOptions<T>): void {
  parseLabelSelector(options.labelSelector ?? '');
  parseFieldSelector(options.fieldSelector ?? '');
  const { namespaces } = options;
  if (namespaces === undefined) return;
  const { kind, scope } = descriptorOf(model);
  if (scope === 'Cluster') throw new ApiError('BadRequest', `namespaces: ${kind} is Cluster-scoped`);
  if (namespaces.length === 0 || namespaces.length > maxNamespaces) {
    throw new ApiError('BadRequest', `namespaces: must be 1 to ${maxNamespaces}, are ${namespaces.length}`);
  }
  if (new Set(namespaces).size < namespaces.length) throw new ApiError('BadRequest', 'namespaces: one is listed twice');
  for (const [index, namespace] of namespaces.entries()) {
    const [message] = checkDnsSubdomain(namespace);
    if (message !== undefined) throw new ApiError('BadRequest', `namespaces[${index}]: ${message}`);
  }
}
