import { eventually } from '@homeostat/controller-runtime/testing';
import { machine, machines, newMachine } from '../models/models.ts';
import type { TestServer } from './test-server.ts';
import type { WatchReader } from '../network/watch-reader.ts';

export type Policy = 'Background' | 'Foreground' | 'Orphan';

/** Where a deletion has its policy: in the body or the query of a request, or in an option of the in-process client. */
export type Way = 'body' | 'query' | 'client';

interface MachineJson {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly { name: string; kind: string; uid: string; blockOwnerDeletion?: boolean }[];
  };
}

interface Row {
  readonly name: string;
  readonly owners: readonly string[];
  readonly finalizers: readonly string[];
}

/**
 * Machine objects that own each other, written as `<name> of <owner>,… [<finalizer>,…]`. After an owner, `!` means
 * `blockOwnerDeletion`, `?` means a wrong UID, and `*` means a kind that is not served. A machine that is being deleted
 * is shown as `<name> going …`.
 */
export class OwnerScenario {
  readonly #server: TestServer;
  readonly #prefix: string;
  readonly #events: WatchReader;
  readonly #uids = new Map<string, string>();

  private constructor(server: TestServer, prefix: string, events: WatchReader) {
    this.#server = server;
    this.#prefix = prefix;
    this.#events = events;
  }

