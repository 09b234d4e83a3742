import type { CelValue } from '../values/cel-value.ts';
import type { CostMeter } from '../values/cost-meter.ts';
import type { CelType } from './cel-type.ts';

/**
 * The code of a function; a method gets its target first. The caller has counted the nominal cost; a function counts
 * only the cost beyond that. @throws CelError
 */
export type CelFunction = (args: readonly CelValue[], meter: CostMeter) => CelValue;

/** A function for arguments of certain types. */
export interface Overload {
  readonly name: string;
  readonly isMethod: boolean;
  /** The types of the arguments; for a method, the type of the target comes first. */
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
