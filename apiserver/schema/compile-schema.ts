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
 * The steps of a write that a schema defines: defaults, then pruning, then validation. Each step gets the result of the
 * previous one. Objects are plain JSON, not frozen, and at most 100 levels deep. For an object of 1 KB, the three steps
 * together take about 3 µs.
 */
export interface ObjectSchema {
  /**
   * Compiles the patterns. Returns a promise that resolves when all patterns are compiled; after that, returns
   * undefined. A validation before that has the same result, but may have to compile patterns first. Absent for a
   * schema whose patterns are already compiled.
   */
  readonly whenReady: (() => Promise<void> | undefined) | undefined;
  /**
   * Fills in defaults in place. A null counts as absent, unless the schema says `nullable`.
   * @throws ApiError RequestEntityTooLarge when the defaults alone are larger than an object may be.
   */
  applyDefaults(object: object): void;
  /**
   * Removes unknown fields in place, and returns at most 100 of their paths (`spec.items[1].b`), in the order of the
   * object. apiVersion, kind and the known fields of metadata stay even if the schema does not declare them.
   */
  prune(object: object): readonly string[];
  /**
   * Returns the violations, at most 100, with the wording of Kubernetes. Does not change the object. If the patterns
   * take more than 30 ms, the violation says that the object is too complex.
   */
  validate(object: object): readonly FieldCause[];
  /**
   * Returns true for an object without violations that is quick to validate. If it returns false, {@link judge}
   * decides.
   */
  accepts(object: object): boolean;
  /** Validates in steps, because patterns can take up to 0.4 s, even for a small object. */
  judge(object: object): Steps<readonly FieldCause[]>;
  /** The structure of objects that the schema describes. */
  readonly shape: Shape;
}

type SchemaOfModel = Pick<ModelDescriptor, 'components' | 'schemaName'>;

/** The compiled schemas, by their frozen components and their name. All servers of the process share them. */
const compiled = new WeakMap<object, Map<string, ObjectSchema>>();

/**
 * Compiles a model's schema at the first registration of the model. @throws Error with the reason why the schema of a
 * model in code cannot be served: a reference to a missing schema, a pattern that RE2 does not support or that is too
 * large for it, a default that contains itself or adds too many values, or too many combinations of branches.
 */
export function compileSchema(model: SchemaOfModel, origin: SchemaOrigin = 'code'): ObjectSchema {
  const { components, schemaName } = model;
  // A descriptor's components are deeply frozen. Other components may change later, so their schema is not cached.
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
  // Only the defaults of a schema in code are checked here. The defaults in a CustomResourceDefinition were checked
  // when the definition was written. They cannot contain themselves, because the definition has no `$ref`.
  if (origin === 'code') checkDefaults(shapes.all());
  const filler = new DefaultFiller(shape);
  const pruner = new Pruner(shape);
  const validator = new Validator({ root, components, origin });
  return Object.freeze<ObjectSchema>({
    // Each write calls the next four functions, so they are passed without a wrapper, which would be a second call.
    whenReady: validator.whenReady,
    applyDefaults: filler.fill,
    prune: pruner.prune,
    accepts: validator.accepts,
    validate: (object) => validator.violationsAtOnce(object),
    judge: (object) => validator.judge(object),
    shape,
  });
}

/**
 * Adds apiVersion, kind and metadata to a schema with `additionalProperties: false`, so that the schema accepts the
 * fields that every object has.
 */
function withEnvelope(schema: JsonSchema): JsonSchema {
  if (schema.additionalProperties !== false) return schema;
  return { ...schema, properties: { apiVersion: {}, kind: {}, metadata: {}, ...schema.properties } };
}
