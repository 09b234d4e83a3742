import { defaultIndexes } from './default-indexes.ts';
import type { IndexSpec } from './index-spec.ts';
import { ModelError } from './model-error.ts';
import type { ApiObject } from './object.ts';

/** Indexes being declared for one model; what the callback of a registration is given (spec 2.8). */
export class IndexSpecs<T extends ApiObject = ApiObject> {
  readonly #model: string;
  readonly #specs = new Map<string, IndexSpec<T>>();

  /** `declared`: those that the model itself brings. */
  constructor(model: string, declared: readonly IndexSpec<T>[] = []) {
    this.#model = model;
    for (const spec of declared) this.add(spec);
  }

  /** @throws ModelError when the name is taken, or is that of an index every model has. */
  add(spec: IndexSpec<T>): this {
    const rule =
      brokenIndexRule(spec) ??
      (this.#specs.has(spec.name) ? 'is declared twice; names of indexes are unique within a model' : undefined);
    if (rule !== undefined) throw new ModelError(this.#model, `index ${spec?.name}`, rule);
    this.#specs.set(spec.name, spec);
    return this;
  }

  /** In the order of declaration. */
  list(): readonly IndexSpec<T>[] {
    return [...this.#specs.values()];
  }
}

/** The rule that an index alone breaks; what plugins bring need not come from a compiler, nor from this copy of the package. */
function brokenIndexRule<T extends ApiObject>(spec: IndexSpec<T>): string | undefined {
  if (typeof spec?.name !== 'string' || spec.name === '') return 'an index needs a name';
  if (defaultIndexes().some(({ name }) => name === spec.name))
    return 'every model has this index; it may not be declared again';
  if (spec.order !== 'ASC' && spec.order !== 'DESC') return 'order must be ASC or DESC';
  if (typeof spec.unique !== 'boolean') return 'unique must be true or false';
  if (typeof spec.indexFunc?.valuesOf !== 'function') {
    return 'indexFunc must come from simpleAttribute or multiValueAttribute';
  }
  return undefined;
}
