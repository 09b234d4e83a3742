import type { ApiObject, Model } from '../../api/index.ts';
import { controller } from './controller-definition.ts';
import type { ControllerDefinition, ControllerOptions } from './controller-definition.ts';
import { on, type FollowOptions, type MapFunction, type OwnedSource } from './followed-kind.ts';
import type { ReconcileFunction, Reconciler } from './reconciler.ts';

type BuilderOptions<T extends ApiObject> = Omit<ControllerOptions<T>, 'reconcile'>;

/**
 * Declares a controller step by step; each step returns a new builder. The last step returns the same definition as
 * {@link controller}.
 */
export class ControllerBuilder<T extends ApiObject> {
  readonly #model: Model<T>;
  readonly #options: BuilderOptions<T>;

  constructor(model: Model<T>, options: BuilderOptions<T>) {
    this.#model = model;
    this.#options = options;
  }

  owns(...models: readonly (Model | OwnedSource)[]): ControllerBuilder<T> {
    return this.with({ owns: [...(this.#options.owns ?? []), ...models] });
  }

  watches<O extends ApiObject>(model: Model<O>, map: MapFunction<O>, options?: FollowOptions<O>): ControllerBuilder<T> {
    return this.with({ watches: [...(this.#options.watches ?? []), on(model, map, options)] });
  }

  cleanup(cleanup: ReconcileFunction<T>): ControllerBuilder<T> {
    return this.with({ cleanup });
  }

  /** Sets any options. A given option replaces its earlier value. */
  with(options: BuilderOptions<T>): ControllerBuilder<T> {
    return new ControllerBuilder(this.#model, { ...this.#options, ...options });
  }

  /** The last step, which returns the definition. Throws the errors of {@link controller}. */
  reconcile(reconcile: ReconcileFunction<T> | Reconciler): ControllerDefinition<T> {
    return controller(this.#model, { ...this.#options, reconcile });
  }
}

/** Begins a declaration: `controllerFor(Person).owns(Badge).reconcile(fn)`. */
export function controllerFor<T extends ApiObject>(model: Model<T>): ControllerBuilder<T> {
  return new ControllerBuilder(model, {});
}