  /** The value of the label `scenario` on the Machine objects of this scenario. */
  get #label(): string {
    return `${this.#prefix}x`;
  }

  /**
   * Creates one object of the kind Machine for each text in `rows`, such as `disk of server!`. The names of these
   * objects begin with `prefix`, so that they differ from the names in other scenarios on this server.
   */
  static async make(server: TestServer, prefix: string, rows: readonly string[]): Promise<OwnerScenario> {
    const revision = await server.revision(machines);
    const events = await server.watch(`${machines}?watch=true&resourceVersion=${revision}`);
    const scenario = new OwnerScenario(server, prefix, events);
    const parsed = rows.map(parseRow);
    // The references are added last, because they may form cycles.
    for (const { name, finalizers } of parsed) await scenario.#create({ name, finalizers });
    for (const { name, owners } of parsed) if (owners.length > 0) await scenario.own(name, owners);
    await scenario.settle();
    return scenario;
  }

  /**
   * Runs a step: `delete <name> [<policy>]`; `release <name>`, which removes the finalizer `hold` from a machine;
   * `create <row>`, which creates a machine; or `own <row>`, which sets the owners of a machine. A row is the text form
   * of a machine, `<name> of <owner>,… [<finalizer>,…]`.
   */
  async run(step: string, way: Way): Promise<void> {
    const [verb, ...rest] = step.split(' ');
    const [name = '', policy] = rest;
    const row = parseRow(rest.join(' '));
    if (verb === 'delete') await this.#delete(name, policy as Policy | undefined, way);
    else if (verb === 'release') await this.#release(name);
    else if (verb === 'create') await this.#create({ name: row.name, owners: row.owners, finalizers: row.finalizers });
    else if (verb === 'own') await this.own(row.name, row.owners);
    else throw new Error(`unknown step: ${step}`);
    await this.settle();
  }

  /** Ends the watch, so that the server does not send it the changes of later scenarios. */
  close(): void {
    this.#events.close();
  }

  /** Waits until the garbage collection has no more work. */
  async settle(): Promise<void> {
    await eventually(() => this.#server.api.isIdle());
  }

  /** Returns the present machines, sorted by name. */
  async rows(): Promise<string[]> {
    const { body } = await this.#server.get(
      `${machines}?sort=metadata.name,asc&labelSelector=scenario%3D${this.#label}`,
    );
    return (body.items as MachineJson[]).map((each) => this.#format(each));
  }

  /** Returns the changes (`~b`) and deletions (`-a`) since the start, in order. */
  async history(): Promise<string[]> {
    const revision = Number(await this.#server.revision(machines));
    await eventually(() => Number(this.#events.events.at(-1)?.object.metadata?.resourceVersion) >= revision);
    return this.#events.events
      .filter(({ type, object }) => type !== 'ADDED' && object.metadata?.name?.startsWith(this.#prefix) === true)
      .map(({ type, object }) => (type === 'DELETED' ? '-' : '~') + this.#short(object.metadata?.name ?? ''));
  }

  /** Sets the owners of a machine. */
  async own(name: string, owners: readonly string[]): Promise<void> {
    await this.#patch(name, { ownerReferences: owners.map((owner) => this.#reference(owner)) });
  }

  async #create({
    name,
    owners = [],
    finalizers,
  }: {
    name: string;
    owners?: readonly string[];
    finalizers: readonly string[];
  }): Promise<void> {
    const ownerReferences = owners.map((owner) => this.#reference(owner));
    const labels = { scenario: this.#label };
    const metadata = { name: this.#prefix + name, labels, finalizers, ownerReferences };
    const created = (await this.#server.create(machines, { ...newMachine(''), metadata })) as MachineJson;
    this.#uids.set(name, created.metadata.uid);
  }

  async #release(name: string): Promise<void> {
    const { body } = await this.#server.get(`${machines}/${this.#prefix}${name}`);
    const { finalizers = [] } = (body as MachineJson).metadata;
    await this.#patch(name, { finalizers: finalizers.filter((each) => each !== 'hold') });
  }

  async #patch(name: string, metadata: object): Promise<void> {
    const { status, text } = await this.#server.patch(`${machines}/${this.#prefix}${name}`, { metadata });
    if (status !== 200) throw new Error(`not changed: ${text}`);
  }

  async #delete(name: string, propagationPolicy: Policy | undefined, way: Way): Promise<void> {
    const path = `${machines}/${this.#prefix}${name}`;
    if (way === 'client') {
      await this.#server.api.client.delete(machine, this.#prefix + name, {
        ...(propagationPolicy && { propagationPolicy }),
      });
      return;
    }
    const isQuery = way === 'query' && propagationPolicy !== undefined;
    const answer = isQuery
      ? await this.#server.delete(`${path}?propagationPolicy=${propagationPolicy}`)
      : await this.#server.delete(path, { body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy } });
    if (answer.status !== 200) throw new Error(`not deleted: ${answer.text}`);
  }

  #reference(owner: string): object {
    const name = owner.replace(/[!?*]$/, '');
    return {
      apiVersion: 'people.example.com/v1alpha1',
      kind: owner.endsWith('*') ? 'Ghost' : 'Machine',
      name: this.#prefix + name,
      uid: owner.endsWith('?') ? 'another' : (this.#uids.get(name) ?? 'unknown'),
      ...(owner.endsWith('!') ? { blockOwnerDeletion: true } : {}),
    };
  }

  #format({ metadata }: MachineJson): string {
    const { name, deletionTimestamp, finalizers = [], ownerReferences = [] } = metadata;
    const owners = ownerReferences.map((owner) => {
      const mark = owner.kind === 'Ghost' ? '*' : owner.blockOwnerDeletion === true ? '!' : '';
      return this.#short(owner.name) + (owner.uid === 'another' ? '?' : mark);
    });
    return [
      this.#short(name),
      ...(deletionTimestamp === undefined ? [] : ['going']),
      ...(owners.length === 0 ? [] : ['of', owners.join(',')]),
      ...(finalizers.length === 0 ? [] : [`[${finalizers.join(',')}]`]),
    ].join(' ');
  }

  #short(name: string): string {
    return name.slice(this.#prefix.length);
  }
}

function parseRow(row: string): Row {
  const [, name = '', owners, finalizers] = /^(\S+)(?: of (\S+))?(?: \[(\S+)\])?$/.exec(row) ?? [];
  return { name, owners: owners?.split(',') ?? [], finalizers: finalizers?.split(',') ?? [] };
}
