import { refusalError, requestServer } from './request-server.ts';
import type { ServerAddress, ServerRequest } from './request-server.ts';

/** An installed plugin. */
export interface UploadedPlugin {
  readonly name: string;
  readonly version: string;
  /** The version that this upload replaced. */
  readonly replaced?: string;
}

type Content = Pick<ServerRequest, 'json' | 'bytes' | 'contentType'>;

const archivesPath = '/apis/api.plugins.internal/v1/archives';

/** Sends requests without models: for discovery, for objects by their path, and for archives of plugins. */
export class ServerApi {
  readonly #address: ServerAddress;
  readonly #signal: AbortSignal;

  constructor(address: ServerAddress, signal: AbortSignal) {
    this.#address = address;
    this.#signal = signal;
  }

  /** Returns the body of a GET as JSON. Rejects with the server's message when the server refuses. */
  async get<T>(path: string): Promise<T> {
    return (await this.#request('GET', path)).json() as Promise<T>;
  }

  async isThere(path: string): Promise<boolean> {
    const response = await this.#request('GET', path, { accepted: [404] });
    await response.body?.cancel();
    return response.ok;
  }

  /** Deletes an object if it still has the given uid. Does not delete a new object with the same name. */
  async delete(path: string, uid: string): Promise<void> {
    const response = await this.#request('DELETE', path, { accepted: [404, 409], json: { preconditions: { uid } } });
    await response.body?.cancel();
  }

  /** Sends the archive of a plugin: the server installs the plugin, and begins to start it. */
  async installPlugin(bytes: Uint8Array<ArrayBuffer>): Promise<UploadedPlugin> {
    const response = await this.#request('POST', archivesPath, { bytes, contentType: 'application/gzip' });
    return response.json() as Promise<UploadedPlugin>;
  }

  /** Asks the server to stop an installed plugin, and to remove it. */
  async uninstallPlugin(name: string): Promise<void> {
    const response = await this.#request('DELETE', `${archivesPath}/${encodeURIComponent(name)}`);
    await response.body?.cancel();
  }

  async #request(
    method: string,
    path: string,
    { accepted = [], ...content }: Content & { readonly accepted?: readonly number[] } = {},
  ): Promise<Response> {
    const response = await requestServer(this.#address, path, { method, signal: this.#signal, ...content });
    if (response.ok || accepted.includes(response.status)) return response;
    throw await refusalError(`${method} ${path}`, response);
  }
}
