import { LinearPatterns } from '../schema/judge/linear-pattern.ts';
import { estimateStates } from '../schema/pattern-size.ts';
import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/**
 * The deepest nesting, since the validation of values recurses. An object has 64 levels at most, and so has a
 * definition.
 */
const maxDepth = 100;

/** The maximum number of schemas of a definition, all versions together; the largest in the wild have some 10,000. */
const maxSchemas = 100_000;

/**
 * The maximum number of properties of one schema: the validation of an object visits all of them, which takes 20 ms.
 */
const maxProperties = 5000;

/**
 * The maximum number of schemas in allOf, anyOf, oneOf and not that apply to one value, since each of them checks each
 * value.
 */
const maxBranches = 2000;

/**
 * The maximum number of states of one pattern: 20 ms to compile. The longest repetition that RE2 allows, `.{1,1000}`,
 * has 2,000.
 */
const maxPatternStates = 5000;

/** The maximum number of states of the different patterns of a definition: half a second to compile, in slices. */
const maxStates = 100_000;

interface Visit {
  readonly schema: DefinitionSchema;
  readonly field: string;
  readonly depth: number;
  readonly branches: { count: number };
}

/** Counts what the schemas of one definition cost the writes of its objects. */
export class SchemaCost {
  readonly patterns: LinearPatterns = new LinearPatterns();
  /** The error of each pattern; undefined for a valid one. */
  readonly #rules = new Map<string, string | undefined>();
  #schemas = 0;
  #states = 0;

  /** Counts a schema. Returns false, and adds a violation that names the place, once there are too many. */
  addSchema({ schema, field, depth, branches }: Visit, violations: DefinitionViolations): boolean {
    this.#schemas += 1;
    branches.count += branchesOf(schema);
    const rule = this.#brokenLimit(depth, branches.count);
    if (rule !== undefined) violations.forbidden(field, rule);
    const properties = Object.keys(schema.properties ?? {}).length;
    if (properties > maxProperties) violations.tooMany(`${field}.properties`, properties, maxProperties);
    return rule === undefined && properties <= maxProperties;
  }

  #brokenLimit(depth: number, branches: number): string | undefined {
    if (depth > maxDepth) return `schemas nest at most ${maxDepth} levels`;
    if (this.#schemas > maxSchemas) return `a definition has at most ${maxSchemas} schemas`;
    if (branches > maxBranches)
      return `a value is judged by at most ${maxBranches} schemas in allOf, anyOf, oneOf and not`;
    return undefined;
  }

  /** Compiles a pattern, unless it is too large; returns the work that it took. */
  checkPattern(field: string, pattern: unknown, violations: DefinitionViolations): number {
    if (typeof pattern !== 'string') return 0;
    const isNew = !this.#rules.has(pattern);
    if (isNew) this.#rules.set(pattern, this.#brokenRule(pattern));
    const rule = this.#rules.get(pattern);
    if (rule !== undefined) violations.invalid(`${field}.pattern`, shown(pattern), rule);
    return isNew ? Math.min(estimateStates(pattern), maxPatternStates) : 0;
  }

  #brokenRule(pattern: string): string | undefined {
    const states = estimateStates(pattern);
    this.#states += states;
    if (states > maxPatternStates) return `must be smaller: it unfolds into more than ${maxPatternStates} states`;
    if (this.#states > maxStates) return `the patterns of a definition unfold into at most ${maxStates} states`;
    const problem = this.patterns.problemOf(pattern);
    return problem === undefined ? undefined : `must be a valid regular expression, but isn't: ${problem}`;
  }
}

function branchesOf({ allOf, anyOf, oneOf, not }: DefinitionSchema): number {
  return [allOf, anyOf, oneOf].reduce((sum, branches = []) => sum + branches.length, not === undefined ? 0 : 1);
}

/** Shortens a pattern so that the error still fits into the message. */
function shown(pattern: string): string {
  return pattern.length <= 64 ? pattern : `${pattern.slice(0, 64)}…`;
}
