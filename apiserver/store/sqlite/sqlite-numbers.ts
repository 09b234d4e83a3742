import { rowOf, type SqlDatabase, type SqlStatement } from './sqlite-binding.ts';
import * as sql from './sqlite-statements.ts';

interface NumberRow {
  readonly id: number;
}

/** The numbers that stand for the names of kinds and indexes. A server asks for those of all its kinds when it starts. */
export class SqliteNumbers {
  readonly #find: SqlStatement<NumberRow>;
  readonly #add: SqlStatement;

  constructor(database: SqlDatabase) {
    this.#find = database.prepare(sql.getNumber);
    this.#add = database.prepare(sql.addNumber);
  }

  /** Returns the number of a name, which gets one if it has none. `transaction` runs the writes. */
  numberOf(name: string, transaction: <Result>(work: () => Result) => Result): number {
    const known = this.#find.get(name);
    if (known !== undefined) return known.id;
    return transaction(() => {
      this.#add.run(name);
      return rowOf(this.#find, name).id;
    });
  }
}
