import { LinearPatterns } from '../schema/judge/linear-pattern.ts';
import { estimateStates } from '../schema/pattern-size.ts';
import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/**
 * The maximum depth of nested schemas, since the validation of values is recursive. In practice the depth is lower: an
 * object, and so a definition, has at most 64 levels.
 */
const maxDepth = 100;

/**
 * The maximum number of schemas in all versions of a definition together, including nested schemas. The largest
 * published definitions have about 10,000.
 */
const maxSchemas = 100_000;

/**
 * The maximum number of properties of one schema. The validation of an object visits all properties; with this number
 * of properties, it takes 20 ms.
 */
const maxProperties = 5000;

/**
 * The maximum number of schemas in allOf, anyOf, oneOf and not that apply to one value, since each of them is
 * evaluated.
 */
const maxBranches = 2000;

/**
 * The maximum number of states of one pattern. A pattern of this size takes 25 ms to compile. The longest repetition
 * that RE2 allows, `.{1,1000}`, has 2,000 states.
 */
const maxPatternStates = 5000;

/**
 * The maximum number of states that all different patterns of a definition have together. Patterns with this number of
 * states take half a second to compile, in several steps.
 */
const maxStates = 100_000;

interface Visit {
  readonly schema: DefinitionSchema;
  readonly field: string;
  readonly depth: number;
  readonly branches: { count: number };
}

/**
 * Counts the parts of the schemas of one definition that make writes of its objects slow, and compares them with the
 * limits.
 */
export class SchemaCost {
  readonly patterns: LinearPatterns = new LinearPatterns();
  /** The error of each pattern; undefined for a valid pattern. */
  readonly #rules = new Map<string, string | undefined>();
  #schemas = 0;
  #states = 0;

  /** Counts a schema. When a limit is exceeded, adds a violation with the path of the schema, and returns false. */
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
      return `at most ${maxBranches} schemas in allOf, anyOf, oneOf and not may apply to one value`;
    return undefined;
  }

  /**
   * Compiles a pattern, unless it is too large, and reports a violation if it is too large or invalid. Returns the
   * estimated number of its states, as a measure of the work; 0 for a pattern that was checked before.
   */
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
    if (states > maxPatternStates)
      return `must be smaller: the automaton of the pattern has more than ${maxPatternStates} states`;
    if (this.#states > maxStates)
      return `the automata of all patterns of a definition may have at most ${maxStates} states together`;
    const problem = this.patterns.problemOf(pattern);
    return problem === undefined ? undefined : `must be a valid regular expression, but isn't: ${problem}`;
  }
}

function branchesOf({ allOf, anyOf, oneOf, not }: DefinitionSchema): number {
  return [allOf, anyOf, oneOf].reduce((sum, branches = []) => sum + branches.length, not === undefined ? 0 : 1);
}

/** Shortens a pattern, so that the message also has space for the error. */
function shown(pattern: string): string {
  return pattern.length <= 64 ? pattern : `${pattern.slice(0, 64)}…`;
}
