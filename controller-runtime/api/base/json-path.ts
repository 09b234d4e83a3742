const comparisons = ['==', '!=', '<', '<=', '>', '>='] as const;

/** The operator of a filter. It compares the value at the filter's path with the filter's literal. */
type Comparison = (typeof comparisons)[number];

type Literal = string | number | boolean | null;

type Step =
  | { readonly kind: 'field'; readonly name: string }
  /** An element of a list. A negative index counts from the end. */
  | { readonly kind: 'index'; readonly index: number }
  | { readonly kind: 'all' }
  /** The elements of a list that have a value at `path` and, if there is a comparison, pass the comparison. */
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      readonly comparison?: Comparison;
      readonly literal?: Literal;
    };

/** The maximum length of a path, in characters. */
const maxPathLength = 1024;

const plainName = /\.((?:\\.|[^\\.[\]()'"*?@=<>!\s])+)/y;
const quotedName = /\[(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")\]/y;
const indexed = /\[(-?\d{1,9})\]/y;
const every = /\.\*|\[\*\]/y;
const filterStart = /\[\?\(\s*@/y;
const filterEnd = /\s*\)\]/y;
const compared =
  /\s*(==|!=|<=|>=|<|>)\s*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|(-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?|true|false|null))/y;

/**
 * A path into an object. It supports the part of JSONPath that columns need: `.spec.name`,
 * `.metadata.labels.example\.com/team`, `['a.b']`, `[0]`, `[-1]`, `[*]`, and filters such as `[?(@.type=="Ready")]`.
 * The path in a filter may have only fields and indexes. A path may have at most 1,024 characters.
 */
export class JsonPath {
  readonly #steps: readonly Step[];

  /**
   * Parses the text. @throws RangeError with a message that says what is wrong, or names the first character that
   * cannot be read
   */
  constructor(text: string) {
    if (!text.startsWith('.')) throw new RangeError('must start with a dot, such as .spec.name');
    if (text.length > maxPathLength) throw new RangeError(`must have at most ${maxPathLength} characters`);
    this.#steps = new PathReader(text).read();
  }

  /**
   * Returns the names of the fields before the first index, wildcard or filter of the path. Every value at the path is
   * the value of the last of these fields, or is inside this value.
   */
  get fields(): readonly string[] {
    const end = this.#steps.findIndex(({ kind }) => kind !== 'field');
    return this.#steps
      .slice(0, end === -1 ? undefined : end)
      .flatMap((step) => (step.kind === 'field' ? step.name : []));
  }

  /** Returns the first value at the path; undefined when there is none. */
  firstIn(value: unknown): unknown {
    return firstAt(this.#steps, value);
  }
}

class PathReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): readonly Step[] {
    const steps: Step[] = [];
    while (this.#at < this.#text.length) {
      const step = this.#all() ?? this.#place() ?? this.#filter();
      if (step === undefined) throw this.#error();
      steps.push(step);
    }
    return steps;
  }

  #all(): Step | undefined {
    return this.#take(every) === undefined ? undefined : { kind: 'all' };
  }

  /** Reads a step that leads to at most one value: a field or an index. */
  #place(): Step | undefined {
    const name = this.#take(plainName) ?? this.#take(quotedName);
    if (name !== undefined) return { kind: 'field', name: unescaped(name[1] ?? name[2] ?? '') };
    const found = this.#take(indexed);
    return found === undefined ? undefined : { kind: 'index', index: Number(found[1]) };
  }

  #filter(): Step | undefined {
    if (this.#take(filterStart) === undefined) return undefined;
    const path: Step[] = [];
    for (let step = this.#place(); step !== undefined; step = this.#place()) path.push(step);
    const found = this.#take(compared);
    if (this.#take(filterEnd) === undefined) throw this.#error();
    const comparison = comparisons.find((each) => each === found?.[1]);
    if (found === undefined || comparison === undefined) return { kind: 'filter', path };
    return { kind: 'filter', path, comparison, literal: literalOf(found) };
  }

  #take(token: RegExp): RegExpExecArray | undefined {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text);
    if (found === null) return undefined;
    this.#at = token.lastIndex;
    return found;
  }

  #error(): RangeError {
    return new RangeError(`cannot be read from character ${this.#at + 1} on`);
  }
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, '$1');
}

const words: Readonly<Record<string, Literal>> = { true: true, false: false, null: null };

function literalOf([, , single, double, bare = 'null']: RegExpExecArray): Literal {
  const quoted = single ?? double;
  if (quoted !== undefined) return unescaped(quoted);
  const word = words[bare];
  return word === undefined ? Number(bare) : word;
}

function firstAt(steps: readonly Step[], value: unknown): unknown {
  for (const found of valuesAt(steps, value, 0)) return found;
  return undefined;
}

// Yields the values in the order of a depth-first search. The generator is lazy: the search ends when the caller takes
// no further value.
function* valuesAt(steps: readonly Step[], value: unknown, from: number): Iterable<unknown> {
  const step = steps[from];
  if (step === undefined) yield value;
  else for (const child of childrenAt(step, value)) yield* valuesAt(steps, child, from + 1);
}

function childrenAt(step: Step, value: unknown): readonly unknown[] {
  if (value === null || typeof value !== 'object') return [];
  switch (step.kind) {
    case 'field':
      return !Array.isArray(value) && Object.hasOwn(value, step.name) ? [Reflect.get(value, step.name)] : [];
    case 'index': {
      const element: unknown = Array.isArray(value) ? value.at(step.index) : undefined;
      return element === undefined ? [] : [element];
    }
    case 'all':
      return Object.values(value);
    case 'filter':
      return Array.isArray(value) ? value.filter((element) => passes(step, element)) : [];
  }
}

function passes({ path, comparison, literal }: Extract<Step, { kind: 'filter' }>, element: unknown): boolean {
  const found = firstAt(path, element);
  if (found === undefined) return false;
  if (comparison === undefined) return true;
  if (comparison === '==') return found === literal;
  if (comparison === '!=') return found !== literal;
  return isOrdered(comparison, found, literal);
}

/**
 * Returns the result of the comparison. Numbers are compared only with numbers, and strings only with strings; for
 * other values, the result is false.
 */
function isOrdered(comparison: '<' | '<=' | '>' | '>=', left: unknown, right: unknown): boolean {
  const areNumbers = typeof left === 'number' && typeof right === 'number';
  const areTexts = typeof left === 'string' && typeof right === 'string';
  if (!areNumbers && !areTexts) return false;
  switch (comparison) {
    case '<':
      return left < right;
    case '<=':
      return left <= right;
    case '>':
      return left > right;
    case '>=':
      return left >= right;
  }
}
