import type { FieldCause, JsonSchema } from '@homeostat/controller-runtime/api';
import { DefaultSizes } from '../schema/check-defaults.ts';
import { Explainer, tooComplex } from '../schema/judge/explainer.ts';
import type { LinearPatterns } from '../schema/judge/linear-pattern.ts';
import { PatternMatches } from '../schema/judge/pattern-matches.ts';
import { Pruner } from '../schema/pruner.ts';
import { SchemaNodes } from '../schema/judge/schema-node.ts';
import type { ShapeBuilder } from '../schema/shape.ts';
import type { MeasuredWork } from '../turns/in-turns.ts';
import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './definition-violations.ts';

/** More units of work than one turn of the event loop may do, so that the next step runs in another turn. */
const wholeTurn = Infinity;

/** Checks the defaults in the schema of one version. */
export class DefaultCheck {
  readonly #shapes: ShapeBuilder;
  readonly #patterns: LinearPatterns;
  readonly #nodes = new SchemaNodes({});
  readonly #sizes = new DefaultSizes();
  /**
   * The budget for the matching of patterns. All defaults of the schema share it; it is as large as the budget of one
   * object.
   */
  readonly #matches: PatternMatches;

  constructor(shapes: ShapeBuilder, patterns: LinearPatterns) {
    this.#shapes = shapes;
    this.#patterns = patterns;
    this.#matches = new PatternMatches(patterns);
  }

  /**
   * Checks that a default is valid by its schema, and has no field that would be pruned. Also checks that the default
   * adds at most 10,000 values to an object, including the defaults of fields inside it. Yields the work done.
   */
  *check(field: string, schema: DefinitionSchema, violations: DefinitionViolations): MeasuredWork<void> {
    const text = JSON.stringify(schema.default);
    yield 3 + text.length / 50;
    try {
      this.#sizes.ofDefault(this.#shapes.shapeOf([{ schema, isCertain: true }]));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      violations.forbidden(field, error.message);
      return;
    }
    const object: object = { value: JSON.parse(text) as unknown };
    const root = { type: 'object', properties: { value: schema } } as const;
    // Without `keepsMetadata`, the pruner removes unknown fields from the metadata of embedded resources. A default may
    // have such fields.
    const pruner = new Pruner(this.#shapes.root(root), { keepsMetadata: true });
    if (pruner.prune(object).length > 0) violations.invalid(field, schema.default, 'must not have unknown fields');
    for (const { field: place = '', message, reason } of yield* this.#explain(root, object))
      violations.add({ field: `${field}${place.slice('value'.length)}`, message, reason });
  }

  *#explain(root: JsonSchema, object: object): MeasuredWork<readonly FieldCause[]> {
    const explainer = new Explainer(this.#nodes.of(root), this.#patterns);
    const steps = this.#matches.decide(() => explainer.explain(object));
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value ?? tooComplex;
      yield wholeTurn;
    }
  }
}
