import { ApiError, apiVersionOf, descriptorOf } from '../../api/index.ts';
import type { ApiObject, Model, ModelDescriptor } from '../../api/index.ts';
import type { HttpTransport } from './http-transport.ts';
import { groupVersionPath } from './resource-path.ts';
import type { Resource } from './resource-path.ts';

/** The fields of Kubernetes' APIResourceList that this module reads. */
interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/**
 * Finds the resource, and so the URL, of an apiVersion and kind: among the models of earlier calls, or else by
 * discovery.
 */
export class ModelResolver {
  readonly #transport: HttpTransport;
  readonly #known = new Map<string, Resource>();

  constructor(transport: HttpTransport) {
    this.#transport = transport;
  }

  /** Returns the descriptor of a model, and remembers it for later calls. */
  remember<T extends ApiObject>(model: Model<T>): ModelDescriptor<T> {
    const descriptor = descriptorOf(model);
    this.#known.set(keyOfKind(apiVersionOf(descriptor), descriptor.kind), descriptor);
    return descriptor;
  }

  /** Returns the resource of an object. Rejects with NotFound when the server does not serve its kind. */
  async resolve(object: ApiObject, signal: AbortSignal | undefined): Promise<Resource> {
    const key = keyOfKind(object.apiVersion, object.kind);
    const known = this.#known.get(key) ?? (await this.#discover(object, signal));
    this.#known.set(key, known);
    return known;
  }

  async #discover({ apiVersion, kind }: ApiObject, signal: AbortSignal | undefined): Promise<Resource> {
    const gv = parseApiVersion(apiVersion);
    const answer = await this.#transport.send({ method: 'GET', path: groupVersionPath(gv), signal });
    const { resources = [] } = answer as ResourceList;
    const found = resources.find((resource) => resource.kind === kind && !resource.name.includes('/'));
    if (found === undefined) throw new ApiError('NotFound', `the server has no kind ${kind} in ${apiVersion}`);
    return { ...gv, kind, plural: found.name, scope: found.namespaced ? 'Namespaced' : 'Cluster' };
  }
}

/**
 * Matches an apiVersion: an optional group, and a version. Each of them becomes a path segment, so it must not contain
 * characters with a meaning in paths.
 */
const apiVersionPattern = /^(?:([a-z0-9][-.a-z0-9]*)\/)?([a-z0-9]+)$/;

function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const match = apiVersionPattern.exec(apiVersion);
  if (match === null)
    throw new ApiError('BadRequest', `"${apiVersion}" is not an apiVersion: <group>/<version> or v1 expected`);
  return { group: match[1] ?? '', version: match[2] ?? '' };
}

function keyOfKind(apiVersion: string, kind: string): string {
  return `${apiVersion} ${kind}`;
}
