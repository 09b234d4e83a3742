import { Explainer } from '../schema/explainer.ts';
import { LinearPatterns } from '../schema/linear-pattern.ts';
import { Pruner } from '../schema/pruner.ts';
import { ShapeBuilder } from '../schema/shape.ts';
import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './violations.ts';

/** A default is valid by the schema that it stands in, and has no field that would be pruned. */
export function checkDefault(field: string, schema: DefinitionSchema, violations: DefinitionViolations): void {
  const object = { value: structuredClone(schema.default) };
  const root = { type: 'object', properties: { value: schema } } as const;
  try {
    const pruned = new Pruner(new ShapeBuilder({}).root(root)).prune(object);
    if (pruned.some((path) => !isMetadata(path)))
      violations.invalid(field, schema.default, 'must not have unknown fields');
    const causes = new Explainer({ components: {}, patterns: new LinearPatterns() }).explain(root, object);
    for (const { field: place = '', message, reason } of causes)
      violations.add({ field: `${field}${place.slice('value'.length)}`, message, reason });
  } catch (error) {
    // A schema below that is none has a violation of its own.
    violations.invalid(field, schema.default, `cannot be judged: ${error instanceof Error ? error.message : 'failed'}`);
  }
}

/** Metadata of an embedded resource is pruned by its names, which a default may have more of. */
function isMetadata(path: string): boolean {
  return path.split('.').includes('metadata');
}
