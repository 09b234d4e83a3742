import { refusalError, requestServer } from './request-server.ts';
import type { ServerAddress } from './request-server.ts';

/** Reads and deletes without models: discovery, and the objects that it lists. */
export class ServerApi {
  readonly #address: ServerAddress;
  readonly #signal: AbortSignal;

  constructor(address: ServerAddress, signal: AbortSignal) {
    this.#address = address;
    this.#signal = signal;
  }

  /** Rejects with the server's message when it refuses. */
  async get<T>(path: string): Promise<T> {
    return (await this.#request('GET', path)).json() as Promise<T>;
  }

  async isThere(path: string): Promise<boolean> {
    const response = await this.#request('GET', path, { accepted: [404] });
    await response.body?.cancel();
    return response.ok;
  }

  /** Deletes the object of that uid, if it still exists; a new object of the same name is not touched. */
  async delete(path: string, uid: string): Promise<void> {
    const response = await this.#request('DELETE', path, { accepted: [404, 409], json: { preconditions: { uid } } });
    await response.body?.cancel();
  }

  async #request(
    method: string,
    path: string,
    { accepted = [], json }: { readonly accepted?: readonly number[]; readonly json?: object } = {},
  ): Promise<Response> {
    const content = json === undefined ? {} : { json };
    const response = await requestServer(this.#address, path, { method, signal: this.#signal, ...content });
    if (response.ok || accepted.includes(response.status)) return response;
    throw await refusalError(`${method} ${path}`, response);
  }
}
