import type { FieldCause, JsonSchema, ModelDescriptor } from '@homeostat/controller-runtime/api';
import type { Steps } from '../turns/steps.ts';
import { checkDefaults } from './check-defaults.ts';
import { DefaultFiller } from './defaults.ts';
import { Pruner } from './pruner.ts';
import { ShapeBuilder } from './shape.ts';
import type { Shape } from './shape.ts';
import { Validator } from './judge/validator.ts';
import type { SchemaOrigin } from './judge/validator.ts';

/**
 * The steps of a write that a schema defines: defaults, then pruning, then validation, each on the result of the one before. Objects
 * are plain JSON, not frozen, and at most 100 levels deep. The three together take about 3 µs for an object of 1 KB.
 */
export interface ObjectSchema {
  /**
   * Resolves when the patterns are compiled; undefined once they are. Validation before that is correct, too, but may take as
   * long as it takes to compile the patterns. Absent for a schema whose patterns are compiled already.
   */
  readonly whenReady: (() => Promise<void> | undefined) | undefined;
  /**
   * Fills in defaults in place; null counts as absent where the schema does not say `nullable`.
   * @throws ApiError RequestEntityTooLarge when the defaults alone are larger than an object may be.
   */
  applyDefaults(object: object): void;
  /**
   * Removes unknown fields in place and returns their paths (`spec.items[1].b`) in the order of the object, at most 100.
   * apiVersion, kind and the known fields of metadata stay without being declared.
   */
  prune(object: object): readonly string[];
  /**
   * Returns every violation, at most 100, in Kubernetes' words; does not change the object. An object counts as too
   * complex if matching its patterns takes more than 30 ms.
   */
  validate(object: object): readonly FieldCause[];
  /** True for an object without a violation that can be validated at once. Where it is false, {@link judge} decides. */
  accepts(object: object): boolean;
  /** Validates in steps, since patterns can take up to 0.4 s, however small the object is. */
  judge(object: object): Steps<readonly FieldCause[]>;
  /** The structure of objects by the schema. */
  readonly shape: Shape;
}

type SchemaOfModel = Pick<ModelDescriptor, 'components' | 'schemaName'>;

/** Compiled schemas by their frozen components and their name, shared by all servers of the process. */
const compiled = new WeakMap<object, Map<string, ObjectSchema>>();

/**
 * Prepares a model's schema, at its first registration.
 * @throws Error that says why an author's schema cannot be served: a reference to nothing, a pattern that RE2 cannot
 * hold, a default that contains itself.
 */
export function compileSchema(model: SchemaOfModel, origin: SchemaOrigin = 'code'): ObjectSchema {
  const { components, schemaName } = model;
  // Descriptors are deeply frozen; a schema that is not frozen may have changed since.
  if (!Object.isFrozen(components)) return prepareSchema(model, origin);
  const known = compiled.get(components) ?? new Map<string, ObjectSchema>();
  compiled.set(components, known);
  const schema = known.get(schemaName) ?? prepareSchema(model, origin);
  known.set(schemaName, schema);
  return schema;
}

function prepareSchema({ components, schemaName }: SchemaOfModel, origin: SchemaOrigin): ObjectSchema {
  const declared = Object.hasOwn(components, schemaName) ? components[schemaName] : undefined;
  if (declared === undefined) throw new ReferenceError(`there is no schema named "${schemaName}"`);
  const root = withEnvelope(declared);
  const shapes = new ShapeBuilder(components);
  const shape = shapes.root(root);
  // The defaults of a client's schema were checked with its definition, and have no references that could lead back to them.
  if (origin === 'code') checkDefaults(shapes.all());
  const filler = new DefaultFiller(shape);
  const pruner = new Pruner(shape);
  const validator = new Validator({ root, components, origin });
  return Object.freeze<ObjectSchema>({
    // These four are called at each write.
    whenReady: validator.whenReady,
    applyDefaults: filler.fill,
    prune: pruner.prune,
    accepts: validator.accepts,
    validate: (object) => validator.violationsAtOnce(object),
    judge: (object) => validator.judge(object),
    shape,
  });
}

/** Adds the envelope, so that closed schemas do not refuse the fields that every object has. */
function withEnvelope(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties !== false) return schema;
  return { ...schema, properties: { apiVersion: {}, kind: {}, metadata: {}, ...schema.properties } };
}
