import { terminal } from 'homeostat';

/** A machine in the cloud's API. */
export interface CloudMachine {
  readonly id: string;
  readonly size: string;
  readonly state: 'starting' | 'running' | 'stopping';
  readonly address: string;
}

/**
 * The cloud's API. Each call may be repeated, because the caller chooses the id. A call rejects with a terminal error
 * when the cloud refuses the request, and with another error when the cloud fails, cannot be reached, or the signal
 * aborts.
 */
export interface Cloud {
  /** Resolves with the machine, or with undefined when it does not exist. */
  find(id: string, signal: AbortSignal): Promise<CloudMachine | undefined>;
  /** Creates the machine, or changes it. */
  put(id: string, wanted: { readonly size: string }, signal: AbortSignal): Promise<CloudMachine>;
  /** Deletes the machine. Resolves with the machine while it is being stopped, and with undefined once it is gone. */
  remove(id: string, signal: AbortSignal): Promise<CloudMachine | undefined>;
}

/** The maximum number of characters of a response that an error quotes. */
const maxQuotedLength = 200;

export function createCloud(url: string): Cloud {
  async function send(id: string, init: RequestInit): Promise<CloudMachine | undefined> {
    const response = await fetch(new URL(`/machines/${id}`, url), init).catch((cause: unknown) => {
      throw new Error(`the cloud at ${url} does not respond`, { cause });
    });
    const text = await response.text();
    if (response.ok) return JSON.parse(text) as CloudMachine;
    if (response.status === 404) return undefined;
    const quoted = text.trim().slice(0, maxQuotedLength);
    // The same request would be refused again; any other failure may be temporary.
    if (response.status === 422) throw terminal(`the cloud refuses: ${quoted}`);
    throw new Error(`the cloud returned ${response.status}: ${quoted}`);
  }
  return {
    find: (id, signal) => send(id, { signal }),
    async put(id, wanted, signal) {
      const machine = await send(id, { method: 'PUT', body: JSON.stringify(wanted), signal });
      if (machine === undefined) throw new Error(`${url} has no path /machines: is it the URL of the cloud?`);
      return machine;
    },
    remove: (id, signal) => send(id, { method: 'DELETE', signal }),
  };
}
