import { ShapeBuilder } from '../schema/shape.ts';
import type { MeasuredWork } from '../turns/in-turns.ts';
import { checkCompleteness } from './check-completeness.ts';
import { DefaultCheck } from './check-default.ts';
import { checkLists } from './check-lists.ts';
import type { DefinitionSchema } from './definition.ts';
import type { SchemaCost } from './schema-cost.ts';
import type { DefinitionViolations } from './definition-violations.ts';

const types: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/**
 * Keywords that are not allowed below allOf, anyOf, oneOf and not. They describe the value itself, and only the outer
 * schema may do this.
 */
const structuralKeywords = [
  ['description', 'empty'],
  ['title', 'empty'],
  ['default', 'undefined'],
  ['nullable', 'false'],
  ['additionalProperties', 'undefined'],
  ['x-kubernetes-preserve-unknown-fields', 'false'],
  ['x-kubernetes-embedded-resource', 'false'],
  ['x-kubernetes-int-or-string', 'false'],
  ['x-kubernetes-list-type', 'undefined'],
  ['x-kubernetes-list-map-keys', 'empty'],
  ['x-kubernetes-map-type', 'undefined'],
  ['x-kubernetes-validations', 'empty'],
] as const;

/** The positions of schemas that need a type, as messages name them. */
const needsType = {
  root: 'at the root',
  field: 'for specified object fields',
  item: 'for specified array items',
  branch: '',
} as const;

/** Keywords of OpenAPI that schemas of definitions may not have. */
const unsupportedKeywords = [
  'id',
  '$schema',
  '$ref',
  'definitions',
  'dependencies',
  'patternProperties',
  'additionalItems',
] as const;

/** The position of a schema in the definition. */
interface Place {
  readonly field: string;
  readonly depth: number;
  /** `root` is the schema of the whole object, `branch` a schema below allOf, anyOf, oneOf or not. */
  readonly level: 'root' | 'field' | 'item' | 'branch';
  /** True for a branch that may have a `type`: one of the two branches of {@link isIntOrString}. */
  readonly mayHaveType?: boolean;
  /** True for the first member of `allOf` in a schema that is not itself below allOf, anyOf, oneOf or not. */
  readonly isFirstOfAll?: boolean;
  /** True for the apiVersion, kind and metadata of a resource, and for all schemas below them. */
  readonly isMetadata: boolean;
  /**
   * Counts the members of allOf, anyOf, oneOf and not in one schema, and in all schemas below these members. All these
   * schemas share the counter.
   */
  readonly branches: { count: number };
}

interface Visit extends Place {
  readonly schema: DefinitionSchema;
}

/**
 * Checks that a schema is structural (every value has a type, outside of allOf, anyOf, oneOf and not), and that it is
 * within the limits of {@link SchemaCost}. Yields the work done, such as 1 for a schema, and the number of states for a
 * pattern. Stops once there are too many schemas, levels or properties.
 */
export function* checkStructuralSchema(
  field: string,
  schema: DefinitionSchema,
  { violations, cost }: { readonly violations: DefinitionViolations; readonly cost: SchemaCost },
): MeasuredWork<void> {
  yield* new SchemaCheck(violations, cost).run({
    schema,
    field,
    depth: 0,
    level: 'root',
    isMetadata: false,
    branches: { count: 0 },
  });
}

class SchemaCheck {
  readonly #violations: DefinitionViolations;
  readonly #cost: SchemaCost;
  /**
   * True once a schema has an unsupported keyword. Such a keyword may change the meaning of all other keywords, so the
   * defaults are not checked against the schema.
   */
  #isUnsupported = false;
  /** The fields whose schemas have branches: `allOf`, `anyOf`, `oneOf` or `not`. */
  readonly #composed: Visit[] = [];
  readonly #defaults: (readonly [field: string, schema: DefinitionSchema])[] = [];
  /**
   * The schemas that are not visited yet. This list replaces recursion, since a client's schema may be arbitrarily deep
   * and wide.
   */
  readonly #open: Visit[] = [];

  constructor(violations: DefinitionViolations, cost: SchemaCost) {
    this.#violations = violations;
    this.#cost = cost;
  }

