import type { FieldCause, JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { checkDefaults } from './check-defaults.ts';
import { fillDefaults } from './defaults.ts';
import { Explainer } from './explainer.ts';
import { LinearPatterns } from './linear-pattern.ts';
import { Pruner } from './pruner.ts';
import { ShapeBuilder } from './shape.ts';
import type { Shape } from './shape.ts';
import { compileGate } from './value-gate.ts';

/**
 * The schema's part of a write: defaults, then pruning, then validation, each on the outcome of the one before. Objects
 * are plain JSON, not frozen, and at most 100 levels deep. The three together take about 3 µs for an object of 1 KB.
 */
export interface ObjectSchema {
  /** Fills in defaults in place; null counts as absent where the schema does not say `nullable`. */
  applyDefaults(object: object): void;
  /**
   * Removes unknown fields in place and answers their paths (`spec.items[1].b`) in the order of the object, at most 100.
   * apiVersion, kind and the known fields of metadata stay without being declared.
   */
  prune(object: object): readonly string[];
  /** Every violation, at most 100, in Kubernetes' words; the object itself is not changed. */
  validate(object: object): readonly FieldCause[];
  /** What it says of an object's structure. */
  readonly shape: Shape;
}

type SchemaOfModel = Pick<ModelDescriptor, 'components' | 'schemaName'>;

const nothing: readonly FieldCause[] = Object.freeze([]);

/** Of frozen components, by these and the schema's name: each takes milliseconds, and a process may have many servers. */
const compiled = new WeakMap<object, Map<string, ObjectSchema>>();

/**
 * Compiles a model's schema, at its first registration.
 * @throws Error that says why the schema cannot be served: a reference to nothing, a pattern that RE2 cannot hold, a
 * default without an end.
 */
export function compileSchema(model: SchemaOfModel): ObjectSchema {
  const { components, schemaName } = model;
  // Descriptors are frozen with all that is in them; what is not might be another schema by now.
  if (!Object.isFrozen(components)) return compileAnew(model);
  const known = compiled.get(components) ?? new Map<string, ObjectSchema>();
  compiled.set(components, known);
  const schema = known.get(schemaName) ?? compileAnew(model);
  known.set(schemaName, schema);
  return schema;
}

function compileAnew({ components, schemaName }: SchemaOfModel): ObjectSchema {
  const declared = Object.hasOwn(components, schemaName) ? components[schemaName] : undefined;
  if (declared === undefined) throw new ReferenceError(`there is no schema named "${schemaName}"`);
  const root = withEnvelope(declared);
  const shapes = new ShapeBuilder(components);
  const shape = shapes.root(root);
  checkDefaults(shapes.all);
  const parts = { components, patterns: new LinearPatterns() };
  const isValid = compileGate(root, parts);
  const pruner = new Pruner(shape);
  const explainer = new Explainer(parts);
  return Object.freeze({
    applyDefaults: (object: object): void => fillDefaults(object, shape),
    prune: (object: object): readonly string[] => pruner.prune(object),
    validate(object: object): readonly FieldCause[] {
      if (isValid(object)) return nothing;
      const causes = explainer.explain(root, object);
      // The two never disagree (a test of random schemas says so); if they did, a refused object must not pass.
      if (causes.length === 0) throw new Error(`an object was refused without a cause by the schema "${schemaName}"`);
      return causes;
    },
    shape,
  });
}

/** Closed schemas do not refuse what every object has. */
function withEnvelope(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties !== false) return schema;
  return { ...schema, properties: { apiVersion: {}, kind: {}, metadata: {}, ...schema.properties } };
}
