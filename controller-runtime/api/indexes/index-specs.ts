import { defaultIndexes } from './default-indexes.ts';
import { indexKeys } from '../model/index-spec.ts';
import type { IndexSpec } from '../model/index-spec.ts';
import { ModelError } from '../errors/model-error.ts';
import type { ApiObject } from '../object/object.ts';
import { parseFieldSelector } from '../selector/parse-selector.ts';
import { unknownKeyOf } from '../base/unknown-key.ts';

/**
 * Collects the indexes that are declared for one model. When a model is registered, `register` passes its IndexSpecs to
 * the author's callback, which can add further indexes (specification, section 2.8).
 */
export class IndexSpecs<T extends ApiObject = ApiObject> {
  readonly #model: string;
  readonly #specs = new Map<string, IndexSpec<T>>();
  #closed = false;

  /** `declared` are the indexes that the model itself declares. */
  constructor(model: string, declared: readonly IndexSpec<T>[] = []) {
    this.#model = model;
    for (const spec of declared) this.add(spec);
  }

  /**
   * Adds an index.
   * @throws ModelError when the index breaks a rule (for example, no field selector can use its name), when another
   * index has the same name, or when the callback of the registration has already returned
   */
  add(spec: IndexSpec<T>): this {
    const rule =
      (this.#closed ? 'was added after the callback of register had returned' : knownRule(spec)) ??
      (this.#specs.has(spec.name) ? 'is declared twice; names of indexes are unique within a model' : undefined);
    if (rule !== undefined) throw new ModelError(this.#model, `index ${spec?.name}`, rule);
    this.#specs.set(spec.name, spec);
    return this;
  }

  /** Ends the declaration: later calls of `add` throw. */
  close(): void {
    this.#closed = true;
  }

  /** The indexes in the order of declaration. */
  list(): readonly IndexSpec<T>[] {
    return [...this.#specs.values()];
  }
}

/**
 * Frozen indexes that were checked and break no rule. Each server in this process registers the same built-in kinds;
 * with this set, their indexes are checked only once.
 */
const correct = new WeakSet<object>();

/** `fieldSelector=metadata.namespace=…` selects by namespace, so no index may have this name. */
const reservedNames: readonly string[] = ['metadata.namespace'];

/** True when a field selector can select by an index of this name. */
function isSelectable(name: string): boolean {
  try {
    const [requirement, ...more] = parseFieldSelector(name);
    return more.length === 0 && requirement?.key === name && requirement.operator === 'exists';
  } catch {
    return false;
  }
}

/** Returns the rule that an index breaks, like {@link brokenIndexRule}, but checks a frozen index only once. */
function knownRule<T extends ApiObject>(spec: IndexSpec<T>): string | undefined {
  if (correct.has(spec)) return undefined;
  const rule = brokenIndexRule(spec);
  if (rule === undefined && Object.isFrozen(spec)) correct.add(spec);
  return rule;
}

/**
 * Returns the rule that a single index breaks. An index of a plugin may come from JavaScript, or from another copy of
 * this package, so everything is checked.
 */
function brokenIndexRule<T extends ApiObject>(spec: IndexSpec<T>): string | undefined {
  if (typeof spec?.name !== 'string' || spec.name === '') return 'an index needs a name';
  const unknown = unknownKeyOf(spec, indexKeys);
  if (unknown !== undefined) return unknown;
  if (reservedNames.includes(spec.name))
    return 'the server already selects by namespace under this name; give the index another name';
  if (!isSelectable(spec.name))
    return 'no field selector can name this index: its name must not contain white space or any of = ! ( ) , < >';
  if (defaultIndexes().some(({ name }) => name === spec.name))
    return 'every model has this index; it may not be declared again';
  if (spec.order !== 'ASC' && spec.order !== 'DESC') return 'order must be ASC or DESC';
  if (typeof spec.unique !== 'boolean') return 'unique must be true or false';
  if (typeof spec.indexFunc?.valuesOf !== 'function') {
    return 'indexFunc must come from simpleAttribute or multiValueAttribute';
  }
  return undefined;
}
