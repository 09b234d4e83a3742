import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import type { CelType } from './cel-type.ts';

/**
 * The code of a function. The first argument of a method is its target. The caller has already counted the usual cost
 * of the function; the function itself adds only costs beyond the usual cost. @throws CelError
 */
export type CelFunction = (args: readonly CelValue[], meter: CostMeter) => CelValue;

/** A function for arguments of certain types. */
export interface Overload {
  readonly name: string;
  readonly isMethod: boolean;
  /** The types of the arguments. For a method, the first one is the type of the target. */
  readonly args: readonly CelType[];
  readonly result: CelType;
  readonly run: CelFunction;
}

/** The overloads that expressions may call, by name. */
export class FunctionTable {
  readonly #functions = new Map<string, readonly Overload[]>();
  readonly #methods = new Map<string, readonly Overload[]>();

  constructor(overloads: Iterable<Overload>) {
    for (const overload of overloads) {
      const table = overload.isMethod ? this.#methods : this.#functions;
      table.set(overload.name, [...(table.get(overload.name) ?? []), overload]);
    }
  }

  functions(name: string): readonly Overload[] {
    return this.#functions.get(name) ?? [];
  }

  methods(name: string): readonly Overload[] {
    return this.#methods.get(name) ?? [];
  }
}
