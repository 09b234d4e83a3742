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
 * The author of a schema. `code`: that of a plugin, or of the service. `client`: a client that declares a kind over the
 * API; such a schema was checked when its definition was written, and no code is generated from it.
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
 * The number of values that are interpreted before a small schema is compiled. Compiling takes as long as interpreting
 * some thousand values, and many processes see only a few values of a kind.
 */
export const valuesBeforeCode = 100;

/**
 * Validates values by a schema. A small schema of an author is compiled to code (ajv) at its hundredth value, which
 * takes milliseconds. A large schema, and every schema of a client, is interpreted; only its patterns must be compiled.
 */
export class Validator {
  readonly #patterns = new LinearPatterns();
  #isValid: ValueGate;
  readonly #explainer: Explainer;
  /** False when there are no patterns, so that no matches need to be counted. */
  readonly #hasPatterns: boolean;

  /** @throws Error for a small schema of an author that refers to nothing, or has a pattern that RE2 cannot hold. */
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
   * Interprets the first values, then compiles the schema. It is compiled at once for a value that takes too much work
   * to interpret.
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
   * Resolves when the patterns are compiled; undefined once they are. Before that, each pattern is compiled when it is first
   * used. Absent for a small schema of an author.
   */
  readonly whenReady?: () => Promise<void> | undefined;

  /** Returns every violation, at most 100, in Kubernetes' words. */
  violations(value: unknown): readonly FieldCause[] {
    return allSteps(this.judge(value));
  }

  /**
   * Returns the violations like {@link violations}, for callers that cannot pause: a value with long texts and patterns
   * of many states counts as too complex.
   */
  violationsAtOnce(value: unknown): readonly FieldCause[] {
    return allSteps(this.#judgeBy(new PatternMatches(this.#patterns, maxStepsAtOnce), value));
  }

  /** True when the value has no violation, and no match of a pattern takes long; otherwise {@link judge} decides. */
  readonly accepts = (value: unknown): boolean => {
    if (!this.#hasPatterns) return this.#isValid(value);
    return new PatternMatches(this.#patterns).decideAtOnce(() => this.#isValid(value)) === true;
  };

  /** Returns the violations in steps, since the matches of patterns can take up to 0.4 s. */
  judge(value: unknown): Steps<readonly FieldCause[]> {
    return this.#judgeBy(new PatternMatches(this.#patterns), value);
  }

  *#judgeBy(matches: PatternMatches, value: unknown): Steps<readonly FieldCause[]> {
    const isValid = yield* matches.decide(() => this.#isValid(value));
    if (isValid === true) return nothing;
    const causes = isValid === false ? yield* matches.decide(() => this.#explainer.explain(value)) : undefined;
    if (causes === undefined) return tooComplex;
    // The two never disagree (a test with random schemas checks it); if they did, a refused value must not pass.
    if (causes.length === 0) throw new Error('a value was refused by its schema without a cause');
    return causes;
  }
}

/** Compiles the patterns of a schema before its first use, a few at a time. */
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

/** Schemas visited, and states of patterns compiled, in one turn: 10 ms. */
const workPerTurn = 2000;

function* compilePatterns(schemas: Readonly<Record<string, JsonSchema>>, patterns: LinearPatterns): MeasuredWork<void> {
  for (const { pattern } of allSchemas(schemas)) yield pattern === undefined ? 0.1 : patterns.prepare(pattern);
}
