/** A thing that a reconciler has created at the {@link FakeProvider}. */
export interface ProvidedThing {
  readonly id: string;
  readonly key: string;
  /** The uid of the API object for which the provider made this thing. */
  readonly owner: string;
}

/**
 * A stand-in for an external system in which reconcilers create things. The things remain when the controllers crash.
 */
export class FakeProvider {
  readonly things = new Map<string, ProvidedThing>();
  /** The argument `key` of each call of `create`, in order. */
  readonly created: string[] = [];
  /** The argument `key` of each call of `find`, in order. */
  readonly sought: string[] = [];
  /** Called after a creation, before its response. An error that it throws becomes the response. */
  afterCreate: () => void = () => {};

  reset(): void {
    this.things.clear();
    this.created.length = 0;
    this.sought.length = 0;
  }

  /** Makes a new thing at each call, even for the key of an earlier call. */
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
