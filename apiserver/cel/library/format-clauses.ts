/** A clause of a format, such as `%s` or `%.2f`, which takes an argument. */
export interface FormatClause {
  readonly verb: string;
  /** The number of digits after the decimal point: 2 for the clause `%.2f`; undefined for `%f`, which names none. */
  readonly precision: number | undefined;
  /** The reason why the clause is invalid; undefined when it is valid. */
  readonly problem: string | undefined;
}

interface Verb {
  /** The names of the types of arguments that the clause accepts. */
  readonly takes: ReadonlySet<string>;
  readonly rule: string;
}

function verb(rule: string, ...takes: readonly string[]): Verb {
  return { takes: new Set(takes), rule };
}

const scalars = ['int', 'uint', 'double', 'bool', 'string', 'bytes', 'type', 'null_type'];
const times = ['google.protobuf.Timestamp', 'google.protobuf.Duration'];
const hex = verb('only integers, byte buffers, and strings can be formatted as hex', 'int', 'uint', 'string', 'bytes');

/**
 * The verbs of cel-go, with the types that each accepts. `%f` and `%e` accept the texts NaN, Infinity and -Infinity,
 * too.
 */
const verbs: ReadonlyMap<string, Verb> = new Map([
  [
    's',
    verb(
      'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
      ...scalars,
      ...times,
      'list',
      'map',
    ),
  ],
  ['d', verb('decimal clause can only be used on integers', 'int', 'uint')],
  ['f', verb('fixed-point clause can only be used on doubles', 'double', 'string')],
  ['e', verb('scientific clause can only be used on doubles', 'double', 'string')],
  ['b', verb('only integers and bools can be formatted as binary', 'int', 'uint', 'bool')],
  ['o', verb('octal clause can only be used on integers', 'int', 'uint')],
  ['x', hex],
  ['X', hex],
]);

/** Returns the reason why a clause does not accept an argument of a type; undefined when it does. */
export function argumentProblem(clause: FormatClause, type: string): string | undefined {
  if (clause.problem !== undefined) return clause.problem;
  return verbs.get(clause.verb)?.takes.has(type) === false ? wrongArgument(clause, type) : undefined;
}

/** Returns the message for an argument of a wrong type. It names the types that the clause accepts. */
export function wrongArgument({ verb: name }: FormatClause, type: string): string {
  return `error during formatting: ${verbs.get(name)?.rule ?? ''}, was given ${type}`;
}

const pattern = /%(?:%|(?:\.(\d{1,4}))?(.)?)/gsu;

/** Splits a format into texts and clauses, in their order. */
export function readFormat(format: string): readonly (string | FormatClause)[] {
  const pieces: (string | FormatClause)[] = [];
  let end = 0;
  for (const { 0: found, 1: digits, 2: name, index } of format.matchAll(pattern)) {
    if (index > end) pieces.push(format.slice(end, index));
    end = index + found.length;
    if (found === '%%') pieces.push('%');
    else pieces.push(clauseOf(name, digits));
  }
  if (end < format.length) pieces.push(format.slice(end));
  return pieces;
}

function clauseOf(name: string | undefined, digits: string | undefined): FormatClause {
  const precision = digits === undefined ? undefined : Number(digits);
  if (name === undefined) return { verb: '', precision, problem: 'unexpected end of string' };
  const isKnown = verbs.has(name);
  const problem = isKnown ? undefined : `could not parse formatting clause: unrecognized formatting clause "${name}"`;
  return { verb: name, precision, problem };
}
