import { expect } from 'chai';
import { startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import { createClient } from '@homeostat/controller-runtime';
import type { Client, HandlerRegistration, Informer, InformerOptions } from '@homeostat/controller-runtime';
import type { ApiObject } from '@homeostat/controller-runtime/api';
import { createFaultInjectingFetch, eventually } from '@homeostat/controller-runtime/testing';
import type { FaultInjectingFetch } from '@homeostat/controller-runtime/testing';
import { hurriedClock } from './hurried-clock.ts';
import { machine } from '../models/models.ts';
import { ReplayedEvents } from './replayed-events.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** An informer, and a handler that makes a copy of the informer's cache from the events that it receives. */
export interface Followed {
  readonly selection: InformerOptions;
  readonly informer: Informer<ApiObject>;
  readonly replayed: ReplayedEvents;
  readonly registration: HandlerRegistration;
}

/** A server, and clients that send requests to it through a proxy. */
export class FaultyNetwork {
  readonly server: ApiServer;
  readonly proxy: TcpProxy;
  readonly client: Client;
  readonly #fetch: FaultInjectingFetch;
  readonly #stop = new AbortController();
  readonly #runs: Promise<void>[] = [];

  private constructor(server: ApiServer, proxy: TcpProxy) {
    this.server = server;
    this.proxy = proxy;
    this.#fetch = createFaultInjectingFetch();
    // The clock runs a hundred times faster: silence is noticed after 300 ms, a missing response after 400 ms.
    const clock = hurriedClock(100);
    const patience = { requestTimeoutMs: 40_000, watchSilenceMs: 30_000 };
    this.client = createClient(proxy.url, { fetch: this.#fetch.fetch, clock, ...patience });
  }

  static async start(options: ApiServerOptions = {}): Promise<FaultyNetwork> {
    const server = await startApiServer({ database: 'memory:', port: 0, ...options });
    server.schemeManager.register(machine);
    await server.whenReady(machine);
    return new FaultyNetwork(server, await TcpProxy.start(server.url));
  }

  /** The numbers of list requests and watch requests so far. */
  get requests(): { readonly lists: number; readonly watches: number } {
    const watches = this.#fetch.requests.filter(({ path }) => path.includes('watch=true')).length;
    return { lists: this.#fetch.requests.length - watches, watches };
  }

  follow(selection: InformerOptions = {}): Followed {
    const informer: Informer<ApiObject> = this.client.informer(machine, selection);
    const replayed = new ReplayedEvents();
    const registration = informer.addHandler(replayed);
    this.#runs.push(informer.run(this.#stop.signal));
    return { selection, informer, replayed, registration };
  }

  /** Resolves when the cache is equal to the server's state, and the handler has received this state. */
  async converge({ selection, informer, replayed, registration }: Followed): Promise<void> {
    const { transform: _transform, metadataOnly: _metadataOnly, namespaces: _namespaces, ...selectors } = selection;
    const expected = async (): Promise<[string, string][]> =>
      (await this.server.client.list(machine, selectors)).items.map(revisionOf);
    const isThere = async (): Promise<boolean> => isSame(informer.list().map(revisionOf), await expected());
    await eventually(isThere, { timeoutMs: 20_000, describe: () => `the cache to be equal to the server's state` });
    await eventually(() => registration.isIdle());
    expect([...replayed.copy].sort()).to.deep.equal((await expected()).sort());
    expect(replayed.contradictions).to.deep.equal([]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#runs);
    await this.proxy.close();
    await this.server.stop();
  }
}

function revisionOf({ metadata }: ApiObject): [string, string] {
  return [metadata.name, metadata.resourceVersion];
}

function isSame(have: readonly [string, string][], want: readonly [string, string][]): boolean {
  const revisions = new Map(have);
  return have.length === want.length && want.every(([name, revision]) => revisions.get(name) === revision);
}
