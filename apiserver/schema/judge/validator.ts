import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { Explainer, tooComplex } from './explainer.ts';
import { inTurns } from '../../turns/in-turns.ts';
import type { MeasuredWork } from '../../turns/in-turns.ts';
import { allSteps } from '../../turns/steps.ts';
import type { Steps } from '../../turns/steps.ts';
import { InterpretedGate } from './interpreted-gate.ts';
import { LinearPatterns } from './linear-pattern.ts';
import { maxStepsAtOnce, PatternMatches } from './pattern-matches.ts';
import { SchemaNodes } from './schema-node.ts';
import { allSchemas, isLargeSchema } from './schema-walk.ts';
import { compileGate } from './value-gate.ts';
import type { ValueGate } from './value-gate.ts';

/**
 * The author of a schema. `code`: a plugin or the server. `client`: a client that has declared a kind over the API. The
 * schema of a client was checked when its definition was written, and no code is generated from it.
 */
export type SchemaOrigin = 'code' | 'client';

export interface ValidatorParts {
  readonly root: JsonSchema;
  /** The schemas that references point to, by name. */
  readonly components: Readonly<Record<string, JsonSchema>>;
  readonly origin: SchemaOrigin;
}

const nothing: readonly FieldCause[] = Object.freeze([]);

/**
 * The count at which a small schema is compiled: the values before the hundredth are validated by interpretation. To
 * compile a schema takes as long as to interpret some thousand values, and many processes see only a few values of a
 * kind.
 */
export const valuesBeforeCode = 100;

/**
 * Validates values with a schema. A small schema of the origin `code` is compiled to code (ajv) at the hundredth value,
 * or earlier if a value takes too much work to interpret. The compilation takes milliseconds. A large schema, and every
 * schema of a client, is interpreted, and only its patterns are compiled.
 */
export class Validator {
  readonly #patterns = new LinearPatterns();
  #isValid: ValueGate;
  readonly #explainer: Explainer;
  /**
   * False for a small schema that has the origin `code` and no patterns: its validation matches no patterns, so the
   * work of matches need not be limited. True for every other schema.
   */
  readonly #hasPatterns: boolean;

  /**
   * Checks a small schema of the origin `code`, which a plugin or the server wrote. Does not check large schemas or
   * schemas of clients. @throws Error when a checked schema refers to a missing schema, or has a pattern that RE2 does
   * not support
   */
  constructor({ root, components, origin }: ValidatorParts) {
    const patterns = this.#patterns;
    const schemas = Object.values(components).includes(root) ? components : { ...components, root };
    const nodes = new SchemaNodes(components);
    const node = nodes.of(root);
    this.#explainer = new Explainer(node, patterns);
    const gate = new InterpretedGate(node, patterns);
    if (origin === 'code' && !isLargeSchema(schemas)) {
      const parts = [...allSchemas(schemas)];
      for (const { $ref } of parts) if ($ref !== undefined) nodes.referenced($ref);
      const texts = parts.flatMap(({ pattern }) => pattern ?? []);
      for (const text of texts) patterns.get(text);
      this.#hasPatterns = texts.length > 0;
      this.#isValid = this.#untilCompiled(gate, () => compileGate(root, { components, patterns }));
      return;
    }
    this.#hasPatterns = true;
    this.#isValid = (value) => gate.accepts(value);
    const preparation = new Preparation(schemas, patterns);
    this.whenReady = () => preparation.whenDone();
  }

  /**
   * Interprets the first values, then compiles the schema. Compiles it earlier if a value takes too much work to
   * interpret.
   */
  #untilCompiled(gate: InterpretedGate, compile: () => ValueGate): ValueGate {
    let count = 0;
    return (value) => {
      count += 1;
      if (count < valuesBeforeCode) {
        if (gate.accepts(value)) return true;
        if (!gate.gaveUp) return false;
      }
      this.#isValid = compile();
      return this.#isValid(value);
    };
  }

  /**
   * Compiles all patterns. Returns a promise that resolves when they are compiled; after that, returns undefined. Until
   * then, each pattern is compiled when it is first used. Absent for a small schema of the origin `code`: the
   * constructor compiles its patterns.
   */
  readonly whenReady?: () => Promise<void> | undefined;

  /** Returns the violations, at most 100, with the wording of Kubernetes. */
  violations(value: unknown): readonly FieldCause[] {
    return allSteps(this.judge(value));
  }

  /**
   * Returns the violations like {@link violations}, but in limited time, for callers that cannot pause. A value whose
   * matches take too long, because of long texts and patterns of many states, counts as too complex.
   */
  violationsAtOnce(value: unknown): readonly FieldCause[] {
    return allSteps(this.#judgeBy(new PatternMatches(this.#patterns, maxStepsAtOnce), value));
  }

  /**
   * Returns true when the value has no violation, and no match of a pattern takes long. False does not mean that the
   * value is refused: {@link judge} then decides.
   */
  readonly accepts = (value: unknown): boolean => {
    if (!this.#hasPatterns) return this.#isValid(value);
    return new PatternMatches(this.#patterns).decideAtOnce(() => this.#isValid(value)) === true;
  };

  /** Returns the violations, in steps, because matching patterns can take up to 0.4 s. */
  judge(value: unknown): Steps<readonly FieldCause[]> {
    return this.#judgeBy(new PatternMatches(this.#patterns), value);
  }

  *#judgeBy(matches: PatternMatches, value: unknown): Steps<readonly FieldCause[]> {
    const isValid = yield* matches.decide(() => this.#isValid(value));
    if (isValid === true) return nothing;
    const causes = isValid === false ? yield* matches.decide(() => this.#explainer.explain(value)) : undefined;
    if (causes === undefined) return tooComplex;
    // `#explainer` finds a violation in each value that `#isValid` refuses (a test with random schemas checks this). If
    // it finds none, this throws, because a refused value must not be accepted.
    if (causes.length === 0) throw new Error('a schema has refused a value, but no violation was found');
    return causes;
  }
}

/** Compiles the patterns of a schema before the schema is first used, a few patterns at a time. */
class Preparation {
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  readonly #patterns: LinearPatterns;
  #running: Promise<void> | undefined;
  #isDone = false;

  constructor(schemas: Readonly<Record<string, JsonSchema>>, patterns: LinearPatterns) {
    this.#schemas = schemas;
    this.#patterns = patterns;
  }

  whenDone(): Promise<void> | undefined {
    return this.#isDone ? undefined : (this.#running ??= this.#run());
  }

  async #run(): Promise<void> {
    await inTurns(compilePatterns(this.#schemas, this.#patterns), workPerTurn);
    this.#isDone = true;
  }
}

/**
 * A turn of the event loop compiles patterns until they have this many states in total, which takes about 10 ms. Each
 * schema or subschema without a pattern counts as a tenth of a state.
 */
const workPerTurn = 2000;

function* compilePatterns(schemas: Readonly<Record<string, JsonSchema>>, patterns: LinearPatterns): MeasuredWork<void> {
  for (const { pattern } of allSchemas(schemas)) yield pattern === undefined ? 0.1 : patterns.prepare(pattern);
}
