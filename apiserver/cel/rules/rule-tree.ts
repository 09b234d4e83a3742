import type { JsonSchema } from '@homeostat/controller-runtime/api';
import type { ListIdentity } from '../values/cel-value.ts';
import { readerOf } from '../schema/json-values.ts';
import type { JsonReader } from '../schema/json-values.ts';
import { resolveSchema } from '../schema/schema-source.ts';
import type { Components } from '../schema/schema-source.ts';
import { typeOfSchema } from '../schema/schema-type.ts';
import { compileRule, isRuleProblem } from './compile-rule.ts';
import type { CelRule } from './compile-rule.ts';
import { validationsOf } from './schema-validations.ts';

/** The rules of one schema, and of the schemas below it that have rules. */
export interface RuleNode {
  readonly rules: readonly CelRule[];
  /**
   * The problems of rules that cannot be compiled. Every write of a value with this schema is refused with these
   * problems.
   */
  readonly broken: readonly string[];
  readonly read: JsonReader;
  /** The type of the schema, which messages show. */
  readonly type: string;
  readonly properties: ReadonlyMap<string, RuleNode>;
  readonly additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;
  /**
   * How the items of a list are matched with those of its former state. For a list with `x-kubernetes-list-type: map`,
   * `identity` is an array of its key fields. Only in such a list can the former state of an item be found.
   */
  readonly identity: ListIdentity;
}

/**
 * Compiles all rules of the schema of whole objects; undefined when it has none. `onProblem` is called for each rule
 * that cannot be compiled, with the path of the field and the reason.
 */
export function compileRuleTree(
  schema: JsonSchema,
  components: Components,
  onProblem: (field: string, detail: string) => void = () => undefined,
): RuleNode | undefined {
  return new TreeBuilder(components, onProblem).build(schema, '');
}

class TreeBuilder {
  readonly #components: Components;
  /**
   * The nodes of the visited schemas that have rules. A node may contain itself, because references can form a cycle.
   */
  readonly #known = new Map<JsonSchema, RuleNode | undefined>();

  readonly #onProblem: (field: string, detail: string) => void;

  constructor(components: Components, onProblem: (field: string, detail: string) => void) {
    this.#components = components;
    this.#onProblem = onProblem;
  }

  /**
   * Returns the node of a schema; undefined when neither the schema nor a schema below it has rules. `field` is the
   * path of the schema's values; empty for whole objects.
   */
  build(given: JsonSchema, field: string): RuleNode | undefined {
    const isRoot = field === '';
    if (!isRoot && this.#known.has(given)) return this.#known.get(given);
    if (!hasRules(given, this.#components, new Set())) return undefined;
    const schema = resolveSchema(given, this.#components);
    const properties = new Map<string, RuleNode>();
    const node: { -readonly [K in keyof RuleNode]: RuleNode[K] } = {
      ...this.#compile(schema, field),
      type: schema.type ?? '',
      properties,
      additional: undefined,
      items: undefined,
      identity: identityOf(schema),
    };
    this.#known.set(given, node);
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      const below = this.build(child, `${field}.${name}`);
      if (below !== undefined) properties.set(name, below);
    }
    if (typeof schema.additionalProperties === 'object')
      node.additional = this.build(schema.additionalProperties, `${field}.*`);
    if (schema.items !== undefined) node.items = this.build(schema.items, `${field}[*]`);
    return node;
  }

  #compile(schema: JsonSchema, field: string): Pick<RuleNode, 'rules' | 'broken' | 'read'> {
    const components = this.#components;
    const isResource = field === '' || schema['x-kubernetes-embedded-resource'] === true;
    const type = typeOfSchema(schema, components, isResource);
    const rules: CelRule[] = [];
    const broken: string[] = [];
    for (const rule of validationsOf(schema)) {
      const result = type === undefined ? undefined : compileRule(rule, type, { schema, components });
      if (result !== undefined && !isRuleProblem(result)) {
        rules.push(result);
        continue;
      }
      const detail = result?.detail ?? 'rules cannot read values of this schema';
      broken.push(detail);
      this.#onProblem(field.replace(/^\./, ''), detail);
    }
    return { rules, broken, read: readerOf(schema, components, isResource) };
  }
}

function hasRules(given: JsonSchema, components: Components, seen: Set<JsonSchema>): boolean {
  if (seen.has(given)) return false;
  seen.add(given);
  const schema = resolveSchema(given, components);
  if (validationsOf(schema).length > 0) return true;
  const { properties = {}, items, additionalProperties } = schema;
  const below = [...Object.values(properties), items, additionalProperties];
  return below.some((child) => typeof child === 'object' && hasRules(child, components, seen));
}

function identityOf(schema: JsonSchema): ListIdentity {
  const keys = schema['x-kubernetes-list-map-keys'];
  return schema['x-kubernetes-list-type'] === 'map' && keys !== undefined ? keys : 'position';
}
