import { EVENT_ID, getScalarValue } from 'js-yaml';
import type { Event } from 'js-yaml';

/** A field, and its position in the text. */
interface Place {
  readonly path: string;
  readonly offset: number;
}

/** Finds the positions of the fields of one YAML document. */
export class YamlPlaces {
  readonly #text: string;
  readonly #events: readonly Event[];

  /**
   * Creates a finder for one document. `events` are the parser's events of the document; the first is the event of the
   * document itself. The offsets of the events refer to `text`.
   */
  constructor(text: string, events: readonly Event[]) {
    this.#text = text;
    this.#events = events;
  }

  /** The offset at which the document's content begins; undefined when it has no content. */
  get start(): number | undefined {
    return startOf(this.#events[1]);
  }

  /**
   * Returns the offset at which a field such as `spec.items[1].b` begins. A field begins at its name, and an item of a
   * list at its content. For a field that is absent, or comes from an alias, returns the offset of the nearest field
   * around it; undefined when there is none.
   */
  offsetOf(field: string): number | undefined {
    // A message may write a key of a map in brackets, such as `labels["a.b/c"]`. The paths in this class have a dot
    // before each key, so the brackets are replaced: `labels.a.b/c`.
    const wanted = field.replace(
      /\["((?:[^"\\]|\\.)*)"\]/g,
      (_match, key: string) => `.${key.replace(/\\(.)/g, '$1')}`,
    );
    return this.#closest(1, '', wanted)?.offset;
  }

  /**
   * Among the fields below a node, finds the deepest one that is the wanted field or contains it. Names may contain
   * dots, so several paths may match.
   */
  #closest(node: number, path: string, wanted: string): Place | undefined {
    let best: Place | undefined;
    for (const child of this.#children(node, path)) {
      if (!isAtOrAround(child.path, wanted)) continue;
      const found = this.#closest(child.node, child.path, wanted) ?? child;
      if (best === undefined || found.path.length > best.path.length) best = found;
    }
    return best;
  }

  *#children(node: number, path: string): Generator<Place & { readonly node: number }> {
    const type = this.#events[node]?.type;
    if (type === EVENT_ID.SEQUENCE) yield* this.#items(node, path);
    if (type === EVENT_ID.MAPPING) yield* this.#fields(node, path);
  }

  *#items(sequence: number, path: string): Generator<Place & { readonly node: number }> {
    let index = 0;
    for (let node = sequence + 1; this.#isNode(node); node = this.#after(node)) {
      const offset = startOf(this.#events[node]);
      if (offset !== undefined) yield { path: `${path}[${index}]`, offset, node };
      index += 1;
    }
  }

  *#fields(mapping: number, path: string): Generator<Place & { readonly node: number }> {
    for (let key = mapping + 1; this.#isNode(key); key = this.#after(this.#after(key))) {
      const event = this.#events[key];
      if (event?.type !== EVENT_ID.SCALAR) continue;
      const name = getScalarValue(this.#text, event);
      yield { path: path === '' ? name : `${path}.${name}`, offset: event.valueStart, node: this.#after(key) };
    }
  }

  #isNode(index: number): boolean {
    const event = this.#events[index];
    return event !== undefined && event.type !== EVENT_ID.POP;
  }

  /** Returns the index of the event after a node and its content. */
  #after(node: number): number {
    let open = 0;
    let next = node;
    do {
      const type = this.#events[next]?.type;
      if (type === EVENT_ID.MAPPING || type === EVENT_ID.SEQUENCE) open += 1;
      if (type === EVENT_ID.POP) open -= 1;
      next += 1;
    } while (open > 0);
    return next;
  }
}

function isAtOrAround(path: string, wanted: string): boolean {
  if (!wanted.startsWith(path)) return false;
  const next = wanted[path.length];
  return next === undefined || next === '.' || next === '[';
}

/** Returns the offset at which a node begins; undefined for a node without content. */
export function startOf(event: Event | undefined): number | undefined {
  if (event?.type === EVENT_ID.SCALAR) return event.valueStart < 0 ? undefined : event.valueStart;
  if (event?.type === EVENT_ID.MAPPING || event?.type === EVENT_ID.SEQUENCE) return event.start;
  if (event?.type === EVENT_ID.ALIAS) return event.anchorStart;
  return undefined;
}