  *run(root: Visit): MeasuredWork<void> {
    this.#open.push(root);
    for (let visit = this.#open.pop(); visit !== undefined; visit = this.#open.pop()) {
      if (!this.#cost.addSchema(visit, this.#violations)) return;
      yield 1;
      yield this.#cost.checkPattern(visit.field, visit.schema.pattern, this.#violations);
      this.#visit(visit);
    }
    for (const visit of this.#composed) {
      checkCompleteness(visit.field, visit.schema, this.#violations);
      yield visit.branches.count;
    }
    if (this.#isUnsupported) return;
    // Defaults are checked after the patterns, because the check matches defaults against patterns. Inner defaults are
    // checked first, because outer defaults include them.
    const check = new DefaultCheck(new ShapeBuilder({}), this.#cost.patterns);
    for (const [field, schema] of this.#defaults.reverse()) yield* check.check(field, schema, this.#violations);
  }

  #visit(visit: Visit): void {
    this.#checkKeywords(visit.schema, visit.field);
    if (visit.level === 'branch') this.#checkBranch(visit.schema, visit);
    else {
      this.#checkStructure(visit.schema, visit);
      if (hasBranches(visit.schema)) this.#composed.push(visit);
    }
    const children = childrenOf(visit);
    if (visit.level === 'root') this.#checkRootMetadata(visit);
    // The children are added in reverse order, so that the first child is visited first.
    for (const child of children.toReversed()) this.#open.push(child);
  }

  #checkKeywords(schema: DefinitionSchema, field: string): void {
    const violations = this.#violations;
    const { type, uniqueItems, properties } = schema;
    for (const keyword of unsupportedKeywords)
      if (Object.hasOwn(schema, keyword)) {
        violations.forbidden(`${field}.${keyword}`, `${keyword} is not supported`);
        this.#isUnsupported = true;
      }
    if (type !== undefined && !types.includes(type)) violations.notSupported(`${field}.type`, type, types);
    if (uniqueItems === true)
      violations.forbidden(
        `${field}.uniqueItems`,
        'uniqueItems cannot be set to true; use x-kubernetes-list-type: set',
      );
    this.#checkAdditional(schema, field);
    if (schema['x-kubernetes-preserve-unknown-fields'] === false)
      violations.invalid(`${field}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined');
    if (properties !== undefined && Object.hasOwn(properties, '__proto__'))
      violations.forbidden(`${field}.properties[__proto__]`, 'is not the name of a field');
  }

  /**
   * Checks `additionalProperties`. In a schema with fields, only `true` is allowed, as in Kubernetes
   * (`ValidateCustomResourceDefinitionOpenAPISchema`); `true` does not restrict the other fields. In a schema without
   * fields, this server refuses `false`. Kubernetes accepts it, although its documentation forbids it.
   */
  #checkAdditional({ additionalProperties, properties }: DefinitionSchema, field: string): void {
    if (additionalProperties === undefined || additionalProperties === true) return;
    const place = `${field}.additionalProperties`;
    if (hasFields(properties))
      this.#violations.forbidden(place, 'additionalProperties and properties are mutual exclusive');
    else if (additionalProperties === false)
      this.#violations.forbidden(place, 'additionalProperties cannot be set to false');
  }

  #checkBranch(schema: DefinitionSchema, { field, mayHaveType = false }: Place): void {
    const violations = this.#violations;
    for (const [keyword, state] of structuralKeywords)
      if (isGiven(schema[keyword], state))
        violations.forbidden(`${field}.${keyword}`, `must be ${state} to be structural`);
    if (schema.type !== undefined && !mayHaveType && types.includes(schema.type))
      violations.forbidden(`${field}.type`, 'must be empty to be structural');
    if (Object.hasOwn(schema.properties ?? {}, 'metadata'))
      violations.forbidden(`${field}.properties[metadata]`, 'must not be specified in a nested context');
  }

  #checkStructure(schema: DefinitionSchema, place: Place): void {
    const { field, level, isMetadata } = place;
    const violations = this.#violations;
    if (level === 'root' && schema.nullable === true)
      violations.forbidden(`${field}.nullable`, 'nullable cannot be true at the root');
    const isFree =
      schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (schema.type === undefined && (!isFree || level === 'root')) {
      violations.required(`${field}.type`, `must not be empty ${needsType[level]}`);
    } else if (level === 'root' && schema.type !== 'object')
      violations.invalid(`${field}.type`, schema.type, 'must be object at the root');
    if (schema['x-kubernetes-int-or-string'] === true && schema.type !== undefined)
      violations.forbidden(`${field}.type`, 'must be empty if x-kubernetes-int-or-string is true');
    for (const keyword of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
      if (schema['x-kubernetes-int-or-string'] === true && schema[keyword] === true)
        violations.invalid(`${field}.${keyword}`, true, 'must be false if x-kubernetes-int-or-string is true');
    if (isMetadata && schema['x-kubernetes-embedded-resource'] === true)
      violations.forbidden(`${field}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta');
    else if (schema['x-kubernetes-embedded-resource'] === true) this.#checkEmbedded(schema, field);
    if (level === 'root' || schema['x-kubernetes-embedded-resource'] === true) this.#checkResource(schema, field);
    if (schema.default !== undefined && isMetadata)
      violations.forbidden(`${field}.default`, 'must not be set in metadata');
    else if (schema.default !== undefined) this.#defaults.push([`${field}.default`, schema]);
    checkLists(field, schema, violations);
  }

  #checkEmbedded(schema: DefinitionSchema, field: string): void {
    if (schema.type !== 'object')
      this.#violations.invalid(
        `${field}.type`,
        schema.type,
        'must be object if x-kubernetes-embedded-resource is true',
      );
    const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (!isFree && !hasFields(schema.properties))
      this.#violations.required(
        `${field}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
  }

  /**
   * Checks the schema of a whole object, which is the root of the definition's schema or an embedded resource. The
   * schema must have no `additionalProperties`. If it declares the types of `apiVersion`, `kind` and `metadata`, these
   * must be string, string and object.
   */
  #checkResource({ properties = {}, additionalProperties }: DefinitionSchema, field: string): void {
    const violations = this.#violations;
    if (additionalProperties !== undefined)
      violations.forbidden(`${field}.additionalProperties`, 'must not be used in a resource');
    for (const [name, type] of [
      ['apiVersion', 'string'],
      ['kind', 'string'],
      ['metadata', 'object'],
    ] as const) {
      const declared = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (declared?.type !== undefined && declared.type !== type)
        violations.invalid(`${field}.properties[${name}].type`, declared.type, `must be ${type}`);
    }
  }

  #checkRootMetadata({ schema, field }: Visit): void {
    const { properties = {} } = schema;
    const metadata = Object.hasOwn(properties, 'metadata') ? properties['metadata'] : undefined;
    const others = Object.keys(metadata?.properties ?? {}).filter((name) => name !== 'name' && name !== 'generateName');
    if (others.length > 0)
      this.#violations.forbidden(
        `${field}.properties[metadata]`,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
  }
}

function hasFields(properties: DefinitionSchema['properties']): boolean {
  for (const name in properties) if (Object.hasOwn(properties, name)) return true;
  return false;
}

function hasBranches({ allOf, anyOf, oneOf, not }: DefinitionSchema): boolean {
  return [allOf, anyOf, oneOf, not].some((part) => part !== undefined);
}

/** Returns false for a keyword without an effect, such as `nullable: false`, which is allowed everywhere. */
function isGiven(value: unknown, empty: (typeof structuralKeywords)[number][1]): boolean {
  if (value === undefined) return false;
  if (empty === 'empty') return value !== '' && !(Array.isArray(value) && value.length === 0);
  return empty === 'undefined' || value === true;
}

/** True for an `anyOf` of an integer and a string, in this order: the only `anyOf` whose branches may have types. */
function isIntOrString(branches: DefinitionSchema['anyOf']): boolean {
  return JSON.stringify(branches) === '[{"type":"integer"},{"type":"string"}]';
}

/**
 * True for a schema that may have an `anyOf` of an integer and a string (see {@link isIntOrString}). This is a schema
 * outside of all branches (the schemas in `allOf`, `anyOf`, `oneOf` and `not`), or the first schema in the `allOf` of
 * such a schema.
 */
function mayHaveTypes({ level, isFirstOfAll = false }: Place): boolean {
  return level !== 'branch' || isFirstOfAll;
}

function childrenOf(visit: Visit): readonly Visit[] {
  const { schema, field, level, depth, isMetadata, branches } = visit;
  const inBranch = level === 'branch';
  const inner = { depth: depth + 1, level: inBranch ? 'branch' : 'field', isMetadata } as const;
  const counted = (): Visit['branches'] => (inBranch ? branches : { count: 0 });
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  const children: Visit[] = [];
  const { properties = {}, items, additionalProperties, not } = schema;
  for (const [name, property] of Object.entries(properties)) {
    const isBelow = isMetadata || (isResource && ['apiVersion', 'kind', 'metadata'].includes(name));
    const place = { ...inner, field: `${field}.properties[${name}]`, isMetadata: isBelow, branches: counted() };
    children.push({ ...place, schema: property });
  }
  if (items !== undefined) {
    const place = { ...inner, level: inBranch ? 'branch' : 'item' } as const;
    children.push({ ...place, schema: items, field: `${field}.items`, branches: counted() });
  }
  if (typeof additionalProperties === 'object')
    children.push({
      ...inner,
      schema: additionalProperties,
      field: `${field}.additionalProperties`,
      branches: counted(),
    });
  const branch = { ...inner, level: 'branch', branches } as const;
  for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const) {
    const mayHaveType = keyword === 'anyOf' && mayHaveTypes(visit) && isIntOrString(schema.anyOf);
    for (const [index, child] of (schema[keyword] ?? []).entries())
      children.push({
        ...branch,
        schema: child,
        field: `${field}.${keyword}[${index}]`,
        mayHaveType,
        isFirstOfAll: keyword === 'allOf' && index === 0 && level !== 'branch',
      });
  }
  if (not !== undefined) children.push({ ...branch, schema: not, field: `${field}.not` });
  return children;
}
