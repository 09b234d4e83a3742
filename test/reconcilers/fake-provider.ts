/** A thing at a provider. */
export interface ProvidedThing {
  readonly id: string;
  readonly key: string;
  /** The uid of the object that it was made for. */
  readonly owner: string;
}

/** A provider outside of the server, which keeps its things when controllers crash. */
export class FakeProvider {
  readonly things = new Map<string, ProvidedThing>();
  /** The calls of `create`, in order: their keys. */
  readonly created: string[] = [];
  /** The calls of `find`, in order: their keys. */
  readonly sought: string[] = [];
  /** Called after a creation, before its response; an error that it throws is the response. */
  afterCreate: () => void = () => {};

  reset(): void {
    this.things.clear();
    this.created.length = 0;
    this.sought.length = 0;
  }

  /** Makes a thing each time it is called. */
  create(key: string, owner: string): ProvidedThing {
    this.created.push(key);
    const thing = { id: `t-${this.created.length}`, key, owner };
    this.things.set(thing.id, thing);
    this.afterCreate();
    return thing;
  }

  find(key: string): ProvidedThing | undefined {
    this.sought.push(key);
    return [...this.things.values()].find((thing) => thing.key === key);
  }

  remove(id: string): void {
    this.things.delete(id);
  }
}
